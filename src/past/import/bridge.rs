//! What stood before a transaction that does not come right behind another: at the beginning, and
//! behind missing transactions.
//!
//! Three things tell: a snapshot, the transactions behind it, and the nodes from before. A node of a
//! later snapshot that is older stood. So did a node that is deleted later, and was not created in
//! between. A node from before that no file names again may have gone; while one of those may be a
//! holder, nothing is known.

use std::collections::{BTreeMap, BTreeSet};

use super::digest::{DIGEST_VERSION, digest_change};
use super::files::{Defect, ServerFile, ServerFiles, is_of_packing, note};
use super::player::{Epochs, Player};
use super::transactions::{NextTransaction, Transactions};
use super::tree::LogTree;
use super::{Certainty, ImportError, ImportProgress, Imported, MissingTransactions, Proof};
use lockscope_base::disk::{Entry, Paths, SnapshotEnd, SnapshotItem, Txn, TxnDigest, ZxidDigest};
use lockscope_base::recipe::is_never_reused;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

/// The first transaction of a new server, whose tree is empty.
const FIRST: Zxid = Zxid(1);

/// The most gaps that are named.
pub const MAX_GAPS: usize = 1_000;

/// Whether a transaction continues the one before.
#[derive(Clone, Copy, Debug)]
pub enum Continuity {
    /// Nothing that changed a node is missing between.
    Proven(Proof),
    /// Something is missing, or may be.
    Broken(Certainty),
}

/// The nodes of a snapshot.
pub struct Loaded {
    pub tree: LogTree,
    /// The servers' digest of them, where they wrote one.
    pub digest: Option<ZxidDigest>,
    /// The last transaction that may have been applied while the snapshot was written. A node that
    /// went meanwhile may be missing, although it stood at the transaction in the name.
    pub until: Zxid,
    /// The last transaction that it has for certain.
    pub reached: Zxid,
}

/// An import on its way through the files.
pub struct Importer<'a> {
    pub files: &'a ServerFiles,
    pub until: Timestamp,
    pub player: Player,
    pub epochs: Epochs,
    /// The last transaction, and its time.
    pub last: Option<(Zxid, Timestamp)>,
    /// The servers' digest of the tree behind the last transaction, where they wrote one.
    pub digest: Option<TxnDigest>,
    /// The transaction from which on the tree is that of the servers. Before it, nodes of a snapshot may
    /// be from later; after a gap without one, what changed meanwhile is not known.
    pub exact_from: Zxid,
    pub done: Imported,
    /// Whether the last transaction is covered.
    pub is_covering: bool,
    pub goes_on: &'a mut dyn FnMut(ImportProgress) -> bool,
}

impl Importer<'_> {
    /// Begins the recording before the first transaction.
    pub(super) fn begins(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (zxid, time) = (entry.header.zxid, entry.header.time);
        if zxid == FIRST {
            self.player.followed.tree.clear(true);
            self.exact_from = FIRST;
            return self.player.goes_on(BTreeSet::new(), time);
        }
        let files = self.files;
        for snapshot in files.snapshots.iter().rev().filter(|snapshot| snapshot.name.zxid < zxid) {
            let Some(loaded) = self.load(snapshot, Zxid(i64::MAX))? else { continue };
            if !is_right_before(snapshot.name.zxid, &loaded, entry) {
                // What stood is not known, but the tree is one from before a gap.
                let at = (snapshot.name.zxid, loaded.tree.latest_time().unwrap_or(time).min(time));
                self.player.followed.tree = loaded.tree;
                self.last = Some(at);
                let certainty = if may_follow(at.0, zxid) { Certainty::Possible } else { Certainty::Certain };
                return self.misses(certainty, entry);
            }
            if let Some(undescribed) = self.stood(zxid, &loaded)? {
                return self.takes(loaded, undescribed, time);
            }
        }
        self.bridges(entry)
    }

    /// Returns whether a transaction continues the last one.
    ///
    /// Within an epoch the numbers tell. Each leader counts from 1 again, so they do not tell where
    /// the last epoch ended. That is proven by the digest of the tree, by a log that goes on in the
    /// same file, or by a snapshot from between.
    pub(super) fn continuity(
        &mut self,
        last: Zxid,
        entry: &Entry<'_>,
        runs_on: bool,
    ) -> Result<Continuity, ImportError> {
        let next = entry.header.zxid;
        if is_next(last, next) {
            return Ok(Continuity::Proven(Proof::Numbers));
        }
        if !may_follow(last, next) {
            return Ok(Continuity::Broken(Certainty::Certain));
        }
        let tree = &self.player.followed.tree;
        let before = self.digest.filter(|_| !self.player.is_blind());
        let is_known = |agrees: &bool| *agrees || self.exact_from <= last;
        Ok(match before.and_then(|before| agrees(before, tree, entry)).filter(is_known) {
            Some(true) => Continuity::Proven(Proof::Digests),
            Some(false) => Continuity::Broken(Certainty::Certain),
            None if runs_on => Continuity::Proven(Proof::Log),
            None if self.is_told_by_a_snapshot(last, next)? => Continuity::Proven(Proof::Snapshot),
            None => Continuity::Broken(Certainty::Possible),
        })
    }

    /// Returns whether a snapshot of the new epoch's beginning knows no transaction behind the last
    /// one.
    fn is_told_by_a_snapshot(&mut self, last: Zxid, next: Zxid) -> Result<bool, ImportError> {
        let files = self.files;
        for snapshot in files.snapshots.iter().filter(|snapshot| begins_epoch(snapshot.name.zxid, next)) {
            if let Some(loaded) = self.load(snapshot, Zxid(i64::MAX))? {
                return Ok(loaded.tree.last_change_before(next) <= last);
            }
        }
        Ok(false)
    }

    /// Continues behind missing transactions.
    pub(super) fn misses(&mut self, certainty: Certainty, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (before, to) = (entry.header.zxid, entry.header.time);
        if let Some((after, from)) = self.last {
            self.notes_gap(MissingTransactions { after, before, from, to, certainty });
        }
        self.bridges(entry)
    }

    /// Finds the nodes that stood before a transaction, and goes on with them.
    fn bridges(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        self.exact_from = Zxid(i64::MAX);
        let (zxid, time) = (entry.header.zxid, entry.header.time);
        let before = Zxid(zxid.0.saturating_sub(1));
        let files = self.files;
        let between = |at: Zxid| self.last.is_none_or(|(last, _)| last < at) && at < before;
        let mut nearest = None;
        let earlier: Vec<_> = files.snapshots.iter().rev().filter(|snapshot| between(snapshot.name.zxid)).collect();
        for snapshot in earlier {
            let Some(loaded) = self.load(snapshot, before)? else { continue };
            if is_right_before(snapshot.name.zxid, &loaded, entry)
                && let Some(undescribed) = self.stood(zxid, &loaded)?
            {
                return self.takes(loaded, undescribed, time);
            }
            nearest.get_or_insert(loaded.tree);
        }
        for snapshot in files.snapshots.iter().filter(|snapshot| snapshot.name.zxid >= before) {
            let Some(loaded) = self.load(snapshot, before)? else { continue };
            let Some(undescribed) = self.stood(zxid, &loaded)? else { break };
            return self.takes(loaded, undescribed, time);
        }
        if self.last.is_none() {
            self.begins_within(zxid);
            return self.player.goes_on(BTreeSet::new(), time);
        }
        if let Some(nearest) = nearest {
            self.player.followed.tree = nearest;
        }
        self.goes_on_with_known(zxid, time)
    }

    /// Follows only locks whose parents are created from now on.
    fn begins_within(&mut self, zxid: Zxid) {
        note(&mut self.done.defects, Defect::NoSnapshot { zxid });
        self.player.followed.tree.clear(false);
    }

    /// Goes on with the nodes from before the gap, if the transactions behind it tell of all of them.
    fn goes_on_with_known(&mut self, zxid: Zxid, time: Timestamp) -> Result<(), ImportError> {
        let tree = &self.player.followed.tree;
        let mut look = LookAhead::of(tree);
        self.look_ahead(zxid, Zxid(i64::MAX), &mut look)?;
        if !look.is_complete() {
            if !self.player.has_begun() {
                self.begins_within(zxid);
                return self.player.goes_on(BTreeSet::new(), time);
            }
            self.player.goes_on_blindly();
            return Ok(());
        }
        let LookAhead { mut stood, gone, .. } = look;
        let tree = &mut self.player.followed.tree;
        for path in &gone {
            tree.delete(path.as_str(), zxid);
        }
        stood.retain(|path| tree.node(path).is_none());
        self.player.goes_on(stood, time)
    }

    /// Returns the nodes that stood before a transaction and go while a snapshot is made; `None` if that
    /// is not known, because transactions up to then are missing.
    fn stood(&self, zxid: Zxid, snapshot: &Loaded) -> Result<Option<BTreeSet<ZnodePath>>, ImportError> {
        let Loaded { until, reached, .. } = *snapshot;
        if until < zxid {
            return Ok(Some(BTreeSet::new()));
        }
        let mut look = LookAhead::at(&self.player.followed.tree);
        let seen = self.look_ahead(zxid, until, &mut look)?;
        let is_whole = match seen {
            SeenAhead::All => true,
            // A server writes a transaction before it applies it.
            SeenAhead::UpToTheEnd(last) => reached <= last,
            SeenAhead::UpToAGap => false,
        };
        Ok(is_whole.then_some(look.stood))
    }

    /// Looks at the transactions from one to another, or to the next gap. Memory grows with the number
    /// of nodes, as that of the tree.
    fn look_ahead(&self, zxid: Zxid, until: Zxid, look: &mut LookAhead<'_>) -> Result<SeenAhead, ImportError> {
        let mut last = Zxid(zxid.0.saturating_sub(1));
        let mut ahead = Transactions::after(self.files, last);
        let (mut is_first, mut digest) = (true, None);
        let nothing = self.player.followed.tree.unknown();
        while last < until
            && let Some(NextTransaction { entry, runs_on }) = ahead.next()?
        {
            let zxid = entry.header.zxid;
            // Also the first one behind `until` must continue the last: else those between are missing.
            if !std::mem::take(&mut is_first) && !is_next(last, zxid) {
                let agrees = || digest.and_then(|before| agrees(before, &nothing, &entry)) == Some(true);
                if !may_follow(last, zxid) || !runs_on && !agrees() {
                    return Ok(SeenAhead::UpToAGap);
                }
            }
            if zxid > until {
                return Ok(SeenAhead::All);
            }
            last = zxid;
            digest = digest_behind(&entry, digest);
            look.transaction(&entry);
        }
        Ok(if last < until { SeenAhead::UpToTheEnd(last) } else { SeenAhead::All })
    }

    /// Returns the nodes of a snapshot; `None` if it is not whole. Nodes that were created after
    /// `until`, or while it was written, are left to the logs.
    pub(super) fn load(&mut self, snapshot: &ServerFile, until: Zxid) -> Result<Option<Loaded>, ImportError> {
        self.done.files += 1;
        let loaded = self.load_whole(snapshot, until)?;
        let defect = Defect::BadSnapshot { file: snapshot.path.clone() };
        if loaded.is_none() && !self.done.defects.contains(&defect) {
            note(&mut self.done.defects, defect);
        }
        Ok(loaded)
    }

    fn load_whole(&self, snapshot: &ServerFile, until: Zxid) -> Result<Option<Loaded>, ImportError> {
        let until = until.min(snapshot.name.zxid);
        let Some(mut reader) = snapshot.open_snapshot()? else { return Ok(None) };
        let mut tree = self.player.followed.tree.emptied();
        loop {
            let item = match reader.read() {
                Ok(item) => item,
                Err(error) if is_of_packing(&error) => return Ok(None),
                Err(error) => return Err(snapshot.unreadable(error)),
            };
            match item {
                SnapshotItem::Session { .. } => {}
                SnapshotItem::Node(node) => {
                    if node.path == "/" {
                        tree.set_root(node.stat, node.data);
                    } else if node.stat.czxid <= until
                        && tree.is_followed(&node.path)
                        && let Ok(path) = ZnodePath::new(&node.path)
                    {
                        tree.add(path, node.stat, node.data, node.kind);
                    }
                }
                SnapshotItem::End(SnapshotEnd::Whole { digest, last_zxid }) => {
                    // The digest is made behind the last node, and may not know a transaction that
                    // is being applied.
                    // That of a new server is made before it serves anybody.
                    let new = (snapshot.name.zxid == Zxid(0)).then_some(Zxid(0));
                    let last = last_zxid.or(digest.map(|digest| digest.zxid)).or(new);
                    let until =
                        last.map_or_else(|| self.next_snapshot(snapshot), |last| Zxid(last.0.saturating_add(1)));
                    let (name, reached) = (snapshot.name.zxid, last.unwrap_or(snapshot.name.zxid));
                    return Ok(Some(Loaded { tree, digest, until: until.max(name), reached: reached.max(name) }));
                }
                SnapshotItem::End(_) => return Ok(None),
            }
        }
    }

    /// Returns the transaction of the server's next snapshot: this one was finished before.
    fn next_snapshot(&self, snapshot: &ServerFile) -> Zxid {
        let is_next =
            |next: &&ServerFile| next.name.zxid > snapshot.name.zxid && next.path.parent() == snapshot.path.parent();
        self.files.snapshots.iter().find(is_next).map_or(Zxid(i64::MAX), |next| next.name.zxid)
    }

    /// Notes transactions that are missing, or may be.
    pub(super) fn notes_gap(&mut self, missing: MissingTransactions) {
        self.is_covering = false;
        if self.player.is_live() {
            let (last, next) = (missing.after.0, missing.before.0);
            self.player.recording.loses(&match missing.certainty {
                Certainty::Certain => format!("no log has the transactions between 0x{last:x} and 0x{next:x}"),
                Certainty::Possible => format!(
                    "nothing proves that epoch {} ended with 0x{last:x}: transactions may be missing before 0x{next:x}",
                    missing.after.epoch()
                ),
            });
        }
        if self.done.missing.len() < MAX_GAPS {
            self.done.missing.push(missing);
        } else {
            note(&mut self.done.defects, Defect::Others(1));
        }
    }

    /// Goes on with the nodes of a snapshot. `undescribed` stood, too, and may not be in it.
    fn takes(
        &mut self,
        Loaded { tree: mut later, until, .. }: Loaded,
        mut undescribed: BTreeSet<ZnodePath>,
        time: Timestamp,
    ) -> Result<(), ImportError> {
        undescribed.retain(|path| later.node(path).is_none());
        // What went before the snapshot is known from before the gap, if its name cannot be
        // another's.
        let tree = &mut self.player.followed.tree;
        for (path, _) in tree.ephemerals() {
            if is_never_reused(path.name()) && undescribed.remove(path) {
                later.adopt(path, tree);
            }
        }
        *tree = later;
        self.exact_from = until;
        self.player.goes_on(undescribed, time)
    }
}

/// Returns whether a transaction comes right behind another in the same epoch.
pub fn is_next(last: Zxid, next: Zxid) -> bool {
    next.0 == last.0.saturating_add(1) && next.epoch() == last.epoch()
}

/// Returns whether a transaction may come right behind another: it is the first of a later epoch.
fn may_follow(last: Zxid, next: Zxid) -> bool {
    next.epoch() > last.epoch() && next.counter() == 1
}

/// Returns the digest of the tree behind a transaction. Servers write none behind a refusal, which
/// changes nothing.
pub fn digest_behind(entry: &Entry<'_>, before: Option<TxnDigest>) -> Option<TxnDigest> {
    entry.digest.or(before.filter(|_| matches!(entry.txn, Txn::Error(_))))
}

/// Returns whether the name of a snapshot says that it is from the beginning of a transaction's
/// epoch.
fn begins_epoch(name: Zxid, next: Zxid) -> bool {
    name.epoch() == next.epoch() && name.counter() == 0
}

/// Returns whether nothing is missing between a snapshot and a transaction. The empty snapshot of a
/// new ensemble is right before its first epoch, unless the digests disprove that.
fn is_right_before(name: Zxid, loaded: &Loaded, entry: &Entry<'_>) -> bool {
    let next = entry.header.zxid;
    let is_first = name == Zxid(0) && next.epoch() <= 1 && next.counter() == 1;
    let agrees = || {
        let ZxidDigest { zxid, version, digest } = loaded.digest?;
        agrees(TxnDigest { version, digest }, &loaded.tree, entry).filter(|_| Zxid(0) < zxid && zxid <= name)
    };
    is_next(name, next) || next.counter() == 1 && agrees().unwrap_or(begins_epoch(name, next) || is_first)
}

/// Returns whether the digest of a tree and that behind a transaction show that nothing is missing
/// between; `None` if they do not tell.
fn agrees(before: TxnDigest, tree: &LogTree, entry: &Entry<'_>) -> Option<bool> {
    let after = entry.digest.filter(|after| after.version == DIGEST_VERSION && before.version == DIGEST_VERSION)?;
    Some(before.digest.wrapping_add(digest_change(tree, entry)?) == after.digest)
}

/// How far a look ahead came.
enum SeenAhead {
    /// It saw all transactions.
    All,
    /// The logs end with this transaction.
    UpToTheEnd(Zxid),
    /// Others are missing behind those that it saw.
    UpToAGap,
}

/// What transactions tell of the nodes that stood before them.
struct LookAhead<'a> {
    tree: &'a LogTree,
    created: BTreeSet<ZnodePath>,
    /// The nodes that stood, and are deleted.
    stood: BTreeSet<ZnodePath>,
    /// The known contenders of which no transaction has told yet whether they stood.
    unnamed: BTreeSet<ZnodePath>,
    /// The known contenders that had gone.
    gone: BTreeSet<ZnodePath>,
    /// How many children each parent had ever had before its first new one.
    ever: BTreeMap<ZnodePath, i32>,
}

impl<'a> LookAhead<'a> {
    /// Looks only for nodes that go.
    fn at(tree: &'a LogTree) -> Self {
        Self {
            tree,
            created: BTreeSet::new(),
            stood: BTreeSet::new(),
            unnamed: BTreeSet::new(),
            gone: BTreeSet::new(),
            ever: BTreeMap::new(),
        }
    }

    /// Looks for what became of the contenders of a tree, too.
    fn of(tree: &'a LogTree) -> Self {
        let contenders = tree.ephemerals().map(|(path, _)| path).filter(|path| tree.may_contend(path));
        Self { unnamed: contenders.cloned().collect(), ..Self::at(tree) }
    }

    /// Returns whether each known contender was named, and each that came in the gap: as many as its
    /// parent counts. One that is never named again may stand for good.
    fn is_complete(&self) -> bool {
        let unknown = self.stood.iter().filter(|path| self.tree.node(path).is_none());
        let mut found: BTreeMap<Option<ZnodePath>, i64> = BTreeMap::new();
        for path in unknown {
            *found.entry(path.parent()).or_default() += 1;
        }
        let is_counted = |(parent, ever): (&ZnodePath, &i32)| {
            let known = self.tree.node(parent).and_then(|node| node.stat.next_sequence()).unwrap_or(0);
            i64::from(*ever) - known <= found.get(&Some(parent.clone())).copied().unwrap_or(0)
        };
        self.unnamed.is_empty() && self.ever.iter().all(is_counted)
    }

    fn transaction(&mut self, entry: &Entry<'_>) {
        match &entry.txn {
            Txn::Multi(multi) if multi.failure().is_some() => {}
            Txn::Multi(multi) => multi.parts().for_each(|part| self.part(&part)),
            Txn::CloseSession { deleted: Some(paths) } => self.closes(entry.header.session, *paths),
            part => self.part(part),
        }
    }

    fn part(&mut self, txn: &Txn<'_>) {
        match txn {
            Txn::Create(create) => {
                if self.tree.is_followed(&create.path)
                    && let Ok(path) = ZnodePath::new(&create.path)
                {
                    self.creates(path, create.parent_cversion);
                }
            }
            Txn::Delete { path, .. } => self.deletes(path),
            Txn::SetData { path, .. } => {
                if let Ok(path) = ZnodePath::new(path) {
                    self.unnamed.remove(&path);
                }
            }
            _ => {}
        }
    }

    fn creates(&mut self, path: ZnodePath, ever: Option<i32>) {
        if self.unnamed.remove(&path) {
            self.gone.insert(path.clone());
        }
        if self.tree.may_contend(&path)
            && let (Some(parent), Some(ever)) = (path.parent(), ever)
            && !self.created.contains(&parent)
        {
            self.ever.entry(parent).or_insert(ever.wrapping_sub(1));
        }
        if !self.stood.contains(&path) {
            self.created.insert(path);
        }
    }

    /// The nodes of a session that its end does not list had gone before.
    fn closes(&mut self, session: SessionId, paths: Paths<'_>) {
        paths.iter().for_each(|path| self.deletes(&path));
        for path in self.tree.owned_by(session) {
            if self.unnamed.remove(path) {
                self.gone.insert(path.clone());
            }
        }
    }

    fn deletes(&mut self, path: &str) {
        if self.created.remove(path) {
            return;
        }
        if self.tree.is_followed(path)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.unnamed.remove(&path);
            self.stood.insert(path);
        }
    }
}

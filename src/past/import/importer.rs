//! The way through the files: which snapshot to begin with, and what to do where transactions are
//! missing.
//!
//! Where no snapshot tells what stood at a moment, the importer looks ahead in the logs.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use super::files::{Defect, ServerFile, ServerFiles, Transactions};
use super::player::{Epochs, ImportRecording, Player};
use super::tree::{FollowedTree, LogTree};
use super::{ImportError, ImportOptions, ImportProgress, Imported, MissingTransactions};
use crate::record::RecordedState;
use lockscope_base::disk::{Entry, SnapshotEnd, SnapshotItem, Txn};
use lockscope_base::recipe::{Classifier, is_never_reused};
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_model::follow::Follower;
use lockscope_model::queue::LockTable;

/// The number of transactions between two reports of the progress.
const REPORT_INTERVAL: u64 = 4_096;

/// Behind at most so many missing transactions, the known nodes are taken to stand still.
const FEW_MISSING: i64 = 16;

/// The first transaction of a new server, whose tree is empty.
const FIRST: Zxid = Zxid(1);

/// The part of a transaction's id that counts within an epoch.
const MAX_COUNTER: i64 = 0xffff_ffff;

/// The most gaps that are named.
const MAX_GAPS: usize = 1_000;

/// Imports files into an empty file. `target` is the path of the recording that errors name.
pub fn import_into(
    files: &ServerFiles,
    file: &Path,
    target: &Path,
    options: &ImportOptions,
    goes_on: &mut dyn FnMut(ImportProgress) -> bool,
) -> Result<Imported, ImportError> {
    let named = || options.named.iter().cloned();
    let table = LockTable::new(named()).with_recipes(&options.recipes).with_expectations(&options.expected);
    let state = RecordedState::new(table, options.thresholds);
    let recording = ImportRecording::create(file, target, &files.name(), state, options.with_data)?;
    let roots = options.roots();
    let tree = LogTree::new(&roots, Classifier::new(named()).with_recipes(&options.recipes));
    let follower = Follower::new(&roots, &options.named)
        .with_recipes(options.recipes.clone())
        .with_expectations(options.expected.clone());
    let importer = Importer {
        until: options.time.to,
        player: Player::new(FollowedTree::new(tree, follower), recording),
        epochs: Epochs::default(),
        last: None,
        done: Imported::default(),
        files,
        goes_on,
    };
    importer.run()
}

struct Importer<'a> {
    files: &'a ServerFiles,
    until: Timestamp,
    player: Player,
    epochs: Epochs,
    /// The last transaction, and its time.
    last: Option<(Zxid, Timestamp)>,
    done: Imported,
    goes_on: &'a mut dyn FnMut(ImportProgress) -> bool,
}

impl Importer<'_> {
    fn run(mut self) -> Result<Imported, ImportError> {
        let mut transactions = Transactions::of(&self.files.logs);
        while let Some(entry) = transactions.next()? {
            let (zxid, time) = (entry.header.zxid, entry.header.time);
            if time > self.until {
                if self.player.is_live() {
                    self.player.recording.passes(self.until)?;
                }
                break;
            }
            match self.last {
                None => self.begins(zxid, time)?,
                Some((last, at)) if !self.goes_on_at(last, zxid) => self.misses((last, at), (zxid, time))?,
                Some(_) => {}
            }
            self.follows_epochs(&entry);
            self.player.play(entry)?;
            if self.player.is_live() {
                self.done.zxids.get_or_insert((zxid, zxid));
            }
            self.last = Some((zxid, time));
            self.done.transactions += 1;
            if self.done.transactions.is_multiple_of(REPORT_INTERVAL) {
                self.reports(&transactions)?;
            }
        }
        self.reports(&transactions)?;
        self.done.defects.extend(transactions.take_defects());
        self.ends()
    }

    /// Records what a transaction shows of the ensemble.
    fn follows_epochs(&mut self, entry: &Entry<'_>) {
        let (zxid, time) = (entry.header.zxid, entry.header.time);
        let is_next = self.last.is_some_and(|(last, _)| self.goes_on_at(last, zxid));
        let events = self.epochs.transaction(zxid, time, is_next);
        if matches!(entry.txn, Txn::CloseSession { .. }) && entry.header.is_expiry() {
            self.epochs.expired(time);
        }
        self.player.recording.happened_to_ensemble(events);
    }

    fn reports(&mut self, transactions: &Transactions) -> Result<(), ImportError> {
        let all_bytes = self.files.logs.iter().map(|log| log.bytes).sum();
        let progress = ImportProgress {
            bytes: transactions.bytes(),
            all_bytes,
            transactions: self.done.transactions,
            at: self.player.recording.at(),
        };
        if (self.goes_on)(progress) { Ok(()) } else { Err(ImportError::Interrupted) }
    }

    /// Begins the recording before the first transaction.
    fn begins(&mut self, zxid: Zxid, time: Timestamp) -> Result<(), ImportError> {
        let before = self.files.snapshots.iter().rev().find(|snapshot| snapshot.name.zxid < zxid);
        if let Some(snapshot) = before.filter(|snapshot| follows(snapshot.name.zxid, zxid))
            && let Some(loaded) = self.load(snapshot, Zxid(i64::MAX))?
        {
            let undescribed = self.stood(zxid, loaded.until)?;
            return self.takes(loaded.tree, undescribed, time);
        }
        if zxid != FIRST {
            return self.bridges(zxid, time);
        }
        self.player.followed.tree.clear(true);
        self.player.goes_on(BTreeSet::new(), time)
    }

    /// Returns whether no transaction is missing before the next one. A snapshot between them tells
    /// of some that the numbers do not show: a member that was down gets it in place of their log.
    /// Beside the logs of other members it tells nothing: it may hold a transaction that the ensemble
    /// never committed.
    fn goes_on_at(&self, last: Zxid, next: Zxid) -> bool {
        let is_between = |at: Zxid| last < at && at < next && at.0 & MAX_COUNTER != 0;
        let has_others = || self.files.folders().len() > 1;
        let is_told = || self.files.snapshots.iter().any(|snapshot| is_between(snapshot.name.zxid));
        follows(last, next) && (is_next(last, next) || has_others() || !is_told())
    }

    /// Continues behind missing transactions.
    fn misses(&mut self, (after, from): (Zxid, Timestamp), (before, to): (Zxid, Timestamp)) -> Result<(), ImportError> {
        self.notes_gap(MissingTransactions { after, before, from, to });
        self.bridges(before, to)
    }

    fn notes_gap(&mut self, missing: MissingTransactions) {
        let MissingTransactions { after, before, .. } = missing;
        if self.player.is_live() {
            let (Zxid(last), Zxid(next)) = (after, before);
            self.player.recording.loses(&format!("no log has the transactions between 0x{last:x} and 0x{next:x}"));
        }
        if self.done.missing.len() < MAX_GAPS {
            self.done.missing.push(missing);
        }
    }

    /// Finds the nodes that stood before a transaction, and goes on with them.
    fn bridges(&mut self, zxid: Zxid, time: Timestamp) -> Result<(), ImportError> {
        let before = Zxid(zxid.0.saturating_sub(1));
        let files = self.files;
        let earlier = files.snapshots.iter().rev().find(|snapshot| snapshot.name.zxid < before);
        let is_right_before = |snapshot: &&ServerFile| {
            let at = snapshot.name.zxid;
            self.last.is_some_and(|(last, _)| last < at) && follows(at, zxid)
        };
        let later = files.snapshots.iter().filter(|snapshot| snapshot.name.zxid >= before);
        let mut loaded = None;
        for snapshot in earlier.filter(is_right_before).into_iter().chain(later) {
            loaded = self.load(snapshot, before)?;
            if loaded.is_some() {
                break;
            }
        }
        let few_miss = self.last.is_some_and(|(last, _)| zxid.0.wrapping_sub(last.0) <= FEW_MISSING);
        if let Some(loaded) = loaded {
            let undescribed = self.stood(zxid, loaded.until)?;
            self.takes(loaded.tree, undescribed, time)
        } else if few_miss {
            let mut undescribed = self.stood(zxid, Zxid(i64::MAX))?;
            undescribed.retain(|path| self.player.followed.tree.node(path).is_none());
            self.player.goes_on(undescribed, time)
        } else if self.last.is_some() {
            self.player.goes_on_blindly();
            Ok(())
        } else {
            self.done.defects.push(Defect::NoSnapshot { zxid });
            self.player.followed.tree.clear(false);
            self.player.goes_on(BTreeSet::new(), time)
        }
    }

    /// Returns the nodes that stood before a transaction and go up to another.
    fn stood(&self, zxid: Zxid, until: Zxid) -> Result<BTreeSet<ZnodePath>, ImportError> {
        if until < zxid {
            return Ok(BTreeSet::new());
        }
        let mut ahead = Transactions::after(&self.files.logs, Zxid(zxid.0.saturating_sub(1)));
        let tree = &self.player.followed.tree;
        stood(&mut ahead, until, |path| tree.is_followed(path), |last, next| self.goes_on_at(last, next))
    }

    /// Goes on with the nodes of a snapshot. `undescribed` stood, too, and may not be in it.
    fn takes(
        &mut self,
        mut later: LogTree,
        mut undescribed: BTreeSet<ZnodePath>,
        time: Timestamp,
    ) -> Result<(), ImportError> {
        undescribed.retain(|path| later.node(path).is_none());
        // What went before the snapshot is known from before the gap, if its name cannot be
        // another's.
        let tree = &mut self.player.followed.tree;
        for (path, node) in tree.ephemerals() {
            if is_never_reused(path.name()) && undescribed.remove(path) {
                later.add(path.clone(), node.stat, node.data.bytes());
            }
        }
        *tree = later;
        self.player.goes_on(undescribed, time)
    }

    /// Returns the nodes of a snapshot; `None` if it is not whole. Nodes that were created after
    /// `until`, or while it was written, are left to the logs.
    fn load(&mut self, snapshot: &ServerFile, until: Zxid) -> Result<Option<Loaded>, ImportError> {
        self.done.files += 1;
        let loaded = self.load_whole(snapshot, until)?;
        let defect = Defect::BadSnapshot { file: snapshot.path.clone() };
        if loaded.is_none() && !self.done.defects.contains(&defect) {
            self.done.defects.push(defect);
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
                // It cannot be unpacked.
                Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput) => {
                    return Ok(None);
                }
                Err(error) => return Err(snapshot.unreadable(error)),
            };
            match item {
                SnapshotItem::Session { .. } => {}
                SnapshotItem::Node(node) => {
                    if node.stat.czxid <= until
                        && tree.is_followed(&node.path)
                        && let Ok(path) = ZnodePath::new(&node.path)
                        && !path.is_root()
                    {
                        tree.add(path, node.stat, node.data);
                    }
                }
                SnapshotItem::End(SnapshotEnd::Whole { digest, last_zxid }) => {
                    // The digest is made behind the last node, and may not know a transaction that
                    // is being applied.
                    let last = last_zxid.or(digest.map(|digest| digest.zxid));
                    let until =
                        last.map_or_else(|| self.next_snapshot(snapshot), |last| Zxid(last.0.saturating_add(1)));
                    return Ok(Some(Loaded { tree, until: until.max(snapshot.name.zxid) }));
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

    /// Ends the recording: with a later snapshot, if there is one.
    fn ends(mut self) -> Result<Imported, ImportError> {
        let last = self.last.map_or(Zxid(i64::MIN), |(last, _)| last);
        let latest = self.files.snapshots.last().filter(|snapshot| snapshot.name.zxid > last);
        if let Some(snapshot) = latest
            && (self.until == Timestamp(i64::MAX) || self.last.is_none())
            && let Some(Loaded { tree, .. }) = self.load(snapshot, Zxid(i64::MAX))?
            && let Some(at) = tree.latest_time()
        {
            let at = at.max(self.player.recording.at());
            if let Some((after, from)) = self.last {
                self.notes_gap(MissingTransactions { after, before: snapshot.name.zxid, from, to: at });
            }
            self.player.followed.tree = tree;
            self.player.goes_on(BTreeSet::new(), at)?;
            self.last = Some((snapshot.name.zxid, at));
            self.done.zxids.get_or_insert((snapshot.name.zxid, snapshot.name.zxid));
        }
        let ((first, _), (zxid, at)) = self.done.zxids.zip(self.last).ok_or(ImportError::Nothing)?;
        self.done.zxids = Some((first, zxid));
        self.done.time = Some((self.player.recording.began_at(), self.player.recording.at().max(at)));
        (self.done.changes, self.done.attempts) = (self.player.recording.changes, self.player.recording.attempts);
        self.done.files += self.files.logs.len();
        self.player.recording.happened_to_ensemble(self.epochs.finish());
        (self.done.holds, self.done.waits) = self.player.recording.finish()?;
        Ok(self.done)
    }
}

/// The nodes of a snapshot.
struct Loaded {
    tree: LogTree,
    /// The last transaction that may have been applied while the snapshot was written. A node that
    /// went meanwhile may be missing, although it stood at the transaction in the name.
    until: Zxid,
}

/// Returns whether a transaction comes right behind another. A new leader counts from 1 again, in the
/// next epoch.
fn follows(last: Zxid, next: Zxid) -> bool {
    is_next(last, next) || next.0 >> 32 > last.0 >> 32 && next.0 & MAX_COUNTER == 1
}

fn is_next(last: Zxid, next: Zxid) -> bool {
    next.0 == last.0.saturating_add(1)
}

/// Returns the nodes that stood before the next transaction: those that go up to `until` and were not
/// created on the way. Behind missing transactions, which `goes_on` tells, nobody knows that. Memory
/// grows with the number of nodes, as that of the tree.
fn stood(
    transactions: &mut Transactions,
    until: Zxid,
    is_followed: impl Fn(&str) -> bool,
    goes_on: impl Fn(Zxid, Zxid) -> bool,
) -> Result<BTreeSet<ZnodePath>, ImportError> {
    let mut look = LookAhead { created: BTreeSet::new(), stood: BTreeSet::new(), is_followed };
    let mut last = None;
    while let Some(entry) = transactions.next()? {
        let zxid = entry.header.zxid;
        if zxid > until || last.is_some_and(|last| !goes_on(last, zxid)) {
            break;
        }
        last = Some(zxid);
        match entry.txn {
            Txn::Multi(multi) if multi.failure().is_some() => {}
            Txn::Multi(multi) => multi.parts().for_each(|part| look.part(&part)),
            Txn::CloseSession { deleted: Some(paths) } => paths.iter().for_each(|path| look.deletes(&path)),
            part => look.part(&part),
        }
    }
    Ok(look.stood)
}

struct LookAhead<F> {
    created: BTreeSet<ZnodePath>,
    stood: BTreeSet<ZnodePath>,
    is_followed: F,
}

impl<F: Fn(&str) -> bool> LookAhead<F> {
    fn part(&mut self, txn: &Txn<'_>) {
        match txn {
            Txn::Create(create) => {
                if (self.is_followed)(&create.path)
                    && let Ok(path) = ZnodePath::new(&create.path)
                    && !self.stood.contains(&path)
                {
                    self.created.insert(path);
                }
            }
            Txn::Delete { path, .. } => self.deletes(path),
            _ => {}
        }
    }

    fn deletes(&mut self, path: &str) {
        if self.created.remove(path) {
            return;
        }
        if (self.is_followed)(path)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.stood.insert(path);
        }
    }
}

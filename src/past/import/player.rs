//! Plays transactions on a tree, and records what they mean for the locks.

use std::collections::BTreeSet;

use super::ImportError;
use super::followed::Followed;
use super::recording::Recording;
use super::taken::Taken;
use lockscope_base::disk::{Create, Entry, Paths, Txn, TxnHeader};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};
use lockscope_model::queue::{Change, Deleter};

/// The tree, and the recording of what happens in it.
pub(super) struct Player {
    pub followed: Followed,
    pub recording: Recording,
    /// Contenders that stand although no file describes them: what they are is known only by their
    /// deletion. The locks are read once all of them are gone, since one may be a holder.
    undescribed: BTreeSet<ZnodePath>,
    taken: Taken,
    is_live: bool,
    /// Whether it stays unknown what stands.
    is_blind: bool,
}

impl Player {
    pub fn new(followed: Followed, recording: Recording) -> Self {
        Self {
            followed,
            recording,
            undescribed: BTreeSet::new(),
            taken: Taken::default(),
            is_live: false,
            is_blind: false,
        }
    }

    /// Returns whether the locks are known and recorded.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Goes on with the nodes of the tree, and with those that stand without being in it.
    pub fn goes_on(&mut self, undescribed: BTreeSet<ZnodePath>, time: Timestamp) -> Result<(), ImportError> {
        self.taken = Taken::of(&self.followed.tree);
        self.undescribed = undescribed;
        self.undescribed.retain(|path| self.followed.tree.may_contend(path));
        (self.is_live, self.is_blind) = (false, false);
        self.reads_if_described(time)
    }

    /// Goes on without knowing what stands: nothing is recorded.
    pub fn goes_on_blindly(&mut self) {
        (self.is_live, self.is_blind) = (false, true);
    }

    fn reads_if_described(&mut self, time: Timestamp) -> Result<(), ImportError> {
        if !self.is_live && !self.is_blind && self.undescribed.is_empty() {
            self.is_live = true;
            self.recording.passes(time)?;
            let changes = self.followed.read_all();
            self.recording.reads(changes);
        }
        Ok(())
    }

    /// Plays one transaction.
    pub fn play(&mut self, Entry { header, txn, .. }: Entry<'_>) -> Result<(), ImportError> {
        if self.is_live {
            self.recording.passes(header.time)?;
        }
        match txn {
            txn if txn.is_refused_as_existing() => self.refused(header.session),
            Txn::Multi(multi) if multi.failure().is_some() => {}
            Txn::Multi(multi) => multi.parts().for_each(|part| self.part(header, part)),
            Txn::CloseSession { deleted } => self.closes(header, deleted),
            part => self.part(header, part),
        }
        self.reads_if_described(header.time)
    }

    fn part(&mut self, header: TxnHeader, txn: Txn<'_>) {
        match txn {
            Txn::Create(create) => self.creates(header, &create),
            Txn::Delete { path, by_servers } => {
                let by = (!by_servers).then_some(Deleter::Session(header.session));
                self.deletes(&path, header.zxid, by);
            }
            Txn::SetData { path, data, version } => self.writes(header, &path, data, version),
            // ACLs, checks and sessions that begin change no node that matters.
            _ => {}
        }
    }

    fn creates(&mut self, header: TxnHeader, create: &Create<'_>) {
        if !self.followed.tree.is_followed(&create.path) {
            return;
        }
        let Ok(path) = ZnodePath::new(&create.path) else { return };
        if self.followed.tree.create(&path, create, header.zxid, header.time) {
            if let Some(owner) = create.kind.session().filter(|_| self.followed.tree.is_single_node_lock(&path)) {
                self.taken.takes(&path, owner);
            }
            self.records(|followed| followed.created(&path, header.zxid));
        }
    }

    fn writes(&mut self, header: TxnHeader, path: &str, data: &[u8], version: i32) {
        if self.followed.tree.set(path, data, version, header.zxid, header.time)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.records(|followed| followed.written(&path, header.zxid));
        }
    }

    fn deletes(&mut self, path: &str, zxid: Zxid, by: Option<Deleter>) {
        self.undescribed.remove(path);
        if self.followed.tree.delete(path, zxid)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.taken.released(&path);
            self.records(|followed| followed.deleted(&path, zxid, by));
        }
    }

    /// Records a refused create, if it may have been for a lock that was taken. Where only a part of
    /// the nodes is followed, one without a known lock may have been for any other node.
    fn refused(&mut self, session: SessionId) {
        let follows_all = self.followed.tree.follows_all();
        let lock = self.taken.tried_by(session, follows_all);
        if self.is_live && self.taken.is_any() && (follows_all || lock.is_some()) {
            self.recording.attempted(session, lock);
        }
    }

    fn records(&mut self, changes: impl FnOnce(&mut Followed) -> Vec<Change>) {
        if self.is_live {
            let changes = changes(&mut self.followed);
            self.recording.apply(changes);
        }
    }

    /// Deletes the ephemeral nodes of a session that ends.
    fn closes(&mut self, header: TxnHeader, deleted: Option<Paths<'_>>) {
        let by = if header.is_expiry() { Deleter::Expiry } else { Deleter::Close };
        let owned = self.ended_with(header.session, deleted);
        for path in owned {
            self.deletes(path.as_str(), header.zxid, Some(by));
        }
        self.taken.closed(header.session);
    }

    /// Returns the nodes that end with a session: known ones in the order in which they may go, then
    /// those that only the transaction names.
    fn ended_with(&self, session: SessionId, deleted: Option<Paths<'_>>) -> Vec<ZnodePath> {
        let mut owned = self.followed.owned_by(session);
        if let Some(deleted) = deleted {
            let named: BTreeSet<ZnodePath> = deleted.iter().filter_map(|path| ZnodePath::new(&path).ok()).collect();
            // A later node of that session cannot be in a list made before: sessions end last.
            owned.retain(|path| named.contains(path));
            let undescribed = named.into_iter().filter(|path| self.undescribed.contains(path)).collect::<Vec<_>>();
            owned.extend(undescribed);
        }
        owned
    }
}

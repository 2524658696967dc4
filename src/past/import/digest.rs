//! What a transaction does to the digest of the whole tree, which servers write behind each
//! transaction from 3.6 on.
//!
//! The digest is the sum of one number for each node, which follows from its path, data and stat
//! (`DigestCalculator` of ZooKeeper; version 2). So the difference of two digests follows from the
//! nodes that changed between. If it is what one transaction does, nothing is missing before that
//! transaction: this proves what the numbers of transactions do not show where an epoch ends.

use std::collections::BTreeMap;

use super::tree::{LogTree, NodeSum, parent_of, with_child, without_child};
use lockscope_base::disk::{Entry, Paths, Txn, TxnHeader};
use lockscope_base::znode::{ZnodeStat, Zxid};

/// The only version of digests that there has ever been.
pub const DIGEST_VERSION: i32 = 2;

type Summed = Option<(ZnodeStat, NodeSum)>;

/// The nodes that a transaction changes, on a tree that stays as it is.
struct Overlay<'a> {
    tree: &'a LogTree,
    changed: BTreeMap<String, Summed>,
}

/// Returns by how much a transaction changes the digest of a tree; `None` if that does not follow
/// from the followed nodes.
pub fn digest_change(tree: &LogTree, Entry { header, txn, .. }: &Entry<'_>) -> Option<i64> {
    let mut overlay = Overlay { tree, changed: BTreeMap::new() };
    match txn {
        Txn::Multi(multi) if multi.failure().is_some() => {}
        Txn::Multi(multi) => multi.parts().try_for_each(|part| overlay.part(*header, &part))?,
        Txn::CloseSession { deleted } => overlay.closes(header.zxid, *deleted)?,
        part => overlay.part(*header, part)?,
    }
    overlay.change()
}

impl Overlay<'_> {
    fn part(&mut self, header: TxnHeader, part: &Txn<'_>) -> Option<()> {
        let (zxid, time) = (header.zxid, header.time);
        match part {
            Txn::Create(create) => {
                let parent = parent_of(&create.path);
                if self.get(&create.path)?.is_some() {
                    return None;
                }
                if let Some((stat, sum)) = self.get(parent)? {
                    self.changed.insert(parent.to_owned(), Some((with_child(stat, create, zxid, 1), sum)));
                }
                let stat = ZnodeStat::of_new(zxid, time, create.kind.session());
                let sum = NodeSum::of(&create.path, create.data, create.kind);
                self.changed.insert(create.path.to_string(), Some((stat, sum)));
            }
            Txn::Delete { path, .. } => self.deletes(path, zxid)?,
            Txn::SetData { path, data, version } => {
                let (stat, sum) = self.get(path)??;
                let stat = ZnodeStat { version: *version, mzxid: zxid, mtime: time, ..stat };
                self.changed.insert(path.to_string(), Some((stat, sum.with_data(path, data))));
            }
            Txn::SetAcl { path, version, .. } => {
                let (stat, sum) = self.get(path)??;
                self.changed.insert(path.to_string(), Some((ZnodeStat { aversion: *version, ..stat }, sum)));
            }
            Txn::Check { .. } | Txn::Error(_) | Txn::CreateSession { .. } | Txn::Reconfig { .. } => {}
            Txn::CloseSession { .. } | Txn::Multi(_) | Txn::Other(_) => return None,
        }
        Some(())
    }

    /// Before 3.6, which knows no digests, a session's end lists no nodes.
    fn closes(&mut self, zxid: Zxid, deleted: Option<Paths<'_>>) -> Option<()> {
        deleted?.iter().try_for_each(|path| self.deletes(&path, zxid))
    }

    fn deletes(&mut self, path: &str, zxid: Zxid) -> Option<()> {
        self.get(path)??;
        self.changed.insert(path.to_owned(), None);
        let parent = parent_of(path);
        if let Some((stat, sum)) = self.get(parent)? {
            self.changed.insert(parent.to_owned(), Some((without_child(stat, zxid, 1), sum)));
        }
        Some(())
    }

    /// Returns a node, if there is one; `None` if that is not known.
    fn get(&self, path: &str) -> Option<Summed> {
        if let Some(changed) = self.changed.get(path) {
            return Some(*changed);
        }
        self.tree.has_all_below(path).then(|| self.tree.summed(path))
    }

    fn change(&self) -> Option<i64> {
        let digest = |path: &str, node: Summed| node.map_or(Some(0), |(stat, sum)| sum.digest(path, &stat));
        self.changed.iter().try_fold(0_i64, |change, (path, after)| {
            let (before, after) = (digest(path, self.tree.summed(path))?, digest(path, *after)?);
            Some(change.wrapping_add(after).wrapping_sub(before))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use lockscope_base::disk::testing::LOG;
    use lockscope_base::disk::{LogItem, LogReader};
    use lockscope_base::recipe::Classifier;
    use lockscope_base::znode::ZnodePath;

    fn apply(tree: &mut LogTree, header: TxnHeader, txn: &Txn<'_>) {
        match txn {
            Txn::Create(create) => {
                tree.create(&ZnodePath::new(&create.path).unwrap(), create, header.zxid, header.time);
            }
            Txn::Delete { path, .. } => {
                tree.delete(path, header.zxid);
            }
            Txn::SetData { path, data, version } => {
                tree.set(path, data, *version, header.zxid, header.time);
            }
            Txn::SetAcl { path, version, .. } => tree.set_acl(path, *version),
            Txn::Multi(multi) if multi.failure().is_none() => {
                multi.parts().for_each(|part| apply(tree, header, &part));
            }
            Txn::CloseSession { deleted: Some(paths) } => {
                for path in paths.iter() {
                    tree.delete(&path, header.zxid);
                }
            }
            _ => {}
        }
    }

    /// A real server's log has creates, deletions, containers, TTL nodes, ACLs and ends of sessions.
    #[test]
    fn each_transaction_changes_the_digest_as_the_server_says_and_a_missing_one_shows() {
        let mut tree = LogTree::new(&[ZnodePath::root()], Classifier::new([]));
        tree.clear(true);
        let mut log = LogReader::open(Cursor::new(LOG)).unwrap();
        let (mut last, mut agreed, mut unlike) = (None, 0, 0);
        while let LogItem::Record(record) = log.read().unwrap() {
            let Entry { header, txn, digest } = &record.entry;
            if let (Some(last), Some(digest)) = (last, digest) {
                assert_eq!(digest_change(&tree, &record.entry), Some(digest.digest.wrapping_sub(last)), "{txn:?}");
                agreed += 1;
                unlike += usize::from(digest.digest != last);
            }
            last = digest.map_or(last, |digest| Some(digest.digest));
            apply(&mut tree, *header, txn);
        }
        assert!(agreed > 25 && unlike > 15, "{agreed}, {unlike}");
    }

    #[test]
    fn what_is_not_followed_tells_nothing() {
        let mut tree = LogTree::new(&[ZnodePath::new("/elsewhere").unwrap()], Classifier::new([]));
        tree.clear(true);
        let mut log = LogReader::open(Cursor::new(LOG)).unwrap();
        while let LogItem::Record(record) = log.read().unwrap() {
            let is_change = matches!(record.entry.txn, Txn::Create(_) | Txn::Delete { .. } | Txn::SetData { .. });
            assert!(!is_change || digest_change(&tree, &record.entry).is_none());
        }
    }
}

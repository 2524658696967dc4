//! Looks ahead in the logs for what stood at a moment.

use std::collections::BTreeSet;

use super::ImportError;
use super::transactions::Transactions;
use lockscope_base::disk::Txn;
use lockscope_base::znode::{ZnodePath, Zxid};

/// Returns the nodes that stood before the next transaction: those that go up to `until` and were not
/// created on the way. Behind missing transactions, which `goes_on` tells, nobody knows that. Memory
/// grows with the number of nodes, as that of the tree.
pub(super) fn stood(
    transactions: &mut Transactions,
    until: Zxid,
    is_followed: impl Fn(&str) -> bool,
    goes_on: impl Fn(Zxid, Zxid) -> bool,
) -> Result<BTreeSet<ZnodePath>, ImportError> {
    let mut look = Ahead { created: BTreeSet::new(), stood: BTreeSet::new(), is_followed };
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

struct Ahead<F> {
    created: BTreeSet<ZnodePath>,
    stood: BTreeSet<ZnodePath>,
    is_followed: F,
}

impl<F: Fn(&str) -> bool> Ahead<F> {
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

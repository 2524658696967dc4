//! Finds the lock parents that have been empty for long, and looks at each again right before it is
//! deleted.
//!
//! Costs one listing for each node below the given one that is no contender, and four more requests
//! that change nothing for each that may be deleted.

mod choice;
mod examiner;
mod facts;
mod group;
mod walk;

use std::collections::BTreeMap;
use std::time::Duration;

use lockscope_requests::Requests;

pub use choice::Left;
pub use examiner::EmptyExaminer;
pub use facts::{EmptiesFacts, EmptiesReport};
pub use group::{Empties, Group, MAX_EMPTIES, MAX_NAMED};
pub use walk::SearchError;

use super::{DeletePlan, RecreationGuard, find_guards};
use lockscope_base::time::now;
use lockscope_base::znode::{ZnodePath, ZnodeStat};
use lockscope_model::queue::{LockTable, TransactionAges};

/// The maximum number of nodes whose guards are found out at the same time.
const AT_ONCE: usize = 8;

/// The search for empty lock parents.
#[derive(Debug)]
pub struct Search<'a> {
    /// A table that knows everything below the node, and the servers' view with their watches.
    pub table: &'a LockTable,
    /// The node. It is never deleted itself.
    pub below: &'a ZnodePath,
    /// How long ago the last child must have gone.
    pub older_than: Duration,
    /// The time limit of a request.
    pub patience: Duration,
}

impl Search<'_> {
    /// Finds the nodes, and how the deletion of each is guarded. Changes nothing. Cancel safe.
    pub async fn run(&self, client: &dyn Requests) -> Result<Empties, SearchError> {
        let walk::Found { nodes, not_readable } = walk::walk(client, self.table, self.below, self.patience).await?;
        let stats = || nodes.iter().flat_map(|(_, stat)| [(stat.czxid, stat.ctime), (stat.mzxid, stat.mtime)]);
        let until = self.table.server_time(now()).minus(self.older_than);
        let ages = TransactionAges::at(until, || self.table.contender_creations().chain(stats()));
        let counts = self.table.has_child_history(self.below);
        let mut left: BTreeMap<Left, Group> = BTreeMap::new();
        if not_readable.count > 0 {
            left.insert(Left::NotReadable, not_readable);
        }
        let mut may_go = Vec::new();
        for (path, stat) in nodes.iter().filter(|(path, _)| path != self.below) {
            match choice::left(self.table.use_of(path), stat, ages, counts).or_else(|| self.watched(path)) {
                Some(why) => left.entry(why).or_default().add(path),
                None => may_go.push((path, stat)),
            }
        }
        let plan = self.guarded(client, may_go, &mut left).await?;
        Ok(Empties { plan, left })
    }

    fn watched(&self, path: &ZnodePath) -> Option<Left> {
        let watchers = self.table.view().watchers_of(path)?;
        (!watchers.sessions.is_empty()).then_some(Left::Watched)
    }

    /// Plans the deletions as far as they are permitted and guarded, up to the limit.
    async fn guarded(
        &self,
        client: &dyn Requests,
        nodes: Vec<(&ZnodePath, &ZnodeStat)>,
        left: &mut BTreeMap<Left, Group>,
    ) -> Result<DeletePlan, SearchError> {
        let server_now = self.table.server_time(now());
        let mut plans = Vec::new();
        let mut leave = |why: Left, path: &ZnodePath| left.entry(why).or_default().add(path);
        let mut nodes = nodes.into_iter();
        while plans.len() < MAX_EMPTIES {
            let few = nodes.by_ref().take(AT_ONCE.min(MAX_EMPTIES - plans.len()));
            let found = few.map(async |(path, stat)| match DeletePlan::of_empty_node(path, stat, server_now) {
                Ok(plan) => {
                    walk::answer(path, self.patience, find_guards(client, plan)).await.map(|plan| (path, Some(plan)))
                }
                Err(_) => Ok((path, None)),
            });
            let found = futures::future::try_join_all(found).await?;
            if found.is_empty() {
                break;
            }
            for (path, plan) in found {
                match plan {
                    None => leave(Left::NoLockParent, path),
                    Some(plan) if plan.lacks().is_some() => leave(Left::NotPermitted, path),
                    Some(plan) if plan.nodes().iter().any(|node| node.guard == Some(RecreationGuard::Unguarded)) => {
                        leave(Left::Unguarded, path);
                    }
                    Some(plan) => plans.push(plan),
                }
            }
        }
        nodes.for_each(|(path, _)| leave(Left::OverLimit, path));
        Ok(DeletePlan::joined(plans))
    }
}

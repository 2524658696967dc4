//! A program that deletes another client's node as the console does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_live::admin::{
    Action, DeletePlan, Ending, Examine, NodeOutcome, NodeRun, Permission, PlannedNode, delete_over, find_guards,
};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_requests::Requests;
use zookeeper_client::{Error, SessionState, Stat};

use super::board::Board;
use super::facts::{Deletion, DeletionOutcome, Stage};
use super::foreign::again;
use super::paths::LOCK;
use crate::library::{SharedLibrary, lock, shared};

/// The time limit of a deletion after its examination, as the console sets it.
const PATIENCE: Duration = Duration::from_secs(15);

/// The time at which the table is looked at. No deletion depends on it.
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// How the node is examined again, right before its deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examination {
    /// The confirmed facts count as still true.
    Same,
    /// The node is read again.
    Reads,
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "delete",
            Self::Reads => "delete+reads",
        })
    }
}

/// Returns the facts of an outcome.
fn outcome_of(outcome: &NodeOutcome, in_time: bool) -> DeletionOutcome {
    DeletionOutcome {
        ending: outcome.ending.id(),
        window: matches!(outcome.ending, Ending::Deleted { window: true } | Ending::DeletedOther),
        raised: outcome.raised.as_ref().map(|raised| raised.as_str().into()),
        overwritten: outcome.overwritten,
        in_time,
    }
}

/// Looks for a node `looks` times at most, and deletes the first one that it finds.
pub(super) async fn run(examination: Examination, looks: u32, library: SharedLibrary, board: Board) {
    let client = shared(&library);
    let ended = async {
        for _ in 0..looks {
            if let Some((path, node)) = find(&*client).await? {
                return delete(examination, &library, &*client, path, node, &board).await;
            }
        }
        Ok("there is nothing to delete".to_owned())
    };
    let ended = ended.await.unwrap_or_else(|error: Error| error.to_string());
    board.show(Stage::Ended(Some(ended)));
}

/// Finds the lock's own node if a session owns it, or else the first node below it that one owns.
async fn find(client: &dyn Requests) -> Result<Option<(ZnodePath, Node)>, Error> {
    let Some(own) = read(client, LOCK).await? else { return Ok(None) };
    if own.1.stat.ephemeral_owner.is_some() {
        return Ok(Some(own));
    }
    let mut names = match again(|| client.children(LOCK)).await {
        Ok((names, _)) => names,
        Err(Error::NoNode) => return Ok(None),
        Err(error) => return Err(error),
    };
    names.sort_unstable();
    for name in names {
        let found = read(client, &format!("{LOCK}/{name}")).await?;
        if let Some(found) = found.filter(|(_, node)| node.stat.ephemeral_owner.is_some()) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

async fn read(client: &dyn Requests, path: &str) -> Result<Option<(ZnodePath, Node)>, Error> {
    match again(|| client.data(path)).await {
        Ok((data, stat)) => {
            let path = ZnodePath::new(path).expect("the servers have valid paths only");
            Ok(Some((path, Node { stat: stat_of(&stat), data: NodeData::keep(&data) })))
        }
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

fn stat_of(stat: &Stat) -> ZnodeStat {
    let owner = Some(SessionId(stat.ephemeral_owner)).filter(|owner| owner.0 != 0);
    let new = ZnodeStat::of_new(Zxid(stat.czxid), Timestamp(stat.ctime), owner);
    ZnodeStat { mzxid: Zxid(stat.mzxid), version: stat.version, data_length: stat.data_length, ..new }
}

/// Plans the deletion of a node, and carries it out. Returns its outcome as a sentence.
async fn delete(
    examination: Examination,
    library: &SharedLibrary,
    client: &dyn Requests,
    path: ZnodePath,
    node: Node,
    board: &Board,
) -> Result<String, Error> {
    let plan = plan(client.session(), path, node);
    let plan = again(|| find_guards(client, plan.clone())).await?;
    let node = plan.nodes().first().expect("the plan has the node");
    let (path, czxid) = (Arc::from(node.path.as_str()), node.czxid.0);
    board.show_deletion(Deletion { path: Arc::clone(&path), czxid, outcome: None });
    let mut examine = Examiner { examination, client };
    let permission = Permission::of_subcommand();
    let NodeRun { outcome, in_time } =
        delete_over(client, &permission, node, Action::Delete, PATIENCE, &mut examine).await;
    if !in_time {
        lock(library).end(SessionState::Closed);
    }
    board.show_deletion(Deletion { path, czxid, outcome: Some(outcome_of(&outcome, in_time)) });
    Ok(outcome.sentence())
}

/// Plans the deletion of a node from a table that shows this node alone.
fn plan(session: SessionId, path: ZnodePath, node: Node) -> DeletePlan {
    let mut table = LockTable::new([]);
    let connected = Change::Connection(ConnectionState::Connected { session, recursive: true });
    let seen = Change::Seen { path: path.clone(), node };
    for change in [connected, Change::Syncing, seen, Change::Synced] {
        table.apply(change, NOW);
    }
    DeletePlan::of(&TableAt::new(&table, NOW), &[path]).expect("the node contends for a lock")
}

/// Examines the node as the scenario wants it.
struct Examiner<'a> {
    examination: Examination,
    client: &'a dyn Requests,
}

impl Examine for Examiner<'_> {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        match self.examination {
            Examination::Same => Ok(Some(node.clone())),
            Examination::Reads => {
                let stat = self.client.stat(node.path.as_str()).await.map_err(|error| error.to_string())?;
                Ok(stat.filter(|stat| Zxid(stat.czxid) == node.czxid).map(|_| node.clone()))
            }
        }
    }
}

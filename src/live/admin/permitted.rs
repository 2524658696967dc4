//! Finds out which guard each node of a plan can have, and which permission to delete it is
//! missing. Changes nothing.

use std::collections::HashMap;

use lockscope_requests::Requests;
use zookeeper_client::Error;

use super::plan::NeededGuard;
use super::{Action, DeletePlan, Permitted, PlannedNode, RecreationGuard};

/// A version that no node has: it would take two billion writes. The servers check the permission
/// before the version, so a change on this condition is refused for the missing permission if there
/// is one, and for the version otherwise.
///
/// The version is not negative: some server that speaks ZooKeeper's protocol might treat any
/// negative version as -1, which is no condition at all.
const IMPOSSIBLE_VERSION: i32 = i32::MAX;

/// The known access to a parent.
#[derive(Clone, Copy)]
struct ParentAccess {
    /// The length of the parent's data, if they may be read and written.
    rewritable: Option<usize>,
}

/// Returns the plan with the guard that each of its nodes can have, and the missing permission to
/// delete it.
///
/// Costs up to three requests a node and two a parent, none of which changes anything. There is no
/// time limit: a caller whose connection may be lost adds one. Cancel safe.
pub async fn find_guards(client: &dyn Requests, plan: DeletePlan) -> Result<DeletePlan, Error> {
    let mut parents = HashMap::new();
    let mut found = Vec::with_capacity(plan.nodes().len());
    for node in plan.nodes() {
        let guard = guard(client, node, &mut parents).await?;
        found.push(Permitted { guard, lacks: lacks(client, plan.action(), node).await? });
    }
    Ok(plan.guarded(found))
}

async fn guard(
    client: &dyn Requests,
    node: &PlannedNode,
    parents: &mut HashMap<String, ParentAccess>,
) -> Result<RecreationGuard, Error> {
    let needed = RecreationGuard::needed(node);
    if needed == NeededGuard::Nothing {
        return Ok(RecreationGuard::UniqueName);
    }
    if needed == NeededGuard::ParentOrNode {
        let path = node.path.parent_str().unwrap_or("/");
        let known = parents.get(path).copied();
        let parent = match known {
            Some(parent) => parent,
            None => ParentAccess { rewritable: rewritable(client, path).await? },
        };
        parents.insert(path.to_owned(), parent);
        if let Some(data_length) = parent.rewritable {
            return Ok(RecreationGuard::Parent { data_length });
        }
    }
    let own = rewritable(client, node.path.as_str()).await?;
    Ok(own.map_or(RecreationGuard::Unguarded, |data_length| RecreationGuard::OwnNode { data_length }))
}

/// Returns the length of a node's data if they may be read and written.
async fn rewritable(client: &dyn Requests, path: &str) -> Result<Option<usize>, Error> {
    let read = client.data(path);
    let write = client.set_data(path, &[], Some(IMPOSSIBLE_VERSION));
    let (read, write) = tokio::join!(read, write);
    match (read, write) {
        (Err(Error::NoAuth), _) | (_, Err(Error::NoAuth)) => Ok(None),
        // If the node is gone, the execution reports it.
        (Ok((data, _)), Err(Error::BadVersion | Error::NoNode)) => Ok(Some(data.len())),
        (Err(Error::NoNode), _) => Ok(Some(0)),
        (Err(error), _) | (_, Err(error)) => Err(error),
        (Ok(_), Ok(_)) => Err(Error::UnexpectedError("a server wrote to a node of an impossible version".to_owned())),
    }
}

async fn lacks(client: &dyn Requests, action: Action, node: &PlannedNode) -> Result<Option<&'static str>, Error> {
    let path = node.path.as_str();
    let (refused, lacks) = match action {
        Action::Delete => (client.delete(path, Some(IMPOSSIBLE_VERSION)).await, "the DELETE permission on its parent"),
        Action::Revoke => {
            (client.set_data(path, &[], Some(IMPOSSIBLE_VERSION)).await.map(|_| ()), "the WRITE permission on it")
        }
    };
    match refused {
        Err(Error::NoAuth) => Ok(Some(lacks)),
        Err(Error::BadVersion | Error::NoNode | Error::NotEmpty) => Ok(None),
        Ok(()) => Err(Error::UnexpectedError("a server changed a node of an impossible version".to_owned())),
        Err(error) => Err(error),
    }
}

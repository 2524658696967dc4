//! Lists all nodes below a node. The observer reports only those that it needs to follow locks.

use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use lockscope_requests::Requests;
use tokio::time::timeout;
use zookeeper_client::Error;

use super::group::Group;
use crate::zk::stat_of;
use lockscope_base::znode::{ZnodePath, ZnodeStat};
use lockscope_model::queue::LockTable;

/// The maximum number of requests under way, so that other clients hardly notice them.
const AT_ONCE: usize = 16;

/// The maximum number of nodes that are looked at: they take some hundred megabytes.
const MAX_LOOKED_AT: usize = 1_000_000;

/// The nodes cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be looked at: {why}; nothing was deleted")]
pub struct SearchError {
    path: ZnodePath,
    why: String,
}

/// The nodes that were found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The nodes, in the order of their depth, and of their paths.
    pub nodes: Vec<(ZnodePath, ZnodeStat)>,
    /// Those that may not be read.
    pub not_readable: Group,
}

/// Lists a node and all below it, except the contenders that the table knows, and nodes that go
/// meanwhile. `patience` is the time limit of a request.
pub(super) async fn walk(
    client: &dyn Requests,
    table: &LockTable,
    below: &ZnodePath,
    patience: Duration,
) -> Result<Found, SearchError> {
    let mut found = Found::default();
    let mut level = vec![below.clone()];
    while !level.is_empty() {
        if found.nodes.len() + level.len() > MAX_LOOKED_AT {
            let why = format!("it has more than {MAX_LOOKED_AT} nodes below it: name one of its children instead");
            return Err(SearchError { path: below.clone(), why });
        }
        let listed = stream::iter(level).map(|path| list(client, path, patience)).buffered(AT_ONCE);
        let listed: Vec<(ZnodePath, Listed)> = listed.try_collect().await?;
        level = Vec::new();
        for (path, listed) in listed {
            match listed {
                Listed::Node(mut names, stat) => {
                    names.sort_unstable();
                    let children = names.iter().map(|name| path.child(name));
                    level.extend(children.filter(|child| table.position(child).is_none() && !child.is_servers_own()));
                    found.nodes.push((path, stat));
                }
                Listed::NotReadable => found.not_readable.add(&path),
                Listed::Gone => {}
            }
        }
    }
    Ok(found)
}

enum Listed {
    Node(Vec<String>, ZnodeStat),
    NotReadable,
    Gone,
}

async fn list(client: &dyn Requests, path: ZnodePath, patience: Duration) -> Result<(ZnodePath, Listed), SearchError> {
    let listed = answer(&path, patience, async {
        match client.children(path.as_str()).await {
            Ok((names, stat)) => Ok(Listed::Node(names, stat_of(&stat))),
            Err(Error::NoAuth) => Ok(Listed::NotReadable),
            Err(Error::NoNode) => Ok(Listed::Gone),
            Err(error) => Err(error),
        }
    });
    let listed = listed.await?;
    Ok((path, listed))
}

/// Returns the answer to a request about a node.
pub(super) async fn answer<T>(
    path: &ZnodePath,
    patience: Duration,
    reply: impl Future<Output = Result<T, Error>>,
) -> Result<T, SearchError> {
    let failed = |why: String| SearchError { path: path.clone(), why };
    match timeout(patience, reply).await {
        Ok(answer) => answer.map_err(|error| failed(format!("{error}; try again"))),
        Err(_) => Err(failed("the server is silent; try again".to_owned())),
    }
}

//! Programs that acquire and release a lock as other libraries do.
//!
//! They follow Curator's `InterProcessMutex` and kazoo's `Lock`: a sequential node whose name has an
//! id, a search for that id after a lost reply, a watch on the predecessor, and a new listing after
//! its event.

use std::sync::Arc;

use lockscope_requests::{NewNode, Requests};
use zookeeper_client::{Acls, CreateMode, Error, SessionState};

use super::board::Board;
use super::facts::{Hold, HoldKind, Stage};
use super::paths::LOCK;
use crate::library::{SharedLibrary, shared};

/// The library whose names a foreign program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignNames {
    /// `_c_<UUID>-lock-S`.
    Curator,
    /// `<32 hex digits>__lock__S`.
    Kazoo,
}

impl std::fmt::Display for ForeignNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Curator => "curator",
            Self::Kazoo => "kazoo",
        })
    }
}

/// Acquires and releases the lock `rounds` times.
pub(super) async fn run(names: ForeignNames, rounds: u32, library: SharedLibrary, board: Board) {
    let client = shared(&library);
    let mut last = None;
    for _ in 0..rounds {
        board.show(Stage::Works);
        if let Err(error) = names.round(&client, &board).await {
            last = Some(error.to_string());
            break;
        }
    }
    board.show(Stage::Ended(last));
}

impl ForeignNames {
    async fn round(self, client: &Arc<dyn Requests>, board: &Board) -> Result<(), Error> {
        let id = client.attempt_id();
        let prefix = match self {
            Self::Curator => format!("_c_{id}-lock-"),
            Self::Kazoo => format!("{}__lock__", id.simple()),
        };
        let name = self.create(client, &prefix).await?;
        let node = format!("{LOCK}/{name}");
        if self.wait(client, &name).await? {
            let czxid = stat(client, &node).await?;
            if let Some(token) = czxid {
                let hold = Hold {
                    lock: LOCK.into(),
                    token,
                    kind: HoldKind::Exclusive,
                    node: node.as_str().into(),
                    is_downgraded: false,
                    is_watched: false,
                };
                let client = Arc::clone(client);
                // Both libraries tell their users to stop when the connection is lost, which comes before
                // the end of the session.
                board.show_held(hold, move || client.state() != SessionState::SyncConnected);
                board.hold().await;
            }
        }
        again(|| client.delete(&node, None)).await.or_else(none_is_fine)
    }

    async fn create(self, client: &Arc<dyn Requests>, prefix: &str) -> Result<String, Error> {
        let path = format!("{LOCK}/{prefix}");
        let node = NewNode { path: &path, data: b"", mode: CreateMode::EphemeralSequential, acls: Acls::anyone_all() };
        loop {
            match client.create(node.clone()).await {
                Ok(created) => return Ok(format!("{prefix}{}", created.number)),
                Err(Error::NoNode) => {
                    let parent =
                        NewNode { path: LOCK, data: b"", mode: CreateMode::Container, acls: Acls::anyone_all() };
                    again(|| client.create(parent.clone())).await.map(drop).or_else(none_is_fine)?;
                }
                Err(Error::ConnectionLoss | Error::SessionMoved) => {
                    let names = again(|| client.children(LOCK)).await;
                    let found =
                        names.ok().and_then(|(names, _)| names.into_iter().find(|name| name.starts_with(prefix)));
                    if let Some(name) = found {
                        return Ok(name);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the turn of a node. Returns `false` if the node is gone.
    async fn wait(self, client: &Arc<dyn Requests>, own: &str) -> Result<bool, Error> {
        loop {
            let mut names = match again(|| client.children(LOCK)).await {
                Ok((names, _)) => names,
                Err(Error::NoNode) => return Ok(false),
                Err(error) => return Err(error),
            };
            names.sort_by(|a, b| number(a).cmp(number(b)));
            let Some(at) = names.iter().position(|name| name == own) else { return Ok(false) };
            let Some(before) = at.checked_sub(1) else { return Ok(true) };
            let before = format!("{}/{}", LOCK, names[before]);
            match again(|| client.watch_data(&before)).await {
                Ok((_, _, watch)) => {
                    watch.await;
                }
                Err(Error::NoNode) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn number(name: &str) -> &str {
    name.get(name.len().saturating_sub(10)..).unwrap_or_default()
}

async fn stat(client: &Arc<dyn Requests>, node: &str) -> Result<Option<i64>, Error> {
    Ok(again(|| client.stat(node)).await?.map(|stat| stat.czxid))
}

fn none_is_fine(error: Error) -> Result<(), Error> {
    if matches!(error, Error::NoNode | Error::NodeExists) { Ok(()) } else { Err(error) }
}

/// Sends a request again after each lost connection.
pub(super) async fn again<T, F: Future<Output = Result<T, Error>>>(send: impl Fn() -> F) -> Result<T, Error> {
    loop {
        match send().await {
            Err(Error::ConnectionLoss | Error::SessionMoved) => {}
            answered => return answered,
        }
    }
}

//! Who watches which path, as a server lists it.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::Keyed;
use lockscope_base::znode::{SessionId, ZnodePath};

/// Who watches a path by getData or exists. No server says who watches its children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedPath {
    /// The path, which need not exist.
    pub path: ZnodePath,
    /// The sessions, in the order of their ids.
    pub sessions: WatchingSessions,
}

/// The sessions that watch a path: nearly always one or two. With a list of its own for each of very many paths, the lists would take
/// as much memory as the paths.
pub type WatchingSessions = SmallVec<[SessionId; 2]>;

impl WatchedPath {
    pub(super) fn new(path: ZnodePath, mut sessions: WatchingSessions) -> Self {
        sessions.sort_unstable();
        sessions.dedup();
        Self { path, sessions }
    }
}

impl Keyed for WatchedPath {
    type Key = ZnodePath;

    fn key(&self) -> &ZnodePath {
        &self.path
    }
}

/// How many data and exists watches a server holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchTotals {
    /// Connections that watch something.
    pub connections: u64,
    /// Paths that are watched.
    pub paths: u64,
    /// Watches: one for each path and connection.
    pub watches: u64,
}

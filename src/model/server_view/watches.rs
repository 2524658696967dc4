//! Watches, as a server lists them.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::Keyed;
use lockscope_base::znode::{SessionId, ZnodePath};

/// The sessions that watch a path by getData or exists. No server reports who watches its children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedPath {
    /// The path. Its node may not exist.
    pub path: ZnodePath,
    /// The sessions, sorted by id.
    pub sessions: WatchingSessions,
}

/// The sessions that watch a path, nearly always one or two. A separate heap allocation for each of
/// very many paths would take as much memory as the paths.
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

/// The number of data and exists watches on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchTotals {
    /// The number of connections with watches.
    pub connections: u64,
    /// The number of watched paths.
    pub paths: u64,
    /// The number of watches: one for each pair of path and connection.
    pub watches: u64,
}

//! What a server lists: connections, watches, and the ephemeral nodes of each session.
//!
//! A [`Listing`] is sorted, with its time and whether it is whole.
//!
//! Architecture invariant: a figure that stands for "none yet" is no measurement. Both decoders of
//! connections end in [`ListedConnection`], so nothing else in the program sees such a figure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid, is_marked_timeout};

/// An item that is found by a key.
pub trait Keyed {
    /// The type of the key.
    type Key: Ord + ?Sized;

    /// Returns the item's key.
    fn key(&self) -> &Self::Key;
}

/// The items that one server listed, sorted by key. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Unsorted<T>", bound = "T: Keyed + Serialize + serde::de::DeserializeOwned")]
pub struct Listing<T: Keyed> {
    items: Arc<[T]>,
    /// Whether nothing is missing: the answer was complete, each line was understood, and the
    /// server does not seem to know more than it listed. A listing that is not whole proves no
    /// absence.
    pub whole: bool,
    /// When the server was asked, by our clock. The listing is no older than that.
    pub at: Timestamp,
}

#[derive(Deserialize)]
struct Unsorted<T> {
    items: Vec<T>,
    whole: bool,
    at: Timestamp,
}

impl<T: Keyed> From<Unsorted<T>> for Listing<T> {
    fn from(unsorted: Unsorted<T>) -> Self {
        Self::new(unsorted.items, unsorted.whole, unsorted.at)
    }
}

impl<T: Keyed> Listing<T> {
    /// Creates a listing and sorts its items.
    pub fn new(mut items: Vec<T>, whole: bool, at: Timestamp) -> Self {
        items.sort_by(|a, b| a.key().cmp(b.key()));
        Self { items: items.into(), whole, at }
    }

    /// Returns all items, sorted by key.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns the items with this key.
    pub fn with_key(&self, key: &T::Key) -> &[T] {
        let from = self.items.partition_point(|item| item.key() < key);
        let length = self.items[from..].partition_point(|item| item.key() <= key);
        &self.items[from..from + length]
    }
}

/// A client's connection with a session, as its server lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The connection's session.
    pub session: SessionId,
    /// The client's address, `ADDRESS:PORT`, with brackets around an IPv6 address.
    pub client: String,
    /// The negotiated session timeout, in milliseconds; `None` when the server does not report it.
    pub timeout_ms: Option<u64>,
    /// When the connection was made, by the server's clock; `None` when the server does not report
    /// it.
    pub established: Option<Timestamp>,
    /// The last operation in the server's abbreviation: `PING`, `GETC` (getChildren), `GETD`
    /// (getData), `EXST` (exists) … `None` before the first one on this connection.
    pub last_operation: Option<String>,
    /// The number that the client gave its last request on this connection. Pings do not change it:
    /// if it stays the same while `last_response` moves, the client only sends heartbeats. `None`
    /// before the first answer.
    pub last_cxid: Option<i64>,
    /// The newest transaction in the answers to the client; `None` before the first answer, and
    /// after a ping.
    pub last_zxid: Option<Zxid>,
    /// When the client was last answered, pings included, by the server's monotonic clock in
    /// milliseconds. `None` before the first answer on this connection, and when the server does
    /// not report it.
    pub last_response: Option<i64>,
    /// When the client was last answered, by our clock ([`ServerClock`](super::ServerClock)). The
    /// time may be too late but never too early: the client may have been silent for longer than it
    /// seems. Before the first answer it is when the connection was first listed
    /// ([`FirstListed`](super::FirstListed)).
    pub last_heard: Option<Timestamp>,
    /// The number of packets that the server received, pings included.
    pub received: u64,
    /// The number of packets that the server sent, watch events included.
    pub sent: u64,
}

impl Connection {
    /// Returns the negotiated session timeout.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// Returns whether the session belongs to a lockscope: this one, or another console, recorder
    /// or check.
    ///
    /// They are recognised by their timeout ([`marked_timeout`](lockscope_base::znode::marked_timeout)),
    /// unless a server granted another one or the timeout is below two seconds.
    pub fn is_of_lockscope(&self) -> bool {
        self.timeout_ms.is_some_and(is_marked_timeout)
    }
}

/// What a server lists of a connection, in its own figures.
///
/// A server counts by connection. A session that has just moved to it was answered nothing there,
/// which it writes as 0, as -1, as `null` or as `NA`, depending on the figure.
#[derive(Clone, Debug)]
pub(super) struct ListedConnection {
    pub session: SessionId,
    pub client: String,
    pub timeout_ms: Option<u64>,
    pub established: Option<i64>,
    pub last_operation: Option<String>,
    pub last_cxid: Option<i64>,
    pub last_zxid: Option<i64>,
    pub last_response: Option<i64>,
    pub received: u64,
    pub sent: u64,
}

impl From<ListedConnection> for Connection {
    fn from(listed: ListedConnection) -> Self {
        let was_answered = listed.last_response != Some(0);
        Self {
            session: listed.session,
            client: listed.client,
            timeout_ms: listed.timeout_ms,
            established: listed.established.map(Timestamp),
            last_operation: listed.last_operation.filter(|name| !["null", "NA", ""].contains(&&**name)),
            last_cxid: listed.last_cxid.filter(|cxid| was_answered && *cxid != -1),
            last_zxid: listed.last_zxid.filter(|zxid| was_answered && *zxid >= 0).map(Zxid),
            last_response: listed.last_response.filter(|_| was_answered),
            last_heard: None,
            received: listed.received,
            sent: listed.sent,
        }
    }
}

impl Keyed for Connection {
    type Key = SessionId;

    fn key(&self) -> &SessionId {
        &self.session
    }
}

/// Converts Java's text of a socket's address to `ADDRESS:PORT`. Java writes `/10.0.0.1:1`,
/// `host/10.0.0.1:1`, `/[0:0:0:0:0:0:0:1]:1`, and before Java 14 `/0:0:0:0:0:0:0:1:1`.
pub fn client_address(java: &str) -> String {
    let address = java.rsplit_once('/').map_or(java, |(_, address)| address);
    match address.rsplit_once(':') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{port}"),
        _ => address.to_owned(),
    }
}

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

/// Maximum number of paths that are kept for a session. The count includes the others.
const MAX_PATHS_OF_SESSION: usize = 100;

/// Maximum size of all kept paths, in bytes. Beyond it, nodes are only counted.
const MAX_PATH_BYTES: usize = 4 << 20;

/// The ephemeral nodes of one session. They go when the session ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionEphemerals {
    /// The number of nodes.
    pub count: usize,
    /// Their paths, at most 100, within our chroot.
    pub paths: Vec<ZnodePath>,
}

/// The ephemeral nodes of all sessions, from one answer. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ephemerals {
    by_session: Arc<BTreeMap<SessionId, SessionEphemerals>>,
    /// Whether the answer was complete. A count is a lower bound otherwise.
    pub whole: bool,
}

impl Ephemerals {
    /// Collects the nodes of an answer, which names a session with each path. A path is absolute;
    /// nodes outside of the chroot are only counted.
    pub fn collect<'a>(
        nodes: impl IntoIterator<Item = (SessionId, &'a str)>,
        chroot: Option<&ZnodePath>,
        whole: bool,
    ) -> Self {
        let mut by_session: BTreeMap<SessionId, SessionEphemerals> = BTreeMap::new();
        let mut bytes = 0;
        for (session, path) in nodes {
            let owned = by_session.entry(session).or_default();
            owned.count += 1;
            if owned.paths.len() < MAX_PATHS_OF_SESSION
                && bytes + path.len() <= MAX_PATH_BYTES
                && let Some(path) = below(chroot, path)
            {
                bytes += path.as_str().len();
                owned.paths.push(path);
            }
        }
        Self { by_session: Arc::new(by_session), whole }
    }

    /// Returns the nodes of a session; no nodes for a session that the answer does not name.
    pub fn of(&self, session: SessionId) -> Option<&SessionEphemerals> {
        self.by_session.get(&session)
    }
}

/// Returns the path relative to the chroot; `None` when it lies outside or is no path.
fn below(chroot: Option<&ZnodePath>, path: &str) -> Option<ZnodePath> {
    let Some(chroot) = chroot else { return ZnodePath::new(path).ok() };
    let rest = path.strip_prefix(chroot.as_str())?;
    if rest.starts_with('/') { ZnodePath::new(rest).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;

    #[test]
    fn the_clients_address_has_the_usual_notation() {
        assert_eq!(client_address("/127.0.0.1:40086"), "127.0.0.1:40086");
        assert_eq!(client_address("app1/10.0.0.1:7"), "10.0.0.1:7");
        assert_eq!(client_address("/0:0:0:0:0:0:0:1:7"), "[0:0:0:0:0:0:0:1]:7");
        assert_eq!(client_address("/[0:0:0:0:0:0:0:1]:7"), "[0:0:0:0:0:0:0:1]:7");
        assert_eq!(client_address(""), "");
    }

    #[test]
    fn the_count_includes_the_nodes_whose_paths_are_not_kept() {
        let paths: Vec<String> = (0..250).map(|number| format!("/prod/a/{number}")).collect();
        let nodes = paths.iter().map(|path| (SessionId(1), path.as_str()));
        let nodes = nodes.chain([(SessionId(2), "/test/b"), (SessionId(2), "/prod"), (SessionId(2), "/production/c")]);
        let found = Ephemerals::collect(nodes, Some(&path("/prod")), true);
        let first = found.of(SessionId(1)).expect("it owns nodes");
        assert_eq!((first.count, first.paths.len(), first.paths[0].as_str()), (250, MAX_PATHS_OF_SESSION, "/a/0"));
        let second = found.of(SessionId(2)).expect("it owns nodes");
        assert_eq!((second.count, second.paths.len()), (3, 0), "they are outside of the chroot");
        assert_eq!(found.of(SessionId(3)), None);
    }

    #[test]
    fn the_paths_of_an_answer_have_a_bound() {
        let long = format!("/{}", "x".repeat(1 << 20));
        let nodes = (0..9).map(|session| (SessionId(session), long.as_str()));
        let found = Ephemerals::collect(nodes, None, true);
        let kept = (0..9).filter_map(|session| found.of(SessionId(session))).filter(|owned| !owned.paths.is_empty());
        assert_eq!(kept.count(), 3);
    }
}

//! The configuration of a sandbox: timeouts and bounds.

use std::time::Duration;

/// The server that a sandbox behaves like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerBehaviour {
    /// `ZooKeeper` 3.8.0.
    #[default]
    ZooKeeper,
    /// `ZooKeeper` 3.5.4, made after its sources and documentation.
    ///
    /// - It does not know `addWatch`, `setWatches2`, `multiRead`, `getEphemerals`,
    ///   `getAllChildrenNumber` and `whoAmI`: it answers `Unimplemented` and closes the connection.
    /// - Sequence numbers go on with -2147483648 after 2147483647, as in all servers before 3.5.5
    ///   (ZOOKEEPER-3125).
    /// - `mntr` has no figures of sessions and of fired watches. Average latencies are whole numbers.
    ZooKeeper35,
    /// `ClickHouse` Keeper 25.12, made after its sources and documentation.
    ///
    /// - The event of a recursive watch names the watched node instead of the changed one.
    /// - A deletion leaves the parent's `pzxid` as it was; a write to a child raises `cversion`.
    /// - It knows no SASL, `getEphemerals`, `getAllChildrenNumber` and `whoAmI`.
    /// - A client whose session has ended gets a new session without notice.
    /// - Four-letter words have formats of their own, and `dump` and `wchp` are not allowed.
    /// - Its own nodes are below `/keeper`.
    Keeper,
}

/// The configuration of a sandbox.
///
/// Sizes, counts and timeouts are bounds. The sandbox refuses only the requests and connections
/// that exceed one; other clients go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// The tick of the server's clock. Sessions expire at multiples of it. Not zero.
    pub tick: Duration,
    /// The shortest session timeout that the server grants.
    pub min_session_timeout: Duration,
    /// The longest session timeout that the server grants.
    pub max_session_timeout: Duration,
    /// The largest frame that the server accepts, in bytes, like ZooKeeper's `jute.maxbuffer`.
    pub max_frame: usize,
    /// The maximum number of connections. The server closes a further one at once.
    pub max_connections: usize,
    /// The maximum number of sessions, with and without a connection.
    pub max_sessions: usize,
    /// The approximate maximum of bytes that nodes, ACLs and watches take together. A request that
    /// needs more fails with `QuotaExceeded`.
    pub max_memory: usize,
    /// The maximum of bytes that wait for one client that does not read. Beyond it, the server
    /// closes the connection. It also bounds the answer to a four-letter word.
    pub max_unread: usize,
    /// The maximum of bytes that all connections take together: unread output, partial frames and
    /// proven identities. Beyond it, the server closes the largest connections first.
    pub max_buffered: usize,
    /// The time in which a connection must open a session, like ZooKeeper's
    /// `zookeeper.nio.sessionlessCnxnTimeout`. After it, the server closes the connection.
    pub handshake_timeout: Duration,
    /// The interval between deletions of empty containers and expired TTL nodes.
    pub sweep: Duration,
    /// Whether other machines may connect. The sandbox has fewer defences than a real server.
    pub any_address: bool,
    /// The number of the first sequential child of each new node. Zero, as on a real server. Tests
    /// set it to see what happens where the numbers end.
    pub first_sequence: i32,
    /// The server that the sandbox behaves like.
    pub behaviour: ServerBehaviour,
}

impl Default for SandboxConfig {
    /// Returns ticks of 100 ms, session timeouts from 200 ms to a minute, frames of 1 MiB as in
    /// ZooKeeper, 4,096 connections, 16,384 sessions, 512 MiB of nodes and watches, 16 MiB for a
    /// client that does not read and 256 MiB for all, 10 s for a handshake, a sweep each second,
    /// and loopback only.
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(100),
            min_session_timeout: Duration::from_millis(200),
            max_session_timeout: Duration::from_secs(60),
            max_frame: 0x000f_ffff,
            max_connections: 4096,
            max_sessions: 16_384,
            max_memory: 512 << 20,
            max_unread: 16 << 20,
            max_buffered: 256 << 20,
            handshake_timeout: Duration::from_secs(10),
            sweep: Duration::from_secs(1),
            any_address: false,
            first_sequence: 0,
            behaviour: ServerBehaviour::ZooKeeper,
        }
    }
}

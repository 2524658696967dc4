//! How a sandbox is set up: its timeouts and its bounds.

use std::time::Duration;

/// How a sandbox is set up. Every number but the first sequence is a bound: what goes beyond it is refused, and hurts only who sent
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// The server's clock: sessions expire at multiples of it. Not zero.
    pub tick: Duration,
    /// The shortest session timeout that is granted.
    pub min_session_timeout: Duration,
    /// The longest session timeout that is granted.
    pub max_session_timeout: Duration,
    /// The largest frame that is taken, in bytes, as ZooKeeper's `jute.maxbuffer`.
    pub max_frame: usize,
    /// How many connections there may be at once; one more is closed as soon as it is made.
    pub max_connections: usize,
    /// How many sessions there may be at once, with and without a connection.
    pub max_sessions: usize,
    /// Bytes that nodes, with their ACLs, and watches may take, about. Beyond it, what would take more is refused with `QuotaExceeded`.
    pub max_memory: usize,
    /// Bytes that may wait for one client that does not read; beyond it, its connection is closed. An answer to a
    /// four-letter word is no longer either.
    pub max_unread: usize,
    /// Bytes that all connections together may take: what waits to be read by them, parts of frames that they sent, and
    /// who they proved to be. Beyond it, those that take most are closed.
    pub max_buffered: usize,
    /// How long a connection may be without a session, as ZooKeeper's `zookeeper.nio.sessionlessCnxnTimeout`; after it,
    /// it is closed.
    pub handshake_timeout: Duration,
    /// How often empty containers and nodes past their time to live are looked for.
    pub sweep: Duration,
    /// Whether others than this machine may connect. The sandbox has no defences that a real server would not have, and
    /// fewer than some.
    pub any_address: bool,
    /// The number of the first sequential child of each node that is made. Zero, as on a real server, but for tests of what happens
    /// where the numbers end.
    pub first_sequence: i32,
}

impl Default for SandboxConfig {
    /// Ticks of 100 ms, timeouts from 200 ms to a minute, frames of 1 MiB as in ZooKeeper, 4,096 connections, 16,384
    /// sessions, 512 MiB of nodes and watches, 16 MiB for a client that does not read and 256 MiB for all, 10 s for a
    /// handshake, a sweep a second, loopback only.
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
        }
    }
}

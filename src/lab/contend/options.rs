//! Where and how a fleet runs.

use lockscope_live::zk::ConnectOptions;

/// Where and how a fleet runs.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// The ensemble.
    pub connection: ConnectOptions,
    /// How many recursive watches this program itself has over the scenario's path: what they add to the servers' counters
    /// is taken off.
    pub own_watches: u32,
    /// Whether the servers may be asked what they count.
    pub asks_servers: bool,
}

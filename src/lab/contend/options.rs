//! The settings of a fleet besides its scenario.

use lockscope_live::zk::ConnectOptions;

/// The settings of a fleet besides its scenario.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// The ensemble and the settings of connections.
    pub connection: ConnectOptions,
    /// The number of this program's own recursive watches over the scenario's path. Their share in
    /// the servers' counters is subtracted.
    pub own_watches: u32,
    /// Whether the servers may be asked for their counters.
    pub asks_servers: bool,
}

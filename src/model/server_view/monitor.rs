//! The figures of `mntr`, among them the sent watch events.

use serde::{Deserialize, Serialize};

use super::Health;
use super::figure::Figure;

/// The number of watch events of each type that a server sent since it started, to all clients and
/// for all paths.
///
/// `children` is exactly the cost of herds, since recursive watches do not affect it. `deleted`
/// includes the events of chains. It also includes one event per deletion for each recursive watch
/// above the node, and two before 3.9.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEventTotals {
    /// Events about created nodes.
    pub created: u64,
    /// Events about deleted nodes.
    pub deleted: u64,
    /// Events about nodes whose data changed.
    pub changed: u64,
    /// Events about nodes whose children changed.
    pub children: u64,
}

impl WatchEventTotals {
    /// Returns the events between two answers of one server. `None` when the server restarted in
    /// between, which resets its counts to zero.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            created: self.created.checked_sub(earlier.created)?,
            deleted: self.deleted.checked_sub(earlier.deleted)?,
            changed: self.changed.checked_sub(earlier.changed)?,
            children: self.children.checked_sub(earlier.children)?,
        })
    }

    /// Returns the sums of two servers.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            created: self.created.saturating_add(other.created),
            deleted: self.deleted.saturating_add(other.deleted),
            changed: self.changed.saturating_add(other.changed),
            children: self.children.saturating_add(other.children),
        }
    }
}

/// The answer to `mntr`, or to AdminServer's `monitor`; `None` for missing values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    /// The server's version, in its own words.
    pub version: Option<String>,
    /// The server's role in its own word: `leader`, `follower`, `observer`, `standalone` or
    /// `read-only`.
    pub state: Option<String>,
    /// The number of watches of all kinds.
    pub watches: Option<u64>,
    /// The number of connections on all ports. Includes our own question if it was a four-letter
    /// word.
    pub connections: Option<u64>,
    /// The sent watch events, from ZooKeeper 3.6.0 on. `None` if any of the four counts is missing.
    pub fired: Option<WatchEventTotals>,
    /// How the server is doing.
    pub health: Health,
}

impl Monitor {
    /// Collects figures by their names, without `zk_`. Unknown names are ignored.
    pub(super) fn collect<'a>(figures: impl Iterator<Item = (&'a str, Figure)>) -> Self {
        let mut found = Self::default();
        let [mut created, mut deleted, mut changed, mut children] = [None; 4];
        for (name, figure) in figures {
            found.health.take(name, &figure);
            match name {
                "version" => found.version = figure.text,
                "server_state" => found.state = figure.text,
                "watch_count" => found.watches = figure.number,
                "num_alive_connections" => found.connections = figure.number,
                "sum_node_created_watch_count" => created = figure.number,
                "sum_node_deleted_watch_count" => deleted = figure.number,
                "sum_node_changed_watch_count" => changed = figure.number,
                "sum_node_children_watch_count" => children = figure.number,
                _ => {}
            }
        }
        if let (Some(created), Some(deleted), Some(changed), Some(children)) = (created, deleted, changed, children) {
            found.fired = Some(WatchEventTotals { created, deleted, changed, children });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_server_has_no_difference_to_before() {
        let some = WatchEventTotals { children: 4, ..WatchEventTotals::default() };
        assert_eq!(some.since(&WatchEventTotals::default()), Some(some));
        assert_eq!(WatchEventTotals::default().since(&some), None);
    }
}

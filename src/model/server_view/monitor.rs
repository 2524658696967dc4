//! The figures of `mntr`, and the watch events that a server sent.

use serde::{Deserialize, Serialize};

/// How many watch events a server sent since it started, by their type. For the whole server: all clients, all paths.
///
/// `children` is exactly the cost of herds, since recursive watches don't touch it. `deleted` holds the events of chains, and
/// for each deletion one for each recursive watch over it, before 3.9.0 two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEventTotals {
    /// Of nodes that were created.
    pub created: u64,
    /// Of nodes that were deleted.
    pub deleted: u64,
    /// Of nodes whose data changed.
    pub changed: u64,
    /// Of nodes whose children changed.
    pub children: u64,
}

impl WatchEventTotals {
    /// What was sent between two answers of one server. `None` when the server started anew in between, which sets its
    /// counts to zero.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            created: self.created.checked_sub(earlier.created)?,
            deleted: self.deleted.checked_sub(earlier.deleted)?,
            changed: self.changed.checked_sub(earlier.changed)?,
            children: self.children.checked_sub(earlier.children)?,
        })
    }

    /// The totals of two servers together.
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

/// What the answer to `mntr`, or to AdminServer's `monitor`, says; `None` for what it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    /// The server's version, as it writes it.
    pub version: Option<String>,
    /// `leader`, `follower`, `observer`, `standalone` or `read-only`, as the server writes it.
    pub state: Option<String>,
    /// Watches of all kinds.
    pub watches: Option<u64>,
    /// Connections on all ports, the one that asked included when it asked by a word.
    pub connections: Option<u64>,
    /// Watch events that were sent; from 3.6.0, and only when none of the four is missing.
    pub fired: Option<WatchEventTotals>,
}

impl Monitor {
    /// Takes figures by their names, without `zk_`. Those that it does not know are passed over.
    pub(super) fn collect<'a>(figures: impl Iterator<Item = (&'a str, Figure)>) -> Self {
        let mut found = Self::default();
        let [mut created, mut deleted, mut changed, mut children] = [None; 4];
        for (name, figure) in figures {
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

/// A figure's value, however it was written.
pub(super) struct Figure {
    pub(super) text: Option<String>,
    pub(super) number: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_started_anew_has_no_difference_to_before() {
        let some = WatchEventTotals { children: 4, ..WatchEventTotals::default() };
        assert_eq!(some.since(&WatchEventTotals::default()), Some(some));
        assert_eq!(WatchEventTotals::default().since(&some), None);
    }
}

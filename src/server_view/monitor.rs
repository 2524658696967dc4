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

/// What the answer to `mntr` says; `None` for what it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    /// The server's version, as it writes it.
    pub version: Option<String>,
    /// `leader`, `follower`, `observer`, `standalone` or `read-only`, as the server writes it.
    pub state: Option<String>,
    /// Watches of all kinds.
    pub watches: Option<u64>,
    /// Connections, the one that asked included.
    pub connections: Option<u64>,
    /// Watch events that were sent; from 3.6.0, and only when none of the four is missing.
    pub fired: Option<WatchEventTotals>,
}

impl Monitor {
    /// Reads the answer to `mntr`: lines of a name, a tab and a value. Lines that it does not know are passed over.
    pub fn from_words(answer: &str) -> Self {
        // A line that was cut may hold half a number.
        let whole = answer.rfind('\n').map_or("", |end| &answer[..end]);
        let mut found = Self::default();
        let mut sums = Sums::default();
        for (name, value) in whole.lines().filter_map(|line| line.split_once('\t')) {
            let value = value.trim();
            match name {
                "zk_version" => found.version = Some(value.to_owned()),
                "zk_server_state" => found.state = Some(value.to_owned()),
                "zk_watch_count" => found.watches = value.parse().ok(),
                "zk_num_alive_connections" => found.connections = value.parse().ok(),
                _ => sums.take(name.trim_start_matches("zk_"), value.parse().ok()),
            }
        }
        found.fired = sums.complete();
        found
    }
}

/// The four totals, while they are being found.
#[derive(Debug, Default)]
pub(super) struct Sums {
    created: Option<u64>,
    deleted: Option<u64>,
    changed: Option<u64>,
    children: Option<u64>,
}

impl Sums {
    /// Takes a figure, if it is one of the four.
    pub(super) fn take(&mut self, name: &str, value: Option<u64>) {
        match name {
            "sum_node_created_watch_count" => self.created = value,
            "sum_node_deleted_watch_count" => self.deleted = value,
            "sum_node_changed_watch_count" => self.changed = value,
            "sum_node_children_watch_count" => self.children = value,
            _ => {}
        }
    }

    pub(super) fn complete(&self) -> Option<WatchEventTotals> {
        Some(WatchEventTotals {
            created: self.created?,
            deleted: self.deleted?,
            changed: self.changed?,
            children: self.children?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "zk_version\t3.8.0-x, built on 2024-12-29 17:54 UTC\nzk_server_state\tleader\n\
        zk_watch_count\t7\nzk_num_alive_connections\t3\nzk_cnt_node_children_watch_count\t2\n\
        zk_sum_node_created_watch_count\t1\nzk_sum_node_deleted_watch_count\t2\n\
        zk_sum_node_changed_watch_count\t3\nzk_sum_node_children_watch_count\t4\n";

    #[test]
    fn the_totals_of_watch_events_are_the_sums() {
        let monitor = Monitor::from_words(ANSWER);
        assert_eq!(monitor.fired, Some(WatchEventTotals { created: 1, deleted: 2, changed: 3, children: 4 }));
        assert_eq!((monitor.watches, monitor.connections), (Some(7), Some(3)));
        assert_eq!(monitor.state.as_deref(), Some("leader"));
    }

    #[test]
    fn a_number_that_may_be_cut_is_not_believed() {
        let cut = ANSWER.trim_end();
        assert_eq!(Monitor::from_words(cut).fired, None);
        assert_eq!(Monitor::from_words(cut).watches, Some(7));
    }

    #[test]
    fn a_server_that_started_anew_has_no_difference_to_before() {
        let some = WatchEventTotals { children: 4, ..WatchEventTotals::default() };
        assert_eq!(some.since(&WatchEventTotals::default()), Some(some));
        assert_eq!(WatchEventTotals::default().since(&some), None);
    }
}

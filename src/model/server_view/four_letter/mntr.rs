//! The answer to `mntr`.

use super::whole_lines;
use crate::server_view::Monitor;
use crate::server_view::figure::Figure;

/// Reads the answer to `mntr`: lines of a name, a tab and a value.
///
/// Unknown lines are ignored. A last line without its end is ignored too, since it may contain half
/// a number.
pub fn mntr(answer: &str) -> Monitor {
    let figures = whole_lines(answer).filter_map(|line| {
        let (name, value) = line.split_once('\t')?;
        let value = value.trim();
        // Limits texts to 200 characters: a server's version is no longer than a line.
        let text = Some(value.chars().take(200).collect());
        Some((name.strip_prefix("zk_")?, Figure { text, number: value.parse().ok(), decimal: value.parse().ok() }))
    });
    Monitor::collect(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::WatchEventTotals;

    const ANSWER: &str = "zk_version\t3.8.0-x, built on 2024-12-29 17:54 UTC\nzk_server_state\tleader\n\
        zk_watch_count\t7\nzk_num_alive_connections\t3\nzk_cnt_node_children_watch_count\t2\n\
        zk_sum_node_created_watch_count\t1\nzk_sum_node_deleted_watch_count\t2\n\
        zk_sum_node_changed_watch_count\t3\nzk_sum_node_children_watch_count\t4\n";

    #[test]
    fn the_totals_of_watch_events_are_the_sums() {
        let monitor = mntr(ANSWER);
        assert_eq!(monitor.fired, Some(WatchEventTotals { created: 1, deleted: 2, changed: 3, children: 4 }));
        assert_eq!((monitor.watches, monitor.connections), (Some(7), Some(3)));
        assert_eq!(monitor.state.as_deref(), Some("leader"));
    }

    #[test]
    fn a_number_that_may_be_truncated_does_not_count() {
        let cut = ANSWER.trim_end();
        assert_eq!(mntr(cut).fired, None);
        assert_eq!(mntr(cut).watches, Some(7));
    }

    #[test]
    fn a_real_answer_contains_the_figures() {
        let monitor = mntr(include_str!("../captures/standalone-mntr.txt"));
        assert_eq!(monitor.fired, Some(WatchEventTotals::default()));
        assert_eq!((monitor.watches, monitor.connections), (Some(6), Some(5)));
        assert_eq!(monitor.state.as_deref(), Some("standalone"));
    }
}

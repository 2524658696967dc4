//! Watch events per second, from the servers' own counts.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::monitor::WatchEventTotals;
use super::view::{Load, ServerView};
use lockscope_base::znode::Timestamp;

/// The length of the history, in seconds.
const KEPT: i64 = 60;

/// The watch events that the servers sent in the last minute, and the cost of asking for them.
///
/// A server reports only the number since it started, and is asked every few seconds. The events
/// between two answers are spread evenly over the seconds between them.
#[derive(Clone, Debug, Default)]
pub struct WatchEventRates {
    last: FxHashMap<String, (Timestamp, WatchEventTotals)>,
    /// Events in each second.
    sent: BTreeMap<i64, f64>,
    /// The newest second that every server has reported.
    reported: Option<i64>,
    /// The total cost of asking, as of each view of the last minute.
    loads: VecDeque<(Timestamp, Load)>,
}

impl WatchEventRates {
    /// Takes a view. Linear in the number of servers.
    pub fn add(&mut self, view: &ServerView) {
        self.loads.push_back((view.at, view.asked));
        while self.loads.front().is_some_and(|(at, _)| view.at.0 - at.0 > KEPT * 1000) {
            self.loads.pop_front();
        }
        for member in &view.members {
            let (Some(at), Some(totals)) = (member.counted_at, member.fired) else { continue };
            match self.last.insert(member.address.clone(), (at, totals)) {
                Some((before, earlier)) if before < at => {
                    if let Some(since) = totals.since(&earlier) {
                        self.spread(before, at, all(&since));
                    }
                }
                _ => {}
            }
        }
        let known = |address: &String| view.members.iter().any(|member| member.address == *address);
        self.last.retain(|address, _| known(address));
        self.reported = view.fired().and_then(|_| {
            let counted = view.members.iter().filter_map(|member| member.counted_at);
            counted.min().map(second)
        });
        let oldest = second(view.at) - KEPT;
        self.sent = self.sent.split_off(&oldest);
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure of a sparkline is rounded anyway")]
    fn spread(&mut self, from: Timestamp, to: Timestamp, events: u64) {
        let (first, last) = (second(from), second(to));
        // Older seconds are not kept.
        let first = first.max(last - KEPT);
        let seconds = (last - first).max(1);
        for at in last - seconds..last {
            *self.sent.entry(at).or_default() += events as f64 / seconds as f64;
        }
    }

    /// Returns the events in each of the last seconds that all servers reported, oldest first.
    /// `None` when not all servers report.
    pub fn seconds(&self) -> Option<Vec<f64>> {
        let end = self.reported?;
        Some((end - KEPT..end).map(|at| self.sent.get(&at).copied().unwrap_or(0.0)).collect())
    }

    /// Returns the cost of asking within at most the last minute, and the length of that time in
    /// milliseconds.
    pub fn recent_load(&self) -> Option<(Load, u64)> {
        let ((from, before), (to, after)) = (self.loads.front()?, self.loads.back()?);
        let during = u64::try_from(to.0 - from.0).ok().filter(|during| *during > 0)?;
        let load = Load {
            requests: after.requests.saturating_sub(before.requests),
            bytes: after.bytes.saturating_sub(before.bytes),
            time_ms: after.time_ms.saturating_sub(before.time_ms),
        };
        Some((load, during))
    }
}

fn second(at: Timestamp) -> i64 {
    at.0.div_euclid(1000)
}

fn all(totals: &WatchEventTotals) -> u64 {
    let WatchEventTotals { created, deleted, changed, children } = *totals;
    [deleted, changed, children].iter().fold(created, |sum, events| sum.saturating_add(*events))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::MemberView;

    fn view(at: i64, children: Option<u64>) -> ServerView {
        let fired = children.map(|children| WatchEventTotals { children, ..WatchEventTotals::default() });
        let counted_at = Some(Timestamp(at * 1000));
        let member = MemberView { counted_at, fired, ..MemberView::unasked("zk1:2181".to_owned()) };
        ServerView { at: Timestamp(at * 1000), members: vec![member], members_known: true, ..ServerView::default() }
    }

    /// Returns the sum of the events of the last minute.
    fn sum(fired: &WatchEventRates) -> i64 {
        let seconds = fired.seconds().expect("all servers report");
        seconds.iter().map(|events| format!("{events:.0}").parse::<i64>().expect("a number")).sum()
    }

    #[test]
    fn events_between_two_answers_are_spread_over_the_seconds_between_them() {
        let mut fired = WatchEventRates::default();
        fired.add(&view(100, Some(1000)));
        assert_eq!(sum(&fired), 0, "what it sent before we came is not of this minute");
        fired.add(&view(104, Some(1040)));
        let seconds = fired.seconds().unwrap();
        let shown: Vec<_> = seconds[seconds.len() - 5..].iter().map(|events| format!("{events:.1}")).collect();
        assert_eq!(shown, ["0.0", "10.0", "10.0", "10.0", "10.0"]);
        fired.add(&view(106, Some(7)));
        assert_eq!(sum(&fired), 40, "it started anew and counts from nothing");
    }

    #[test]
    fn a_server_that_does_not_report_makes_the_sum_unknown() {
        let mut fired = WatchEventRates::default();
        assert_eq!(fired.seconds(), None);
        fired.add(&view(100, None));
        assert_eq!(fired.seconds(), None);
    }

    #[test]
    fn seconds_older_than_a_minute_are_forgotten() {
        let mut fired = WatchEventRates::default();
        for at in 0..1000_u32 {
            fired.add(&view(at.into(), Some(at.into())));
        }
        assert!(fired.sent.len() <= 61 && fired.loads.len() <= 62, "{}", fired.sent.len());
    }
}

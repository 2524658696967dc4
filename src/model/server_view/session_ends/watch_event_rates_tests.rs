//! Tests of `watch event rates`.

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

//! Tests of stopped and killed processes, and of writes to the resource.

use super::*;
use lockscope_lock::activity::RequestKind;

const ONE: ClientId = ClientId(1);

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns a tally with one client of a chain that holds with that token, and keeps the trace.
fn holding(token: i64) -> Tally {
    let mut tally = Tally::new(Algorithm::Chain, None, OwnDeletions::default());
    tally.trace.keep(true);
    tally.joins(ONE, at(0));
    tally.asks(ONE, Access::Write, at(1));
    tally.acquires(ONE, Zxid(token), at(2));
    tally
}

fn taken(tally: &mut Tally) -> Vec<TraceStep> {
    tally.trace.take().0.iter().map(|entry| entry.step.clone()).collect()
}

#[test]
fn requests_of_a_stopped_process_count_when_it_goes_on_and_those_of_a_killed_one_never() {
    let sends = LockActivity::Sends(RequestKind::Read);
    let mut tally = holding(7);
    tally.freezes(ONE, at(3));
    tally.notes(ONE, sends.clone(), at(4));
    assert_eq!(tally.totals(Passed::default()).requests, 0);
    taken(&mut tally);
    tally.thaws(ONE, at(5));
    assert_eq!(taken(&mut tally), [TraceStep::Thaws, TraceStep::Sent(RequestKind::Read)]);
    assert_eq!(tally.totals(Passed::default()).requests, 1);
    tally.crashes(ONE, at(6));
    tally.notes(ONE, sends, at(7));
    tally.releases(ONE, false, at(8));
    assert_eq!(taken(&mut tally), [TraceStep::Crashes]);
    assert_eq!(tally.totals(Passed::default()).requests, 1);
}

#[test]
fn a_holder_that_knows_of_its_loss_writes_only_if_its_process_was_stopped() {
    for (knows, was_stopped, writes) in [(false, false, 2), (true, false, 1), (true, true, 2)] {
        let mut tally = holding(7);
        if was_stopped {
            tally.freezes(ONE, at(3));
            tally.thaws(ONE, at(4));
        }
        tally.releases(ONE, knows, at(5));
        assert_eq!(tally.resource().accepted, writes, "{knows} {was_stopped}");
    }
}

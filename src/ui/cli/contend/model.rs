//! The expected figures of a fleet whose clients contend without pauses, by the table of costs in
//! the documentation of [`lock`](lockscope_lock#costs).

use std::time::Duration;

use super::figures::per;
use lockscope_lab::contend::FleetOutcome;

/// Returns the most watch events per acquisition: in a herd one for every change and waiter, in
/// chains one for each watched predecessor. Returns `None` without an acquisition.
pub(super) fn events_at_most(outcome: &FleetOutcome) -> Option<f64> {
    let modelled = &outcome.watch_events;
    let each = |all: u64| (outcome.acquisitions > 0).then(|| per(all, outcome.acquisitions));
    match (outcome.recipe, outcome.clients) {
        ("herd", _) => each(modelled.modelled_herd),
        // A waiter watches one more node unless the head is its predecessor.
        ("chain-ahead", 3..) => each(modelled.modelled_chain).map(|events| 2.0 * events),
        _ => each(modelled.modelled_chain),
    }
}

/// Returns the most requests per acquisition: create, list and delete, plus one for each event of a
/// herd, or the watch and the listing of a chain. Returns `None` without an acquisition.
pub(super) fn requests_at_most(outcome: &FleetOutcome) -> Option<f64> {
    let events = events_at_most(outcome)?;
    Some(match (outcome.recipe, outcome.clients) {
        ("herd", _) => 3.0 + events,
        (_, 0..=1) => 3.0,
        // The predecessor is the head: no listing is needed when it is gone.
        (_, 2) => 4.0,
        ("chain-ahead", _) => 6.0,
        _ => 5.0,
    })
}

/// Returns the most acquisitions per second that the holds and link delays allow. Returns `None`
/// when these take no time, so that only the servers limit the rate.
pub(super) fn throughput(outcome: &FleetOutcome, hold: Duration, link_delay: Duration) -> Option<f64> {
    let round_trips = match (outcome.recipe, outcome.clients) {
        // A create, and later a delete, with no other waiter in between.
        (_, 0..=1) | ("herd", _) => 2,
        (_, 2) | ("chain-ahead", _) => 1,
        _ => 2,
    };
    let turn = hold + link_delay * 2 * round_trips;
    (!turn.is_zero()).then(|| 1.0 / turn.as_secs_f64())
}

/// Returns the wait of a client behind all others at the measured rate, in milliseconds. Returns
/// `None` without an acquisition, or without others.
pub(super) fn wait_ms(outcome: &FleetOutcome) -> Option<f64> {
    let others = f64::from(outcome.clients.saturating_sub(1));
    let is_known = others > 0.0 && outcome.acquisitions_per_second > 0.0;
    is_known.then(|| 1000.0 * others / outcome.acquisitions_per_second)
}

#[cfg(test)]
mod tests {
    use super::super::testing::outcome;
    use super::*;

    #[test]
    fn the_model_is_the_table_of_costs() {
        let of = |recipe, clients| {
            let outcome = outcome(recipe, clients);
            (
                events_at_most(&outcome).expect("acquisitions").round(),
                requests_at_most(&outcome).expect("acquisitions").round(),
            )
        };
        assert_eq!(of("herd", 10), (20.0, 23.0));
        assert_eq!((of("chain", 1).1, of("chain", 2).1), (3.0, 4.0));
        assert_eq!(of("chain", 10), (1.0, 5.0));
        assert_eq!(of("chain-ahead", 2), (1.0, 4.0));
        assert_eq!(of("chain-ahead", 10), (2.0, 6.0));
        let none = FleetOutcome { acquisitions: 0, acquisitions_per_second: 0.0, ..outcome("chain", 3) };
        assert_eq!((events_at_most(&none), requests_at_most(&none), wait_ms(&none)), (None, None, None));
    }

    #[test]
    fn a_hand_over_takes_the_hold_and_its_round_trips() {
        let millis = Duration::from_millis;
        let of = |recipe, clients| throughput(&outcome(recipe, clients), millis(10), millis(5));
        // Two round trips of 10 ms and a hold of 10 ms, or one round trip and the hold.
        assert_eq!(of("herd", 9).map(f64::round), Some(33.0));
        assert_eq!(of("chain", 9).map(f64::round), Some(33.0));
        assert_eq!(of("chain-ahead", 9).map(f64::round), Some(50.0));
        assert_eq!(of("chain", 2).map(f64::round), Some(50.0));
        assert_eq!(throughput(&outcome("chain", 9), Duration::ZERO, Duration::ZERO), None);
        assert_eq!(wait_ms(&outcome("chain-ahead", 25)).map(f64::round), Some(10.0));
        assert_eq!(wait_ms(&outcome("chain", 1)), None);
    }
}

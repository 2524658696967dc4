//! What a fleet should come to by the table of costs in the documentation of [`lock`](lockscope_lock#costs), when all its clients
//! contend without a pause.

use std::time::Duration;

use super::figures::per;
use lockscope_lab::contend::FleetOutcome;

/// Watch events an acquisition: of the herd every change for every waiter, of the chains one for each predecessor that is
/// watched. `None` without an acquisition.
pub(super) fn events(outcome: &FleetOutcome) -> Option<f64> {
    let modelled = &outcome.watch_events;
    let each = |all: u64| (outcome.acquisitions > 0).then(|| per(all, outcome.acquisitions));
    match (outcome.recipe, outcome.clients) {
        ("herd", _) => each(modelled.modelled_herd),
        // It watches one more node unless the head is its predecessor.
        ("chain-ahead", 3..) => each(modelled.modelled_chain).map(|events| 2.0 * events),
        _ => each(modelled.modelled_chain),
    }
}

/// Requests an acquisition: create, list and delete; and one for each event of a herd, or the watch and the listing of a chain.
/// `None` without an acquisition.
pub(super) fn requests(outcome: &FleetOutcome) -> Option<f64> {
    let events = events(outcome)?;
    Some(match (outcome.recipe, outcome.clients) {
        ("herd", _) => 3.0 + events,
        (_, 0..=1) => 3.0,
        // The predecessor is the head: no listing is needed when it goes.
        (_, 2) => 4.0,
        ("chain-ahead", _) => 6.0,
        _ => 5.0,
    })
}

/// The most acquisitions a second that the holds and the delays of the links leave room for. `None` where these take no time,
/// so that all of it is the servers' own.
pub(super) fn throughput(outcome: &FleetOutcome, hold: Duration, link_delay: Duration) -> Option<f64> {
    let round_trips = match (outcome.recipe, outcome.clients) {
        // Create, and later delete; nobody waits meanwhile.
        (_, 0..=1) | ("herd", _) => 2,
        (_, 2) | ("chain-ahead", _) => 1,
        _ => 2,
    };
    let turn = hold + link_delay * 2 * round_trips;
    (!turn.is_zero()).then(|| 1.0 / turn.as_secs_f64())
}

/// How long a client waits that has all others before it, at the measured pace, in milliseconds. `None` without an acquisition,
/// or without others.
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
            (events(&outcome).expect("acquisitions").round(), requests(&outcome).expect("acquisitions").round())
        };
        assert_eq!(of("herd", 10), (20.0, 23.0));
        assert_eq!((of("chain", 1).1, of("chain", 2).1), (3.0, 4.0));
        assert_eq!(of("chain", 10), (1.0, 5.0));
        assert_eq!(of("chain-ahead", 2), (1.0, 4.0));
        assert_eq!(of("chain-ahead", 10), (2.0, 6.0));
        let none = FleetOutcome { acquisitions: 0, acquisitions_per_second: 0.0, ..outcome("chain", 3) };
        assert_eq!((events(&none), requests(&none), wait_ms(&none)), (None, None, None));
    }

    #[test]
    fn a_hand_over_takes_the_hold_and_its_round_trips() {
        let millis = Duration::from_millis;
        let of = |recipe, clients| throughput(&outcome(recipe, clients), millis(10), millis(5));
        // Two round trips of 10 ms and a hold of as much, or one.
        assert_eq!(of("herd", 9).map(f64::round), Some(33.0));
        assert_eq!(of("chain", 9).map(f64::round), Some(33.0));
        assert_eq!(of("chain-ahead", 9).map(f64::round), Some(50.0));
        assert_eq!(of("chain", 2).map(f64::round), Some(50.0));
        assert_eq!(throughput(&outcome("chain", 9), Duration::ZERO, Duration::ZERO), None);
        assert_eq!(wait_ms(&outcome("chain-ahead", 25)).map(f64::round), Some(10.0));
        assert_eq!(wait_ms(&outcome("chain", 1)), None);
    }
}

//! The picture shows what happened: each watch event in flight is one of the trace, and in slow
//! motion each one of the trace travels once, in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{Flight, Grid, ReplayGap, RequestFlight, TraceReplay};
use crate::tui::testing::NOW;
use crate::tui::testing::stepped::SteppedFleet;
use lockscope_base::znode::{Timestamp, Zxid};
use lockscope_lab::contend::{ClientState, FleetStatus, RequestKind, Scenario, TraceStep, WatchPlace};
use lockscope_lock::{Access, Algorithm};

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Herd,
    Algorithm::Chain,
    Algorithm::ChainAhead,
    Algorithm::Mutex,
    Algorithm::SharedHerd(Access::Write),
    Algorithm::SharedChain(Access::Write),
];

/// An action between two statuses.
#[derive(Clone, Copy, Debug)]
enum Act {
    Step,
    Crash(u32),
    Expire(u32),
    Freeze(u32),
    Thaw(u32),
    Write(u32),
    Nothing,
}

fn act() -> impl Strategy<Value = Act> {
    let id = || 1..9_u32;
    prop_oneof![
        8 => Just(Act::Step),
        1 => id().prop_map(Act::Crash),
        1 => id().prop_map(Act::Expire),
        1 => id().prop_map(Act::Freeze),
        1 => id().prop_map(Act::Thaw),
        1 => id().prop_map(Act::Write),
        1 => Just(Act::Nothing),
    ]
}

fn carry_out(fleet: &mut SteppedFleet, act: Act) {
    match act {
        Act::Step => fleet.step(),
        Act::Crash(id) if fleet.clients.contains_key(&id) => {
            fleet.record(id, TraceStep::Crashes);
            let client = fleet.clients.get_mut(&id).unwrap();
            (client.state, client.token) = (ClientState::Crashed, None);
        }
        Act::Expire(id) if fleet.clients.get(&id).is_some_and(|it| it.state == ClientState::Crashed) => {
            fleet.expire(id);
        }
        Act::Freeze(id) | Act::Thaw(id) if fleet.clients.contains_key(&id) => {
            let stops = matches!(act, Act::Freeze(_));
            fleet.record(id, if stops { TraceStep::Freezes } else { TraceStep::Thaws });
            fleet.clients.get_mut(&id).unwrap().frozen = stops;
        }
        Act::Write(id) => fleet.write(id, Zxid(i64::from(40 + id))),
        _ => {}
    }
}

fn woken(status: &FleetStatus) -> impl Iterator<Item = (u32, WatchPlace)> {
    status.trace.iter().filter_map(|entry| match &entry.step {
        TraceStep::Woken(place) => Some((entry.client.0, place.clone())),
        _ => None,
    })
}

fn sent(status: &FleetStatus) -> impl Iterator<Item = (u32, RequestKind)> {
    status.trace.iter().filter_map(|entry| match entry.step {
        TraceStep::Sent(kind) => Some((entry.client.0, kind)),
        _ => None,
    })
}

/// Every flight seen so far, by its number.
#[derive(Default)]
struct Seen {
    events: BTreeMap<u64, Flight>,
    requests: BTreeMap<u64, RequestFlight>,
}

impl Seen {
    /// Looks at a replay: at what is in flight, and at what is drawn of it.
    fn show(&mut self, replay: &TraceReplay, now: Timestamp, size: (u16, u16)) {
        let grid = Grid::of(replay.picture(), size, 1);
        let flight_places = grid.flight_places(replay.picture(), replay.flying(), now);
        assert_eq!(flight_places.len(), replay.flying().len(), "each flight is drawn, and nothing else: {grid:?}");
        for (flight, flight_place) in replay.flying().iter().zip(flight_places) {
            assert_eq!(flight.number, flight_place.number);
            assert!(flight.start <= now && now <= flight.end, "{flight:?} at {now:?}");
            assert!(flight_place.x < size.0 && flight_place.y < size.1, "{flight_place:?}");
            let before = self.events.insert(flight.number, flight.clone());
            assert!(before.is_none_or(|before| before == *flight), "a flight stays what it is");
        }
        let request_places = grid.request_places(replay.picture(), replay.requests(), now);
        assert_eq!(request_places.len(), replay.requests().len(), "each request is drawn, and nothing else: {grid:?}");
        for (request, request_place) in replay.requests().iter().zip(request_places) {
            assert!(request.start <= now && now <= request.end, "{request:?} at {now:?}");
            assert!(request_place.x < size.0 && request_place.y < size.1, "{request_place:?}");
            let before = self.requests.insert(request.number, *request);
            assert!(before.is_none_or(|before| before == *request), "a request stays what it is");
        }
    }

    /// Returns the wake-ups in the order in which they were shown.
    fn in_order(&self) -> Vec<(u32, WatchPlace)> {
        let mut flights: Vec<&Flight> = self.events.values().collect();
        flights.sort_by_key(|flight| (flight.start, flight.number));
        flights.into_iter().map(|flight| (flight.to.0, flight.place.clone())).collect()
    }
}

fn fleet(algorithm: Algorithm, many: u32) -> SteppedFleet {
    let path = crate::testing::path("/lockscope/lock");
    SteppedFleet::new(Scenario::new(algorithm, path, many), many)
}

/// Shows everything due between two times, frame by frame.
fn pass(replay: &mut TraceReplay, seen: &mut Seen, (from, to): (Timestamp, Timestamp), size: (u16, u16)) {
    let mut now = from;
    while now < to {
        now = now.plus(Duration::from_millis(33)).min(to);
        replay.advance(now);
        seen.show(replay, now, size);
    }
}

#[test]
fn events_too_fast_for_the_eye_are_left_out_and_counted() {
    let mut fleet = fleet(Algorithm::Herd, 10);
    let mut replay = TraceReplay::default();
    replay.set_flight(Duration::from_secs(1));
    replay.add_status(&Arc::new(fleet.status()), NOW);
    let mut gap = None;
    for _ in 0..500 {
        fleet.step();
        replay.add_status(&Arc::new(fleet.status()), NOW);
        gap = gap.or(replay.gap());
    }
    assert!(matches!(gap, Some(ReplayGap::TooFast(events)) if events > 0), "{gap:?}");
}

#[test]
fn a_fleet_that_is_slowed_down_goes_on_from_its_last_status_at_full_speed() {
    let mut fleet = fleet(Algorithm::Herd, 10);
    let mut replay = TraceReplay::default();
    let at_full_speed = Arc::new(FleetStatus { stepped: false, trace: [].into(), ..fleet.status() });
    replay.add_status(&at_full_speed, NOW);
    assert!(!replay.advance(NOW), "nothing moves at full speed");
    let mut anew = TraceReplay::default();
    anew.add_status(&Arc::new(fleet.status()), NOW);
    assert_eq!(replay.picture(), anew.picture(), "who looks at full speed sees the same queue");
    fleet.step();
    let next = Arc::new(fleet.status());
    for replay in [&mut replay, &mut anew] {
        replay.add_status(&next, NOW);
        replay.advance(NOW.plus(Duration::from_millis(10)));
    }
    assert_eq!(replay.flying(), anew.flying());
    assert!(!replay.flying().is_empty(), "the first step wakes the herd on the screen too");
    assert_eq!(replay.picture(), anew.picture());
}

#[test]
fn after_unrecorded_entries_the_picture_starts_anew_and_says_so() {
    let mut fleet = fleet(Algorithm::Herd, 10);
    let mut replay = TraceReplay::default();
    replay.add_status(&Arc::new(fleet.status()), NOW);
    fleet.step();
    let status = FleetStatus { trace_missed: 5, ..fleet.status() };
    assert!(!status.trace.is_empty());
    replay.add_status(&Arc::new(status), NOW);
    assert_eq!((replay.gap(), replay.flying().len()), (Some(ReplayGap::NotRecorded(5)), 0));
    let mut anew = TraceReplay::default();
    anew.add_status(&Arc::new(fleet.status()), NOW);
    assert_eq!(replay.picture(), anew.picture());
    fleet.step();
    replay.add_status(&Arc::new(fleet.status()), NOW.plus(Duration::from_secs(1)));
    assert_eq!(replay.gap(), None, "with the next step all is there again");
}

#[test]
fn at_full_speed_nothing_travels() {
    let mut fleet = fleet(Algorithm::Herd, 10);
    let mut replay = TraceReplay::default();
    for millis in 0..50 {
        fleet.step();
        let status = FleetStatus { stepped: false, ..fleet.status() };
        replay.add_status(&Arc::new(status), NOW.plus(Duration::from_millis(millis * 100)));
        assert_eq!((replay.flying().len(), replay.next()), (0, None));
    }
}

#[test]
fn only_listings_of_woken_clients_travel_and_only_after_the_event_arrived() {
    let mut fleet = fleet(Algorithm::Herd, 8);
    let (mut replay, mut seen) = (TraceReplay::default(), Seen::default());
    replay.set_flight(Duration::from_secs(1));
    replay.add_status(&Arc::new(fleet.status()), NOW);
    fleet.step();
    let status = Arc::new(fleet.status());
    replay.add_status(&status, NOW);
    pass(&mut replay, &mut seen, (NOW, NOW.plus(Duration::from_secs(3))), (60, 20));
    let lists: Vec<(u32, RequestKind)> = seen.requests.values().map(|it| (it.client.0, it.kind)).collect();
    let expected: Vec<_> = sent(&status).filter(|(_, kind)| *kind == RequestKind::List).collect();
    assert_eq!((lists.len(), lists), (7, expected));
    for request in seen.requests.values() {
        let event = seen.events.values().find(|flight| flight.to == request.client).unwrap();
        assert!(event.end <= request.start, "{event:?}, then {request:?}");
    }
}

#[test]
fn the_figures_count_what_has_arrived() {
    let mut fleet = fleet(Algorithm::Herd, 8);
    let mut replay = TraceReplay::default();
    replay.set_flight(Duration::from_secs(1));
    replay.add_status(&Arc::new(fleet.status()), NOW);
    fleet.step();
    replay.add_status(&Arc::new(fleet.status()), NOW);
    assert_eq!((replay.step_counts().woken, replay.flying().len()), (0, 7), "on their way");
    replay.advance(NOW.plus(Duration::from_millis(999)));
    assert_eq!(replay.step_counts().woken, 0);
    replay.advance(NOW.plus(Duration::from_secs(3)));
    let counts = replay.step_counts();
    assert_eq!((counts.woken, counts.in_vain), (7, 6), "one of them got it");
    assert_eq!(replay.total_counts().woken, 7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_event_that_was_delivered_travels_once_and_in_order_and_no_other(
        algorithm in prop::sample::select(ALGORITHMS.to_vec()),
        many in 1..40_u32,
        acts in prop::collection::vec((act(), 0..2_500_u64), 1..25),
        flight in 50..1_000_u64,
        size in (20..80_u16, 3..30_u16),
    ) {
        let mut fleet = fleet(algorithm, many);
        let (mut replay, mut seen, mut now) = (TraceReplay::default(), Seen::default(), NOW);
        replay.set_flight(Duration::from_millis(flight));
        replay.add_status(&Arc::new(fleet.status()), now);
        let (mut delivered, mut asked) = (Vec::new(), Vec::new());
        for (act, millis) in acts {
            carry_out(&mut fleet, act);
            let status = Arc::new(fleet.status());
            delivered.extend(woken(&status));
            asked.extend(sent(&status));
            replay.add_status(&status, now);
            seen.show(&replay, now, size);
            let next = now.plus(Duration::from_millis(millis));
            pass(&mut replay, &mut seen, (now, next), size);
            now = next;
        }
        prop_assert_eq!(replay.gap(), None, "slow enough for an eye");
        while let Some(next) = replay.next() {
            let next = next.max(now.plus(Duration::from_millis(1)));
            pass(&mut replay, &mut seen, (now, next), size);
            now = next;
        }
        prop_assert_eq!(seen.in_order(), delivered);
        for (number, request) in &seen.requests {
            let (client, kind) = asked[usize::try_from(*number).unwrap()];
            prop_assert_eq!((request.client.0, request.kind), (client, kind), "a request of the trace");
        }
        // Once everything is shown, the picture equals the last status.
        let mut anew = TraceReplay::default();
        anew.add_status(&Arc::new(fleet.status()), now);
        let ids = |replay: &TraceReplay| -> Vec<_> {
            let rows = replay.picture().rows.iter();
            rows.filter(|row| matches!(row.id, super::RowId::Client(_))).map(|row| (row.id, row.state)).collect()
        };
        prop_assert_eq!(ids(&replay), ids(&anew));
        let totals = fleet.totals.clone();
        prop_assert_eq!(replay.total_counts().woken, totals.events);
    }
}

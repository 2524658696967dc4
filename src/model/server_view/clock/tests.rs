//! Tests of `clock`.

use super::*;
use crate::server_view::{ExpiryBounds, Listing, MemberView};
use lockscope_base::znode::SessionId;

#[test]
fn our_own_connection_shows_the_calendar_of_its_server() {
    let view = |made: i64| {
        let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid=0x1,est={made},to=4000,lresp=9)\n\n");
        let connections = crate::server_view::four_letter::cons(&line).with_session;
        let member = MemberView {
            connections: Some(Listing::new(connections, true, Timestamp(70_300))),
            answered_at: Some(Timestamp(70_400)),
            ..MemberView::unasked("zk1:2181".to_owned())
        };
        let (own_session, own_session_since) = (Some(SessionId(1)), Some(Timestamp(70_000)));
        ServerView { members: vec![member], own_session, own_session_since, ..ServerView::default() }
    };
    assert_eq!(view(10_100).clock_ahead(), Some((59_900, 60_300)));
    assert_eq!(view(80_000).clock_ahead(), Some((-10_000, -9_600)));
    assert_eq!(ServerView { own_session_since: None, ..view(10_100) }.clock_ahead(), None);
    assert_eq!(ServerView { own_session: Some(SessionId(2)), ..view(10_100) }.clock_ahead(), None);
}

fn session(id: i64, expiry: Expiry) -> ListedSession {
    ListedSession { id: SessionId(id), expiry, expires_at: None }
}

fn answered(last_response: i64) -> Vec<Connection> {
    let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid=0x1,lresp={last_response})\n\n");
    crate::server_view::four_letter::cons(&line).with_session
}

#[test]
fn the_newest_answer_ever_gives_the_servers_time_until_a_clock_is_set() {
    let mut clock = ServerClock::default();
    clock.learn(&answered(5_000), Timestamp(105_000));
    clock.learn(&answered(9_000), Timestamp(109_900));
    let mut silent = answered(5_000);
    clock.place(&mut silent, Timestamp(109_900));
    assert_eq!(silent[0].last_heard, Some(Timestamp(105_000)));

    clock.learn(&answered(10_000), Timestamp(9_999_999));
    assert_eq!(clock.ours(10_000), Some(Timestamp(9_999_999)), "our clock was set");
}

#[test]
fn a_restarted_member_that_has_answered_nobody_yet_teaches_no_time() {
    let mut clock = ServerClock::default();
    clock.learn(&answered(0), Timestamp(100_000));
    assert_eq!(clock, ServerClock::default());
    let mut moved = answered(0);
    clock.place(&mut moved, Timestamp(100_000));
    assert_eq!(moved[0].last_heard, None);

    clock.learn(&answered(9_000), Timestamp(101_000));
    assert_eq!(clock.ours(9_000), Some(Timestamp(101_000)));
    let known = clock;
    clock.learn(&answered(0), Timestamp(102_000));
    assert_eq!(clock, known);
}

#[test]
fn our_own_session_converts_dates_of_any_zone() {
    let mut sessions = [1, 2].map(|id| session(id, Expiry::Date { millis: id * 5_000, utc: false }));
    let anchor = ClockAnchor {
        session: SessionId(2),
        timeout: Duration::from_secs(30),
        connecting_since: Timestamp(999_000),
        asked: Timestamp(999_990),
        heard: Timestamp(1_000_000),
    };
    ServerClock::default().date(&mut sessions, Some(anchor), Timestamp(1_000_020));
    assert_eq!(sessions[0].expires_at, Some(Timestamp(1_025_000)));
}

/// Returns the bounds, by our clock, of a session's expiry after several rounds of answers.
///
/// The server has ticks of 200 ms. The session expires at `expires` by the server's monotonic
/// clock, which is 5 000 ms ahead of ours. The server's calendar is `calendar` ahead of that
/// clock.
fn bounds_of(expires: i64, calendar: i64, rounds: i64) -> Option<ExpiryBounds> {
    let date = |mono: i64| Expiry::Date { millis: (mono + calendar).div_euclid(1_000) * 1_000, utc: false };
    let mut clock = ServerClock::default();
    let mut found = None;
    for round in 0..rounds {
        let asked = 100_000 + round * 1_013;
        let mut connections = answered(asked + 5_003);
        connections[0].established = Some(Timestamp(104_950 + calendar.rem_euclid(ZONE_STEP_MS)));
        let own = ((asked + 5_002 + 30_000) / 200 + 1) * 200;
        let sessions = [session(1, date(own)), session(2, date(expires))];
        let (connecting_since, heard) = (Timestamp(99_920), Timestamp(asked + 6));
        let timeout = Duration::from_secs(30);
        let anchor = ClockAnchor { session: SessionId(1), timeout, connecting_since, asked: Timestamp(asked), heard };
        let at = Timestamp(asked + 20);
        clock.learn(&connections, at);
        let settings = ServerSettings::new(Duration::from_millis(200), Duration::from_millis(400));
        let ours = clock.of_expiries(&connections, &sessions, settings, Some(anchor), at);
        found = ours.and_then(|ours| ours.bounds(sessions[1].expiry));
    }
    found
}

#[test]
fn the_first_date_in_any_zone_is_known_to_little_more_than_a_second() {
    for calendar in [0, 400, 899_999, 3 * ZONE_STEP_MS + 77, -8 * ZONE_STEP_MS + 500] {
        for expires in [120_000, 120_200, 120_400, 120_800] {
            for rounds in [1, 5] {
                let found = bounds_of(expires, calendar, rounds).expect("the bounds are known");
                let truth = expires - 5_000;
                assert!(found.earliest.0 <= truth && truth <= found.latest.0, "{found:?} of {truth}");
                assert!(found.latest.0 - found.earliest.0 <= 1_250, "{found:?} {calendar}");
            }
        }
    }
}

/// Plays a round of answers by a leader that lists our session and another one that expires ten
/// seconds later. The leader heard of our requests until `counted`. Returns the best guess and
/// the bounds of the other session's expiry.
fn round_of_a_cut_off_session(clock: &mut ServerClock, asked: i64, counted: i64) -> (i64, ExpiryBounds) {
    let date = |millis: i64| Expiry::Date { millis: millis.div_euclid(1_000) * 1_000, utc: false };
    let timeout = Duration::from_secs(30);
    let own = (counted + 30_000).div_euclid(200) * 200 + 200;
    let mut sessions = [session(1, date(own)), session(2, date(120_000))];
    let (connecting_since, heard) = (Timestamp(90_000), Timestamp(asked + 6));
    let anchor = ClockAnchor { session: SessionId(1), timeout, connecting_since, asked: Timestamp(asked), heard };
    clock.date(&mut sessions, Some(anchor), Timestamp(asked + 20));
    let settings = ServerSettings::new(Duration::from_millis(200), Duration::from_millis(400));
    let ours = clock.of_expiries(&[], &sessions, settings, Some(anchor), Timestamp(asked + 20));
    let bounds = ours.and_then(|ours| ours.bounds(sessions[1].expiry)).expect("the bounds are known");
    (sessions[1].expires_at.expect("the expiry is known").0, bounds)
}

#[test]
fn a_leader_may_list_our_session_as_of_its_beginning() {
    let mut clock = ServerClock::default();
    // The leader heard of the beginning, but of none of the requests in the nine seconds since.
    let (_, bounds) = round_of_a_cut_off_session(&mut clock, 100_000, 91_000);
    let truth = Timestamp(120_000);
    assert!(bounds.earliest <= truth && truth <= bounds.latest, "{bounds:?}");
    // The leader hears of us again.
    let (_, bounds) = round_of_a_cut_off_session(&mut clock, 101_000, 101_000);
    assert!(bounds.earliest <= truth && truth <= bounds.latest, "{bounds:?}");
    assert!(bounds.latest.since(bounds.earliest) < Duration::from_secs(6), "{bounds:?}");
}

#[test]
fn requests_that_the_leader_does_not_hear_of_delay_no_expiry() {
    let mut clock = ServerClock::default();
    let before = round_of_a_cut_off_session(&mut clock, 100_000, 100_000);
    for round in 1..8 {
        let asked = 100_000 + round * 1_013;
        let found = round_of_a_cut_off_session(&mut clock, asked, 100_000);
        assert_eq!(found, before, "after {round} rounds");
    }
    // The leader is reachable again.
    let after = round_of_a_cut_off_session(&mut clock, 110_000, 110_000);
    assert!((after.0 - before.0).abs() <= 1_200, "{after:?} {before:?}");
}

#[test]
fn without_our_own_session_only_utc_dates_can_be_converted() {
    let expiries = [Expiry::Date { millis: 5, utc: false }, Expiry::Date { millis: 5, utc: true }];
    let mut sessions = expiries.map(|expiry| session(1, expiry));
    ServerClock::default().date(&mut sessions, None, Timestamp(0));
    assert_eq!(sessions.map(|session| session.expires_at), [None, Some(Timestamp(5))]);
}

/// Returns the connections of two clients, of which the first was answered.
fn connections(established: i64) -> Vec<Connection> {
    let line = |session: u8, made: i64, answered: i64| {
        format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid={session:#x},est={made},to=10000,lresp={answered})\n")
    };
    let answer = format!("{}{}\n", line(1, 5, 9), line(2, established, 0));
    crate::server_view::four_letter::cons(&answer).with_session
}

fn heard(first: &mut FirstListed, mut connections: Vec<Connection>, at: i64) -> Option<i64> {
    first.place(&mut connections, Timestamp(at));
    connections.last()?.last_heard.map(|heard| heard.0)
}

#[test]
fn an_unanswered_connection_was_heard_when_it_was_first_listed() {
    let mut first = FirstListed::default();
    assert_eq!(heard(&mut first, connections(70), 1_000), Some(1_000));
    assert_eq!(heard(&mut first, connections(70), 2_000), Some(1_000), "it was not heard since");
    assert_eq!(heard(&mut first, connections(71), 3_000), Some(3_000), "a new connection of the session");
    first.forget();
    assert_eq!(heard(&mut first, connections(71), 4_000), Some(4_000), "the server was away");
    let gone = connections(71).into_iter().take(1).collect();
    assert_eq!(heard(&mut first, gone, 5_000), None, "the answered connection is not placed here");
    assert_eq!(heard(&mut first, connections(71), 6_000), Some(6_000), "it came anew");
}

#[test]
fn a_server_that_reports_no_times_at_all_proves_nothing() {
    let mut first = FirstListed::default();
    let unreported = || connections(70).into_iter().skip(1).collect::<Vec<_>>();
    assert_eq!(heard(&mut first, unreported(), 1_000), None);
    assert_eq!(heard(&mut first, connections(70), 2_000), Some(1_000), "now it does");
    assert_eq!(heard(&mut first, unreported(), 3_000), Some(1_000));
}

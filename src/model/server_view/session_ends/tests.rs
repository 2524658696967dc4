//! Tests of the ledger, at single looks and at random lives.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

use super::*;
use crate::server_view::listing::ListedConnection;
use crate::server_view::{Expiry, MemberExtras, Provenance, ServerMode, ServerSettings, SessionTiming};

const TICK_MS: i64 = 2_000;

/// How far the server's monotonic clock is ahead of ours, in milliseconds.
const AHEAD_MS: i64 = 7_000_123;

/// The survey's own session.
const OWN: SessionId = SessionId(99);

/// The answers of a leader that lists sessions, each with its expiry by our clock. It was asked from `at` on, for 20 ms.
#[derive(Clone, Debug)]
struct Answers {
    at: i64,
    sessions: BTreeMap<i64, i64>,
    count: Option<u64>,
    connected: i64,
}

impl Answers {
    fn new(at: i64, sessions: impl IntoIterator<Item = (i64, i64)>, count: u64) -> Self {
        Self { at, sessions: sessions.into_iter().collect(), count: Some(count), connected: 5 }
    }

    fn view(&self) -> ServerView {
        let own = ListedConnection {
            session: OWN,
            client: "10.0.0.1:7".to_owned(),
            timeout_ms: Some(30_000),
            established: Some(self.connected),
            last_operation: None,
            last_cxid: None,
            last_zxid: None,
            last_response: None,
            received: 1,
            sent: 1,
        };
        let listed = self.sessions.iter().map(|(id, expires)| ListedSession {
            id: SessionId(*id),
            expiry: Expiry::Monotonic { millis: expires + AHEAD_MS },
            expires_at: None,
        });
        let clock = ExpiryClock { ahead: (AHEAD_MS - 5, AHEAD_MS + 5), calendar: None, tick_ms: Some(TICK_MS) };
        let at = Timestamp(self.at);
        let leader = MemberView {
            mode: Some(ServerMode::Leader),
            answered_at: Some(at.plus(Duration::from_millis(20))),
            connections: Some(Listing::new(vec![own.into()], true, at)),
            sessions: Some(Listing::new(listed.collect(), true, at)),
            timing: SessionTiming {
                clock: Some(clock),
                settings: ServerSettings::new(Duration::from_secs(2), Duration::from_secs(4)),
            },
            extras: MemberExtras { expired_sessions: self.count, ..MemberExtras::default() },
            ..MemberView::unasked("zk1:2181".to_owned())
        };
        ServerView { at, members: vec![leader], members_known: true, own_session: Some(OWN), ..ServerView::default() }
    }
}

/// Returns the sessions that are claimed to have expired after each of these views.
fn claims(views: &[ServerView]) -> Vec<Vec<i64>> {
    let mut ledger = EndLedger::default();
    let claim = |pair: &[ServerView]| ledger.look(&pair[0], &pair[1]).iter().map(|one| one.session.0).collect();
    views.windows(2).map(claim).collect()
}

/// Looks at a leader whose sessions 1 and 2 run out at 10 000, and of which only 3 is left then.
fn looks(count: [u64; 2]) -> [Answers; 3] {
    let all = [(1, 10_000), (2, 10_000), (3, 60_000)];
    [
        Answers::new(8_000, all, count[0]),
        Answers::new(9_000, all, count[0]),
        Answers::new(10_100, [(3, 60_000)], count[1]),
    ]
}

fn views(looks: &[Answers]) -> Vec<ServerView> {
    looks.iter().map(Answers::view).collect()
}

/// Returns the last claims about the usual looks with a difference.
fn but(differs: impl FnOnce(&mut [ServerView])) -> Vec<i64> {
    let mut views = views(&looks([4, 6]));
    differs(&mut views);
    claims(&views).pop().expect("there are looks")
}

#[test]
fn sessions_that_went_as_many_as_were_counted_expired() {
    assert_eq!(but(|_| {}), [1, 2]);
    assert_eq!(claims(&views(&looks([4, 4])))[1], [0; 0], "both closed");
    assert_eq!(claims(&views(&looks([4, 5])))[1], [0; 0], "one of the two");
    assert_eq!(claims(&views(&looks([4, 7])))[1], [0; 0], "a third expired, which is not known");
    assert_eq!(claims(&views(&looks([4, 0])))[1], [0; 0], "the server counts anew");
}

#[test]
fn a_session_whose_time_is_not_over_is_not_counted() {
    let [first, second, mut third] = looks([4, 6]);
    third.sessions.clear();
    assert_eq!(claims(&views(&[first, second, third]))[1], [1, 2], "3 closed");
}

#[test]
fn a_late_count_settles_at_the_next_look() {
    let [first, second, third] = looks([4, 5]);
    let missing = Answers { count: None, ..third.clone() };
    let fourth = Answers { at: 11_100, count: Some(6), ..third.clone() };
    for third in [third, missing] {
        assert_eq!(claims(&views(&[first.clone(), second.clone(), third, fourth.clone()]))[1..], [vec![], vec![1, 2]]);
    }
}

#[test]
fn a_count_that_does_not_match_twice_tells_nothing_of_the_sessions_before() {
    let [first, second, third] = looks([4, 5]);
    let [fourth, fifth] = [11_100, 12_100].map(|at| Answers { at, ..third.clone() });
    let fifth = Answers { count: Some(6), ..fifth };
    assert_eq!(claims(&views(&[first, second, third, fourth, fifth])).concat(), [0; 0], "one of 1 and 2 closed");
}

#[test]
fn sessions_wait_ten_seconds_for_a_count() {
    for (looks_without, claimed) in [(9, vec![1, 2]), (12, vec![])] {
        let [first, second, third] = looks([4, 6]);
        let mut all = vec![first, second];
        let without =
            (0..looks_without).map(|look| Answers { at: third.at + 1_000 * look, count: None, ..third.clone() });
        all.extend(without);
        all.push(Answers { at: third.at + 1_000 * looks_without, ..third });
        assert_eq!(claims(&views(&all)).concat(), claimed, "{looks_without}");
    }
}

#[test]
fn a_count_that_may_include_a_listed_session_waits() {
    let [first, second, mut third] = looks([4, 7]);
    third.sessions.insert(7, 10_115);
    let [first, second] = [first, second].map(|mut look| {
        look.sessions.insert(7, 10_115);
        look
    });
    let fourth = Answers { at: 11_100, sessions: [(3, 60_000)].into(), ..third.clone() };
    assert_eq!(claims(&views(&[first, second, third, fourth]))[1..], [vec![], vec![1, 2, 7]]);
}

#[test]
fn the_first_count_waits_until_no_expiry_can_be_half_counted() {
    let [_, second, third] = looks([4, 5]);
    let fourth = Answers { at: 11_100, sessions: [].into(), count: Some(6), ..third.clone() };
    assert_eq!(claims(&views(&[second, third, fourth])).concat(), [0; 0]);
}

#[test]
fn another_process_counts_for_itself() {
    assert_eq!(but(|views| views[2] = Answers { connected: 6, ..looks([4, 6])[2].clone() }.view()), [0; 0]);
    assert_eq!(but(|views| views[2].members[0].address = "zk2:2181".to_owned()), [0; 0]);
    assert_eq!(but(|views| views[2].own_session = None), [0; 0], "nothing tells that it is the same");
    let former =
        |view: &mut ServerView| view.members.push(MemberView { address: "zk2:2181".into(), ..view.members[0].clone() });
    assert_eq!(but(|views| former(&mut views[2])), [0; 0], "two servers keep the sessions");
}

#[test]
fn answers_that_prove_nothing_and_looks_too_far_apart_tell_no_expiry() {
    assert_eq!(but(|views| views[2].members[0].provenance = Provenance::PlainBesideTls), [0; 0]);
    assert_eq!(but(|views| views[1].members[0].timing.clock = None), [0; 0]);
    assert_eq!(but(|views| views[1].members[0].timing.settings = None), [0; 0]);
    let late = |views: &mut [ServerView]| views[2] = Answers { at: 13_000, ..looks([4, 6])[2].clone() }.view();
    assert_eq!(but(late), [0; 0], "a session of four seconds came and went between");
    assert_eq!(but(|views| views[2].members[0].sessions.as_mut().expect("a list").whole = false), [0; 0]);
}

/// How a client's session ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Closes,
    FallsSilent,
    /// Falls silent, and closes the session so many milliseconds before it would expire.
    ClosesLate(i64),
}

#[derive(Clone, Debug)]
struct Life {
    begins: i64,
    timeout: i64,
    lasts: i64,
    ending: Ending,
    /// How many milliseconds after the tick the server removes the session, and counts it.
    late: (i64, i64),
}

impl Life {
    /// Returns the time of the last heartbeat at or before a time.
    fn heard(&self, at: i64) -> i64 {
        let beat = self.timeout / 3;
        let until = at.min(self.begins + self.lasts);
        self.begins + (until - self.begins) / beat * beat
    }

    /// Returns the expiry that the server lists at a time.
    fn expiry(&self, at: i64) -> i64 {
        ((self.heard(at) + self.timeout + AHEAD_MS).div_euclid(TICK_MS) + 1) * TICK_MS - AHEAD_MS
    }

    /// Returns when the session goes from the list, and when it is counted if it expires.
    fn end(&self) -> (i64, Option<i64>) {
        let expires = self.expiry(i64::MAX);
        match self.ending {
            Ending::Closes => (self.begins + self.lasts, None),
            Ending::ClosesLate(before) => (expires - before, None),
            Ending::FallsSilent => (expires + self.late.0, Some(expires + self.late.0 + self.late.1)),
        }
    }
}

fn life() -> impl Strategy<Value = Life> {
    let ending = prop_oneof![
        8 => Just(Ending::Closes),
        6 => Just(Ending::FallsSilent),
        1 => (10..1_500_i64).prop_map(Ending::ClosesLate)
    ];
    let timeout = prop::sample::select(vec![4_000_i64, 6_000, 10_000, 40_000]);
    (0..100_000_i64, timeout, 0..30_000_i64, ending, (0..4_i64, 0..5_i64))
        .prop_map(|(begins, timeout, lasts, ending, late)| Life { begins, timeout, lasts, ending, late })
}

/// A look, after a pause of at most `longest` milliseconds: how long the list and then the count took,
/// and whether the server answers the latter.
fn look(longest: i64) -> impl Strategy<Value = (i64, i64, i64, bool)> {
    (
        prop_oneof![50 => 950..1_300_i64, 5 => 1_300..3_900_i64, 1 => 1_300..longest],
        1..8_i64,
        0..8_i64,
        prop::bool::weighted(0.95),
    )
}

/// Returns the views of a server by somebody who asks for the count when a session went, in the looks
/// after it, and now and then.
fn look_at(lives: &[Life], looks: &[(i64, i64, i64, bool)]) -> Vec<ServerView> {
    let (mut at, mut before, mut lost, mut views) = (0, BTreeSet::new(), 0, Vec::new());
    for (number, (pause, list, count, answers)) in looks.iter().enumerate() {
        at += pause;
        let (listed, counted) = (at + list, at + list + count);
        let standing = lives.iter().enumerate().filter(|(_, life)| life.begins <= listed && listed < life.end().0);
        let sessions: BTreeMap<i64, i64> =
            standing.map(|(id, life)| (i64::try_from(id).expect("few"), life.expiry(listed))).collect();
        let expired = lives.iter().filter(|life| life.end().1.is_some_and(|at| at <= counted)).count() as u64;
        let ids: BTreeSet<i64> = sessions.keys().copied().collect();
        if before.difference(&ids).next().is_some() {
            lost = number;
        }
        let wanted = number % 5 == 0 || number - lost < 4;
        before = ids;
        views.push(Answers { at, sessions, count: Some(expired).filter(|_| wanted && *answers), connected: 5 }.view());
    }
    views
}

fn number(session: SessionId) -> usize {
    usize::try_from(session.0).expect("the number of a life")
}

/// Returns the claims of somebody who also sees the nodes of the sessions go.
fn claims_with_nodes(lives: &[Life], views: &[ServerView]) -> Vec<usize> {
    let mut ledger = EndLedger::default();
    let mut claimed = Vec::new();
    for pair in views.windows(2) {
        claimed.extend(ledger.look(&pair[0], &pair[1]));
        claimed.extend(ledger.settle(|gone| {
            let went = lives[number(gone.session)].end().0;
            went >= gone.at.earliest.0 && went <= gone.at.latest.0 + 1_000
        }));
    }
    claimed.into_iter().map(|expired| number(expired.session)).collect()
}

/// Plays random lives. Returns the numbers of ends, expiries, and found expiries; no claim is false.
fn play(longest_pause: i64) -> [usize; 3] {
    let figures = [const { Cell::new(0) }; 3];
    let config = ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    };
    let worlds = (prop::collection::vec(life(), 0..200), prop::collection::vec(look(longest_pause), 150));
    let ran = TestRunner::new(config).run(&worlds, |(lives, looks)| {
        let claimed = claims_with_nodes(&lives, &look_at(&lives, &looks));
        for id in &claimed {
            prop_assert!(lives[*id].end().1.is_some(), "{id}: {:?}", lives[*id]);
        }
        let last: i64 = looks.iter().map(|(pause, ..)| pause).sum();
        let over = lives.iter().filter(|life| life.end().0 < last - 2_000);
        let expired = over.clone().filter(|life| life.end().1.is_some());
        for (figure, count) in figures.iter().zip([over.count(), expired.count(), claimed.len()]) {
            figure.set(figure.get() + count);
        }
        Ok(())
    });
    ran.expect("no claim is false");
    figures.map(Cell::into_inner)
}

#[test]
fn no_claim_is_false_however_long_the_pauses_are() {
    let [ends, expired, found] = play(8_000);
    println!("of {ends} ends, {expired} were expiries; {found} were found");
    assert!(ends >= 20_000 && found >= expired / 2, "{found} of {expired}, of {ends} ends");
}

#[test]
fn nearly_all_expiries_are_found_when_the_looks_are_closer_than_the_shortest_timeout() {
    let [_, expired, found] = play(3_900);
    assert!(found * 100 >= expired * 95, "{found} of {expired}");
}

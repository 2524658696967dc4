//! Random requests of several sessions. Both servers must give the same answers, and send the same
//! events in the same order.
//!
//! `LOCKSCOPE_CASES` sets the number of sequences instead of [`CASES`].

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::pair::{Pair, compare};
use super::side::Side;
use crate::harness::raw::{ANYONE, Request as R, Watches};

/// The number of sequences in an ordinary run.
const CASES: u32 = 60;

/// The maximum number of requests in a sequence.
const LENGTH: usize = 60;

const SESSIONS: usize = 3;

/// Returns one of a few paths below the case's own node, so that the requests conflict.
fn path() -> impl Strategy<Value = String> {
    let names = prop_oneof![
        8 => Just(""), 12 => Just("/a"), 12 => Just("/b"), 10 => Just("/a/x"), 6 => Just("/a/y"), 4 => Just("/a/x/deep"),
        4 => Just("/n-0000000000"), 4 => Just("/n-0000000001"), 2 => Just("/n-0000000003"), 1 => Just("/"), 1 => Just("/a//b"),
    ];
    names.prop_map(|name| format!("/random{name}"))
}

fn version() -> impl Strategy<Value = i32> {
    prop_oneof![6 => Just(-1), 3 => 0..4, 1 => Just(-2)]
}

fn data() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![1 => Just(None), 1 => Just(Some(Vec::new())), 4 => vec(any::<u8>(), 1..40).prop_map(Some)]
}

fn acls() -> impl Strategy<Value = Vec<(i32, &'static str, &'static str)>> {
    prop_oneof![
        12 => Just(vec![ANYONE]),
        1 => Just(Vec::new()),
        1 => Just(vec![(31, "auth", "")]),
        1 => Just(vec![(1, "world", "anyone"), (31, "digest", "ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM=")]),
        1 => (0..32).prop_map(|permissions| vec![(permissions, "world", "anyone")]),
        1 => Just(vec![(31, "nobody", "x")]),
    ]
}

fn create() -> impl Strategy<Value = R> {
    let names = prop_oneof![6 => path(), 4 => Just("/random/n-".to_owned()), 2 => Just("/random/a/n-".to_owned())];
    let flags = prop_oneof![6 => Just(0), 4 => Just(1), 2 => Just(2), 6 => Just(3), 1 => 4..8];
    let op = prop_oneof![6 => Just(1), 6 => Just(15), 1 => Just(19), 1 => Just(21)];
    (op, names, data(), acls(), flags).prop_map(|(op, path, data, acls, flags)| {
        if op == 21 {
            // The TTL is never short enough to expire, and always valid for the operation.
            R::create_ttl(&path, if flags < 5 { 5 } else { flags }, 600_000)
        } else {
            R::create_as(op, &path, data.as_deref(), &acls, flags)
        }
    })
}

fn write() -> impl Strategy<Value = R> {
    prop_oneof![
        8 => create(),
        6 => (path(), version()).prop_map(|(path, version)| R::delete(&path, version)),
        5 => (path(), data(), version()).prop_map(|(path, data, version)| R::set_data(&path, data.as_deref(), version)),
    ]
}

fn read(watch: impl Strategy<Value = bool>) -> impl Strategy<Value = R> {
    (0..4, path(), watch).prop_map(|(kind, path, watch)| match kind {
        0 => R::exists(&path, watch),
        1 => R::get_data(&path, watch),
        2 => R::get_children(&path, watch),
        _ => R::get_children2(&path, watch),
    })
}

fn watching() -> impl Strategy<Value = R> {
    let lists = (path(), path(), path(), path(), 0..4_i64);
    prop_oneof![
        4 => (path(), 0..3).prop_map(|(path, mode)| R::add_watch(&path, mode)),
        2 => (path(), 0..5).prop_map(|(path, kind)| R::remove_watches(&path, kind)),
        1 => (path(), 0..5).prop_map(|(path, kind)| R::check_watches(&path, kind)),
        1 => lists.prop_map(|(one, two, three, four, size)| {
            let [one, two, three, four] = [&*one, &*two, &*three, &*four];
            let persistent: &[&str] = if size > 1 { &[four] } else { &[] };
            let watches = Watches { data: &[one, two], exist: &[three], child: &[two], persistent, recursive: &[] };
            // The client has seen either everything or nothing.
            R::set_watches(if size % 2 == 0 { 0 } else { i64::MAX }, watches)
        }),
    ]
}

fn other() -> impl Strategy<Value = R> {
    let in_multi =
        prop_oneof![6 => write(), 1 => (path(), version()).prop_map(|(path, version)| R::check(&path, version))];
    let in_read = (path(), any::<bool>(), any::<bool>())
        .prop_map(|(path, list, watch)| if list { R::get_children(&path, watch) } else { R::get_data(&path, watch) });
    prop_oneof![
        4 => vec(in_multi, 0..6).prop_map(|all| R::multi(&all)),
        1 => vec(in_read, 0..4).prop_map(|all| R::multi_read(&all)),
        2 => (path(), acls(), version()).prop_map(|(path, acls, version)| R::set_acl(&path, &acls, version)),
        1 => path().prop_map(|path| R::get_acl(&path)),
        1 => path().prop_map(|path| R::sync(&path)),
        1 => path().prop_map(|path| R::get_all_children_number(&path)),
        1 => path().prop_map(|path| R::get_ephemerals(&path)),
        1 => Just(R::auth("digest", "ann:secret")),
        1 => Just(R::who_am_i()),
    ]
}

/// The next step of a session.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize, R),
    /// The session ends, and another one takes its place.
    Renew(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let watch = prop::bool::weighted(0.7);
    let request = prop_oneof![10 => write(), 8 => read(watch), 4 => watching(), 4 => other()];
    prop_oneof![40 => (0..SESSIONS, request).prop_map(|(session, request)| Step::Ask(session, request)), 1 => (0..SESSIONS).prop_map(Step::Renew)]
}

/// Plays all steps, and reports after each one what every session receives. Nothing is left at the
/// end.
fn play(port: u16, steps: &[Step]) -> Vec<String> {
    let mut side = Side::new(port, SESSIONS + 1);
    side.ask(SESSIONS, &R::create("/random", 0));
    for step in steps {
        match step {
            Step::Ask(session, request) => {
                side.ask(*session, request);
            }
            Step::Renew(session) => side.renew(*session),
        }
        for session in 0..SESSIONS {
            match step {
                Step::Ask(..) => side.events(session),
                Step::Renew(_) => side.events_in_any_order(session),
            }
        }
    }
    side.zxid(SESSIONS);
    side.raze("/random");
    side.report
}

#[test]
fn random_requests_are_answered_alike() {
    let cases = std::env::var("LOCKSCOPE_CASES").map_or(CASES, |cases| cases.parse().expect("a number"));
    let config = Config { cases, max_shrink_iters: 400, failure_persistence: None, ..Config::default() };
    let pair = Pair::shared();
    let tried = TestRunner::new(config).run(&vec(step(), 1..LENGTH), |steps| {
        let [real, sandbox] = pair.ports().map(|port| play(port, &steps));
        compare(&real, &sandbox);
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}

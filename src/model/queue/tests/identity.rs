//! A client stays identified after its connection is gone, until its node is deleted, and in the
//! events about it.

use std::sync::Arc;
use std::time::Duration;

use crate::queue::sessions::MAX_DEPARTED;
use crate::queue::{Change, ClientIdentity, LockEvent};
use crate::server_view::{Connection, Listing, MemberView, ServerView, WatchedPath};
use crate::testing::fixture::TableFixture;
use crate::testing::path;
use lockscope_base::recipe::{Definition, LockKind, Recipe};
use lockscope_base::znode::{SessionId, Timestamp};

fn connection(session: i64) -> Connection {
    Connection {
        session: SessionId(session),
        client: format!("10.0.0.{session}:4000"),
        timeout_ms: Some(10_000),
        established: Some(Timestamp(500)),
        last_operation: Some("CREA".to_owned()),
        last_cxid: Some(7),
        last_zxid: None,
        last_response: None,
        last_heard: None,
        received: 1,
        sent: 1,
    }
}

/// Surveys the servers, which list the connections of these sessions.
fn survey(fixture: &mut TableFixture, sessions: impl IntoIterator<Item = i64>) -> Timestamp {
    survey_watched(fixture, sessions, Vec::new())
}

/// Does the same as `survey`, with the watches.
fn survey_watched(
    fixture: &mut TableFixture,
    sessions: impl IntoIterator<Item = i64>,
    watched: Vec<WatchedPath>,
) -> Timestamp {
    fixture.now = fixture.now.plus(Duration::from_secs(1));
    let at = fixture.now;
    let connections = sessions.into_iter().map(connection).collect();
    let member = MemberView {
        connections: Some(Listing::new(connections, true, at)),
        watched: Some(Listing::new(watched, true, at)),
        ..MemberView::unasked("zk1:2181".to_owned())
    };
    let view = ServerView { at, members: vec![member], members_known: true, ..ServerView::default() };
    fixture.apply(Change::Surveyed { view: Arc::new(view) });
    at
}

fn named(name: &str, session: i64, last_listed: Option<Timestamp>) -> ClientIdentity {
    ClientIdentity {
        given: None,
        name: Some(name.into()),
        address: Some(format!("10.0.0.{session}:4000").into()),
        last_listed,
        session: Some(SessionId(session)),
        unread: false,
    }
}

/// Returns how many sessions without a contender are remembered.
fn departed() -> i64 {
    i64::try_from(MAX_DEPARTED).expect("a small number")
}

#[test]
fn a_client_of_a_server_that_does_not_answer_is_not_said_to_be_gone() {
    let mut fixture = TableFixture::new();
    fixture.create("/l/lock-", 7);
    survey(&mut fixture, [7]);
    let silent = MemberView::unasked("zk1:2181".to_owned());
    let view = ServerView { at: fixture.now, members: vec![silent], members_known: true, ..ServerView::default() };
    fixture.apply(Change::Surveyed { view: Arc::new(view) });
    assert!(fixture.table.clients().last_connection(SessionId(7)).is_none(), "nobody knows where it is");
    let client = fixture.table.clients().identity(SessionId(7));
    assert_eq!((client.address.as_deref(), client.last_listed), (Some("10.0.0.7:4000"), None), "and it has its name");
    survey(&mut fixture, []);
    let last = fixture.table.clients().last_connection(SessionId(7)).expect("the session is remembered");
    assert!(last.last_listed.is_some(), "now its server says that it is gone");
}

#[test]
fn a_client_whose_connection_is_gone_is_named_by_its_last_address() {
    let mut fixture = TableFixture::new();
    let node = fixture.create("/l/lock-", 7);
    fixture.write(&node, b"worker-3");
    fixture.apply(fixture.observed(&node));
    let listed = survey(&mut fixture, [7, 8]);
    assert_eq!(fixture.table.clients().identity(SessionId(7)), named("worker-3", 7, None));
    survey(&mut fixture, [8]);
    survey(&mut fixture, [8]);
    let (lock, position) = fixture.table.position(&node).expect("the node is in the queue");
    let contender =
        fixture.table.lock(lock).and_then(|lock| lock.row(position)).expect("the lock has the contender").contender;
    assert_eq!(fixture.table.clients().identity_of(contender), named("worker-3", 7, Some(listed)));
    let last = fixture.table.clients().last_connection(SessionId(7)).expect("the session is remembered");
    assert_eq!((last.connection, last.server), (&connection(7), "zk1:2181"));

    let gone = fixture.delete(&node);
    assert_eq!((gone[0].event, &gone[0].client), (LockEvent::Released, &named("worker-3", 7, Some(listed))));
    assert_eq!(
        fixture.table.clients().identity(SessionId(7)),
        named("worker-3", 7, Some(listed)),
        "it is remembered for a while"
    );
    assert_eq!(fixture.table.clients().identity(SessionId(8)).name, None);
}

#[test]
fn a_client_that_comes_back_is_named_by_its_new_address() {
    let mut fixture = TableFixture::new();
    fixture.create("/l/lock-", 7);
    survey(&mut fixture, [7]);
    survey(&mut fixture, []);
    assert!(fixture.table.clients().identity(SessionId(7)).last_listed.is_some());
    survey(&mut fixture, [7]);
    assert_eq!(fixture.table.clients().identity(SessionId(7)).last_listed, None);
}

#[test]
fn a_contender_is_named_by_its_own_data_before_that_of_its_sessions_other_nodes() {
    let mut fixture = TableFixture::new();
    for (at, name) in [("/a/lock-", "thread-1"), ("/b/lock-", "thread-2"), ("/c/lock-", "{}")] {
        let node = fixture.put_numbered(at, 7);
        fixture.write(&node, name.as_bytes());
        fixture.apply(fixture.observed(&node));
    }
    let name = |at: &str| {
        let lock =
            fixture.table.find(&path(at), None).and_then(|id| fixture.table.lock(id)).expect("the lock is there");
        fixture.table.clients().identity_of(lock.first_holder().expect("a holder")).name
    };
    assert_eq!(["/a", "/b", "/c"].map(name), ["thread-1", "thread-2", "thread-2"].map(|name| Some(name.into())));
}

#[test]
fn a_node_is_named_alike_everywhere_though_its_session_has_another_name() {
    let mut fixture = TableFixture::new();
    let nodes = [("/a/lock-", "w-0"), ("/b/lock-", "app-0")].map(|(at, name)| {
        let node = fixture.put_numbered(at, 7);
        fixture.write(&node, name.as_bytes());
        fixture.apply(fixture.observed(&node));
        node
    });
    let id = fixture.table.find(&path("/a"), None).expect("the lock is there");
    let name = |node: &str| fixture.table.identity_at(id, node, SessionId(7)).name;
    assert_eq!(name(nodes[0].name()), Some("w-0".into()));
    assert_eq!(fixture.table.identity_of_holder(id, SessionId(7)).name, Some("w-0".into()));
    assert_eq!(name("gone-0000000000"), Some("app-0".into()), "of a node that is gone only the session is known");
    assert!(fixture.table.stands(id, nodes[0].name()) && !fixture.table.stands(id, "gone-0000000000"));
    fixture.delete(&nodes[0]);
    assert!(!fixture.table.stands(id, nodes[0].name()));
}

#[test]
fn only_the_last_sessions_without_a_contender_are_remembered() {
    let mut fixture = TableFixture::new();
    let keeps = fixture.create("/l/lock-", 1);
    let sessions = 2..=departed() + 12;
    for session in sessions.clone() {
        let node = fixture.create("/l/lock-", session);
        fixture.delete(&node);
    }
    assert_eq!(fixture.table.clients.sessions.len(), MAX_DEPARTED + 1);
    survey(&mut fixture, [1].into_iter().chain(sessions));
    survey(&mut fixture, []);
    let known = |session| fixture.table.clients().last_connection(SessionId(session)).is_some();
    assert!(known(1), "it has a contender");
    assert_eq!([2, 12, 13, departed() + 12].map(known), [false, false, true, true]);
    fixture.delete(&keeps);
    assert_eq!(fixture.table.clients.sessions.len(), MAX_DEPARTED);
}

#[test]
fn a_session_that_contends_again_is_not_forgotten() {
    let mut fixture = TableFixture::new();
    let first = fixture.create("/l/lock-", 1);
    fixture.delete(&first);
    fixture.create("/l/lock-", 1);
    for session in 2..=departed() + 5 {
        let node = fixture.create("/l/lock-", session);
        fixture.delete(&node);
    }
    survey(&mut fixture, [1]);
    survey(&mut fixture, []);
    assert!(fixture.table.clients().last_connection(SessionId(1)).is_some());
}

/// Returns the watches of these sessions on a single-node lock.
fn watching(at: &str, sessions: impl IntoIterator<Item = i64>) -> Vec<WatchedPath> {
    vec![WatchedPath { path: path(at), sessions: sessions.into_iter().map(SessionId).collect() }]
}

#[test]
fn a_session_that_only_watches_a_single_node_is_remembered_too() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/controller", Some(1));
    let listed = survey_watched(&mut fixture, [1, 7, 8], watching("/controller", [7]));
    survey(&mut fixture, [1]);
    assert_eq!(
        fixture.table.clients().identity(SessionId(7)),
        ClientIdentity { name: None, ..named("", 7, Some(listed)) },
        "it waited there"
    );
    assert!(fixture.table.clients().last_connection(SessionId(8)).is_none(), "it neither held nor waited");
}

#[test]
fn watching_sessions_count_among_those_without_a_contender() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/controller", Some(1));
    let waiting = 2..=departed() + 12;
    survey_watched(&mut fixture, waiting.clone(), watching("/controller", waiting));
    assert_eq!(fixture.table.clients.sessions.len(), MAX_DEPARTED + 1);
    // Sessions that still wait are forgotten last.
    survey_watched(&mut fixture, [20, 21], watching("/controller", [20]));
    for session in 1..departed() {
        let node = fixture.create("/l/lock-", 100_000 + session);
        fixture.delete(&node);
    }
    survey(&mut fixture, [20, 21]);
    survey(&mut fixture, []);
    let known = |session| fixture.table.clients().last_connection(SessionId(session)).is_some();
    assert_eq!([20, 21].map(known), [true, false]);
}

#[test]
fn an_owner_is_named_by_the_key_of_its_recipe() {
    let own = Recipe::define(Definition {
        name: "named-json".to_owned(),
        pattern: "job-{sequence}".to_owned(),
        kind: LockKind::Exclusive,
        roles: Vec::new(),
        lock: true,
        persistent: false,
        below: None,
        leases: None,
        name_from: Some("spec.host".to_owned()),
    });
    let mut fixture = TableFixture::new();
    fixture.table = fixture.table.clone().with_recipes(&[own.expect("a recipe")]);
    let vitess = "{\n  \"Action\": \"Orc Recovery\",\n  \"HostName\": \"vtorc-0\",\n  \"Options\": {},\n  \"Status\": \"Running\"\n}";
    let cut = format!("{{\"spec\": {{\"host\": \"worker-3\"}}, \"rest\": \"{}\"}}", "x".repeat(5000));
    for (session, before, data, name) in [
        (1, "/v/keyspaces/ks/shards/0/locks", vitess, Some("vtorc-0")),
        (2, "/l/job", "{\"spec\": {\"host\": \"worker-3\"}}", Some("worker-3")),
        (3, "/l/job", "worker-4", Some("worker-4")),
        (4, "/l/job", "{\"spec\": {\"host\": 5}}", None),
        (5, "/l/job", "{\"spec\": {\"host\": \"a\u{1b}[2J\"}}", None),
        (6, "/l/job", "{\"spec\": [\"host\"]}", None),
        (7, "/l/job", &*"[".repeat(4000), None),
        (8, "/l/job", &*cut, None),
        (9, "/l/lock", "{\"spec\": {\"host\": \"worker-3\"}}", None),
    ] {
        let mark = if before.ends_with("locks") { "/" } else { "-" };
        let node = fixture.put(&format!("{before}{mark}{session:010}"), Some(session));
        fixture.write(&node, data.as_bytes());
        fixture.apply(fixture.observed(&node));
        assert_eq!(fixture.table.clients().identity(SessionId(session)).name.as_deref(), name, "{data}");
    }
}

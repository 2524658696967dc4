//! Silent clients are found before they expire, and clients that send heartbeats are never called
//! silent.

use std::time::Duration;

use lockscope_base::znode::ZnodePath;
use lockscope_model::diagnose::{Code, OwnerState, Severity, TableAt, Thresholds};
use serde_json::Value;
use tokio::time::Instant;

use crate::failures::fixture::{ConsoleFixture, now};
use crate::failures::forgotten::{curator, enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::{signal, zk};
use crate::headless::program::{lockscope, run};

/// The session timeout of a client that falls silent: half of it must be long enough for some
/// surveys.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The number of surveys with healthy clients.
const SURVEYS: usize = 20;

/// Lets kazoo hold in one process and wait in another.
pub async fn kazoo_holds_and_waits(server: &Server, lock: &str) -> (Foreign, Foreign, String) {
    let (mut holder, mut waiter) = (Foreign::kazoo(&server.connect_string()), Foreign::kazoo(&server.connect_string()));
    holder.connect_within("a", TIMEOUT).await;
    waiter.connect_within("b", TIMEOUT).await;
    holder.start("a", "first", "lock", lock).await;
    let node = holder.held("first").await;
    waiter.start("b", "second", "lock", lock).await;
    (holder, waiter, format!("{lock}/{node}"))
}

fn silence(fixture: &ConsoleFixture, node: &str) -> Option<lockscope_model::server_view::Silence> {
    let (id, position) = fixture.table.position(&ZnodePath::new(node).expect("a path"))?;
    let lock = fixture.table.lock(id)?;
    TableAt::new(&fixture.table, now()).facts(lock, &lock.row(position)?).silence
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_falls_silent_is_found_before_it_expires() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let (holder, _waiter, node) = kazoo_holds_and_waits(&server, "/lock").await;
    fixture.until_contenders(2).await;
    fixture.until("a live owner", |fixture| fixture.owner_state(&node) == OwnerState::Live).await;
    signal::send(holder.pid(), "STOP");
    let stopped = Instant::now();
    fixture.until("its silence", |fixture| fixture.owner_state(&node) == OwnerState::Silent).await;
    let seen = silence(&fixture, &node).expect("it is silent");
    assert_eq!(seen.timeout, TIMEOUT);
    assert!(seen.lasted(now()) >= TIMEOUT / 2, "{seen:?}");
    assert!(seen.lasted(now()) + seen.left(now()) == TIMEOUT, "{seen:?}");
    assert!(stopped.elapsed() < TIMEOUT, "it expires soon: {:?}", stopped.elapsed());
    let found = fixture.finds_within(&[0, 0], Code::SilentHolder, Severity::Warning).await;
    assert!(found.summary.contains("no heartbeat for 1"), "{}", found.summary);

    let shot = run(lockscope(&["snapshot", "--connect", &server.connect_string()])).await.json();
    let contender = &shot["locks"][0]["contenders"][0];
    let millis = |field: &str| contender[field].as_u64().unwrap_or_else(|| panic!("no {field} in {contender}"));
    assert_eq!((&contender["liveness"], &contender["state"]), (&Value::from("silent"), &Value::from("holds")));
    assert!((10_000..=20_000).contains(&millis("silent_ms")) && millis("expires_in_ms") <= 10_000, "{contender}");

    signal::send(holder.pid(), "CONT");
    fixture.until("its return", |fixture| fixture.owner_state(&node) == OwnerState::Live).await;
    fixture.clears(Code::SilentHolder).await;
    assert_eq!(silence(&fixture, &node), None);
}

/// The session timeout of clients whose connections are cut, and how often that happens.
const CUT_TIMEOUT: Duration = Duration::from_secs(6);
const CUTS: usize = 5;

/// A session that has just moved to a connection was answered nothing there yet, which is no silence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_whose_connections_are_cut_every_four_seconds_are_never_called_silent() {
    let server = Server::start();
    let at = server.connect_string();
    let mut fixture = ConsoleFixture::start(&at, Thresholds::default()).await;
    let relays = [Relay::start(&at).await, Relay::start(&at).await];
    let [mut holder, mut waiter] = [0, 1].map(|client: usize| Foreign::kazoo(&relays[client].connect_string()));
    let session = holder.connect_within("a", CUT_TIMEOUT).await;
    waiter.connect_within("b", CUT_TIMEOUT).await;
    holder.start("a", "first", "lock", "/lock").await;
    holder.held("first").await;
    waiter.start("b", "second", "lock", "/lock").await;
    fixture.until_contenders(2).await;
    let mut unanswered = 0;
    for _ in 0..CUTS {
        let cut = Instant::now();
        for relay in &relays {
            fixture.during(relay.cut()).await;
        }
        while cut.elapsed() < Duration::from_secs(4) {
            fixture.surveys(1).await;
            let connection = fixture.table.view().connection_of(session).map(|(_, connection)| connection);
            unanswered += usize::from(connection.is_some_and(|connection| connection.last_response.is_none()));
        }
    }
    fixture.looks_on(&[0]).await;
    assert!(unanswered > 0, "no view came between a new connection and its first answer");
    let of_silence = |code: Code| matches!(code, Code::SilentHolder | Code::ExpiringHolder);
    let raised: Vec<_> = fixture.raised.iter().filter(|finding| of_silence(finding.code)).collect();
    assert!(raised.is_empty(), "{raised:#?}");
    holder.quit().await;
    waiter.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_that_send_heartbeats_are_never_called_silent() {
    let server = Server::start();
    let at = server.connect_string();
    let mut fixture = ConsoleFixture::start(&at, Thresholds::default()).await;
    let mut clients = Vec::new();
    let mut watches = Vec::new();
    for (number, seconds) in [6, 9, 12, 20, 30, 40].into_iter().enumerate() {
        let client = zk::connect_within(&at, Duration::from_secs(seconds)).await;
        zk::make(&client, [format!("/{seconds}")]).await;
        let path = format!("/{seconds}");
        let head = enqueue(&client, &curator(&path, u32::try_from(number).expect("few"))).await;
        let waiter = zk::connect_within(&at, Duration::from_secs(seconds)).await;
        enqueue(&waiter, &curator(&path, 100)).await;
        watches.push(watch(&waiter, &head).await);
        clients.extend([client, waiter]);
    }
    let (mut kazoo, mut java) = (Foreign::kazoo(&at), Foreign::java(&at));
    for (seconds, name) in [(6, "short"), (15, "longer")] {
        kazoo.connect_within(name, Duration::from_secs(seconds)).await;
        kazoo.start(name, name, "lock", &format!("/kazoo-{name}")).await;
        kazoo.held(name).await;
        java.connect_within(name, Duration::from_secs(seconds)).await;
        java.start(name, name, "mutex", &format!("/curator-{name}")).await;
        java.held(name).await;
    }
    fixture.until_contenders(16).await;
    // Other requests reach the server too.
    let asked = std::sync::atomic::AtomicBool::new(true);
    let goes_on = || asked.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while goes_on() {
                server.words("cons");
                server.words("dump");
            }
        });
        let looking = async {
            for _ in 0..SURVEYS {
                fixture.surveys(1).await;
                for (lock, position) in fixture.table.locks().flat_map(|lock| (0..lock.len()).map(move |at| (lock, at)))
                {
                    let row = lock.row(position).expect("it is there");
                    let facts = TableAt::new(&fixture.table, now()).facts(lock, &row);
                    assert_ne!(facts.owner, OwnerState::Silent, "{} {:?}", lock.path_of(row.contender), facts);
                }
            }
        };
        let runtime = tokio::runtime::Handle::current();
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tokio::task::block_in_place(|| runtime.block_on(looking));
        }));
        asked.store(false, std::sync::atomic::Ordering::Relaxed);
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(!fixture.raised.iter().any(|finding| finding.code == Code::SilentHolder));
    kazoo.quit().await;
    java.quit().await;
}

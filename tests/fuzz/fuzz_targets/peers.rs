//! Checks that whatever a server answers and sends, in any order and cut anywhere, an observer and a
//! deletion end in their time, without a panic, and within a bound of memory.
//!
//! Everything is real but the server: the client library, the port between, the observer, the
//! execution. They run on one thread over loopback. The time of all but the library stands still while
//! anything happens, and is advanced when all wait: a timeout costs a few milliseconds. The timers of
//! the library take as long as ever. They are seldom waited for.

#![no_main]

mod heap;
mod peer_answers;
mod scripted_peer;

use std::sync::Once;
use std::thread;
use std::time::Duration;

use lockscope_base::wire::op;
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_live::admin::{
    Action, DeletePlan, Ending, Examine, IntentLog, NodeOutcome, Permission, PlannedNode, execute_over, find_guards,
};
use lockscope_live::observe::{ObserveOptions, Observer, STOP_TIMEOUT};
use lockscope_live::zk::{ConnectOptions, SessionRole, connect};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, advance, sleep, sleep_until, timeout};

use heap::Heap;
use scripted_peer::{PATHS, ScriptedPeer};

#[global_allocator]
static HEAP: Heap = Heap;

/// The most memory that one input may take, in bytes. The longest input asks for far less than what
/// the observer may hold.
const MAX_TAKEN: usize = 48 << 20;

/// The most memory that an input may leave behind: tables of the process that grow once.
const MAX_LEFT: usize = 4 << 20;

const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// The time limit of a deletion, as the console sets it.
const PATIENCE: Duration = Duration::from_secs(15);

/// The longest observation.
const HORIZON: Duration = Duration::from_secs(15);

/// The most changes that the observer holds.
const BACKLOG: usize = 200;

/// What is handled in one go may come on top.
const MAX_BEHIND: usize = BACKLOG + 20_000;

const NOW: Timestamp = Timestamp(1_714_574_467_250);

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [kind, script @ ..] = input else { return };
    PAIRED.call_once(|| runtime(false).block_on(pair()));
    fastrand::seed(7);
    let before = heap::start();
    runtime(true).block_on(run(*kind, script));
    let (peak, after) = heap::taken();
    assert!(peak.saturating_sub(before) < MAX_TAKEN, "the input took {peak} bytes");
    assert!(after.saturating_sub(before) < MAX_LEFT, "the input left {after} bytes of {before}");
});

/// The program pairs once with the library, which takes time of the clock.
static PAIRED: Once = Once::new();

async fn pair() {
    let (_, address) = ScriptedPeer::start(0, &[]).await;
    connect(&options(address)).await.expect("a session");
}

fn runtime(is_paused: bool) -> Runtime {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(is_paused).build();
    built.expect("a runtime")
}

fn options(connect: String) -> ConnectOptions {
    ConnectOptions {
        connect,
        session_timeout: SESSION_TIMEOUT,
        role: SessionRole::Console,
        auth: Vec::new(),
        tls: None,
        kerberos: None,
    }
}

/// How long nothing happens before time passes, and how much passes then at first and at most. The
/// thread that sleeps meanwhile keeps the clock from advancing by itself.
const IDLE: Duration = Duration::from_micros(100);
const STEPS: (Duration, Duration) = (Duration::from_millis(40), Duration::from_millis(500));

/// How long the library may take to connect again, by the clock, before much time passes.
const RECONNECTS: Duration = Duration::from_millis(7);

/// Lets time pass while nothing happens at the server. Never ends.
async fn pass_time(peer: &ScriptedPeer) {
    let mut step = STEPS.0;
    let (mut seen, mut since) = (0, std::time::Instant::now());
    loop {
        spawn_blocking(|| thread::sleep(IDLE)).await.expect("no panic");
        let now = peer.activity();
        if now == seen {
            advance(step).await;
            if peer.is_connected() || since.elapsed() > RECONNECTS {
                step = (step * 2).min(STEPS.1);
            }
        } else {
            (seen, since, step) = (now, std::time::Instant::now(), STEPS.0);
        }
    }
}

/// Runs one input. Of its first byte, the two lowest bits are for the server, the others for the
/// client.
async fn run(kind: u8, script: &[u8]) {
    let (peer, address) = ScriptedPeer::start(kind, script).await;
    let connection = options(if kind & 132 == 128 { format!("{address}/locks") } else { address });
    let work = async {
        if kind & 4 == 0 {
            observe(&peer, connection, kind).await;
            assert!(peer.state().writes.is_empty(), "an observer wrote");
        } else {
            delete(&peer, connection, kind).await;
        }
    };
    tokio::select! {
        biased;
        () = pass_time(&peer) => {}
        () = work => {}
    }
}

async fn observe(peer: &ScriptedPeer, connection: ConnectOptions, kind: u8) {
    let roots = if kind & 136 == 0 { vec![path("/locks")] } else { Vec::new() };
    let options = ObserveOptions {
        connection,
        roots,
        named: Vec::new(),
        recipes: Vec::new(),
        expected: Vec::new(),
        clients: Vec::new(),
        max_backlog: BACKLOG,
    };
    let mut table = options.table();
    let mut observer = Observer::start(options);
    let horizon = Instant::now() + HORIZON;
    let mut is_over = false;
    while !is_over {
        tokio::select! {
            changes = observer.next() => {
                is_over = changes.is_none();
                for observed in changes.into_iter().flatten() {
                    table.apply(observed.change, observed.at);
                }
            }
            () = peer.done.notified() => is_over = true,
            () = sleep_until(horizon) => is_over = true,
        }
        let behind = observer.changes_behind();
        assert!(behind < MAX_BEHIND, "{behind} changes wait");
        if kind & 16 != 0 {
            sleep(Duration::from_millis(700)).await;
        }
        is_over |= Instant::now() > horizon;
    }
    let began = Instant::now();
    observer.stop().await;
    assert!(began.elapsed() <= STOP_TIMEOUT + 2 * STEPS.1, "the observer takes long to end");
}

async fn delete(peer: &ScriptedPeer, connection: ConnectOptions, kind: u8) {
    let Some(plan) = plan(kind) else { return };
    let began = Instant::now();
    let connected = connect(&connection).await;
    assert!(began.elapsed() <= 3 * SESSION_TIMEOUT, "connecting takes long");
    let Ok(client) = connected else { return };
    let plan = match timeout(PATIENCE, find_guards(&client, plan.clone())).await {
        Ok(Ok(guarded)) => guarded,
        _ => plan,
    };
    let began = Instant::now();
    let outcomes = execute_over(client, &Permission::unchecked(), &plan, &mut NoLog, PATIENCE, &mut SeesNoChange).await;
    let most = (PATIENCE + Duration::from_secs(3)) * u32::try_from(plan.nodes().len()).expect("a few");
    assert!(began.elapsed() <= most, "the deletion takes long");
    check(peer, &plan, &outcomes);
}

/// Panics if something was written that was not planned, or is reported as deleted that was not.
fn check(peer: &ScriptedPeer, plan: &DeletePlan, outcomes: &[NodeOutcome]) {
    let writes = peer.state().writes.clone();
    let is_planned = |path: &str| plan.nodes().iter().any(|node| path.ends_with(node.path.as_str()));
    let is_above = |path: &str| plan.nodes().iter().any(|node| path.ends_with(node.path.parent_str().unwrap_or("/")));
    for (operation, path) in &writes {
        let is_right = match *operation {
            op::DELETE => plan.action() == Action::Delete && is_planned(path),
            op::SET_DATA => is_planned(path) || is_above(path),
            _ => false,
        };
        assert!(is_right, "{operation} of {path}");
    }
    assert_eq!(outcomes.len(), plan.nodes().len());
    for outcome in outcomes {
        let sent = |wanted| writes.iter().any(|(op, path)| *op == wanted && path.ends_with(outcome.path.as_str()));
        match outcome.ending {
            Ending::Deleted { .. } | Ending::DeletedOther => assert!(sent(op::DELETE), "{}", outcome.path),
            Ending::Asked => assert!(sent(op::SET_DATA), "{}", outcome.path),
            _ => {}
        }
        assert!(!outcome.sentence().is_empty());
    }
}

/// Plans to delete one node, several nodes, or to ask an owner.
fn plan(kind: u8) -> Option<DeletePlan> {
    let mut table = LockTable::new([path(PATHS[4])]);
    let connected = Change::Connection(ConnectionState::Connected { session: SessionId(9), recursive: true });
    table.apply(connected, NOW);
    table.apply(Change::Syncing, NOW);
    for (czxid, name) in (3..).zip(&PATHS[2..5]) {
        let stat = ZnodeStat::of_new(Zxid(czxid), NOW, Some(SessionId(7)));
        let stat = ZnodeStat { data_length: 8, ..stat };
        table.apply(Change::Seen { path: path(name), node: Node { stat, data: NodeData::keep(b"10.0.0.1") } }, NOW);
    }
    table.apply(Change::Synced, NOW);
    let (names, asks) = match kind >> 3 & 3 {
        0 => (&PATHS[2..3], false),
        1 => (&PATHS[4..5], false),
        2 => (&PATHS[2..4], false),
        _ => (&PATHS[3..4], true),
    };
    let paths: Vec<ZnodePath> = names.iter().map(|name| path(name)).collect();
    let plan = DeletePlan::of(&TableAt::new(&table, NOW), &paths).expect("the nodes contend for a lock");
    if asks { plan.revocation() } else { Some(plan) }
}

fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).expect("a valid path")
}

/// A log that is not kept.
struct NoLog;

impl IntentLog for NoLog {
    type Intent = ();

    async fn intend(&mut self, _: Action, _: &PlannedNode) -> Result<(), String> {
        Ok(())
    }

    async fn conclude(&mut self, (): (), _: &NodeOutcome) -> Result<(), String> {
        Ok(())
    }
}

/// An examination to which all facts are still true.
struct SeesNoChange;

impl Examine for SeesNoChange {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        Ok(Some(node.clone()))
    }
}

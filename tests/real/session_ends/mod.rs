//! Compares how sessions end according to lockscope with the servers' transaction log: definite
//! claims are true, and on three members nearly all expiries are named.
//!
//! `LOCKSCOPE_SESSION_ENDS=100000` makes the tests run for this many transactions, about 100 a
//! second, instead of a few seconds. The figures are printed with `--nocapture`.

mod storm;
mod transaction_log;
mod witness;

use std::path::Path;
use std::time::Duration;

use lockscope_live::zk::survey::ViewBy;

use self::storm::{LOCKS, Storm, StormPlan};
use self::transaction_log::{Fate, TransactionLog};
use self::witness::{Witness, recorded, replayed};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope};
use crate::server_view::ensemble::with_admin;

/// The variable with the number of transactions, which replaces the tests' own.
const WANTED: &str = "LOCKSCOPE_SESSION_ENDS";

/// The ratio of lives to transactions: a life takes three or four.
const LIVES: (u32, u32) = (2, 7);

/// The default of servers.
const TICK: Duration = Duration::from_secs(2);

/// Of 100 expiries on three members, at most this many are not named: in a long storm, and in a short
/// one of some thirty expiries, during which a busy machine delays the servers' answers.
const MAX_UNNAMED: (usize, usize) = (5, 25);

fn are_enough((named, of): (usize, usize)) -> bool {
    let most = if wanted().is_some() { MAX_UNNAMED.0 } else { MAX_UNNAMED.1 };
    of - named <= of * most / 100
}

fn wanted() -> Option<u32> {
    std::env::var(WANTED).ok().map(|count| count.parse().expect("a number of transactions"))
}

/// Runs the storm to its end while the witnesses observe. Returns the log.
async fn look_on(plan: StormPlan, data: &Path, witnesses: &mut [Witness]) -> TransactionLog {
    println!("seed {}, {} lives", plan.seed, plan.lives);
    let storm = tokio::task::spawn_blocking(move || Storm::run(plan));
    while !storm.is_finished() {
        witnesses.iter_mut().for_each(Witness::take_now);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    storm.await.expect("the storm ends by itself");
    let log = eventually("a log in which no session of the storm lives", async || {
        let log = TransactionLog::read(data);
        let of_storm = log.standing.keys().filter(|path| path.starts_with("/locks/")).count();
        if of_storm == 0 { Ok(log) } else { Err(of_storm) }
    })
    .await;
    for witness in witnesses {
        eventually("an end of each node", async || {
            witness.take_now();
            let missing: Vec<&String> = log.ended.keys().filter(|path| witness.claim_of(path).is_none()).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{}: {missing:?}", witness.name())) }
        })
        .await;
    }
    let expired = log.ended.values().filter(|ended| ended.fate == Fate::Expired).count();
    println!("{} transactions, {} nodes went, {expired} by expiries", log.transactions, log.ended.len());
    assert!(expired * 10 >= log.ended.len(), "{expired} of {} sessions expired", log.ended.len());
    log
}

/// Creates the locks, and contenders of another lock until all witnesses observe.
async fn begin(connect: &str, witnesses: &mut [Witness]) {
    let client = zk::connect(connect).await;
    zk::make(&client, (0..LOCKS).map(|lock| format!("/locks/lock-{lock}")).chain(["/probe".to_owned()])).await;
    eventually("a probe that is printed by all", async || {
        let wish = [("/probe/lock-".to_owned(), Vec::new())];
        zk::create_all(&client, zookeeper_client::CreateMode::EphemeralSequential, wish).await;
        witnesses.iter_mut().for_each(Witness::take_now);
        let blind: Vec<_> = witnesses.iter().filter(|witness| !witness.sees()).map(Witness::name).collect();
        if blind.is_empty() { Ok(()) } else { Err(blind) }
    })
    .await;
}

/// Starts a recorder.
fn record(store: &Path, connect: &str) -> Running {
    let store = store.to_str().expect("a path");
    Running::start(lockscope(&["record", "--store", store, "--connect", connect, "--server-view", "words"]))
}

/// Starts `watch` by words and by AdminServer.
fn watch_both(connect: &str, admin_url: &str) -> Vec<Witness> {
    let watch = ["watch", "--format", "json", "--connect", connect, "--server-view"];
    vec![
        Witness::start("words", &[&watch[..], &["words"]].concat()),
        Witness::start("http", &[&watch[..], &["http", "--admin-url", admin_url]].concat()),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definite_claims_about_ends_match_the_transaction_log() {
    let admin = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let server = Settings::default()
        .tick(TICK)
        .line("minSessionTimeout=1000")
        .line("admin.enableServer=true")
        .line("admin.serverAddress=127.0.0.1")
        .line(&format!("admin.serverPort={admin}"))
        .start();
    let (at, url) = (server.connect_string(), format!("http://HOST:{admin}/commands"));
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db");
    let mut witnesses = watch_both(&at, &url);
    let blind = ["watch", "--format", "json", "--connect", &at, "--server-view", "off"];
    witnesses.push(Witness::start("off", &blind));
    let recorder = record(&store, &at);
    begin(&at, &mut witnesses).await;
    let plan = StormPlan {
        servers: vec![([127, 0, 0, 1], server.port()).into()],
        timeouts_ms: vec![1_500, 3_000, 8_000, 20_000],
        // Enough for each combination of ending and timeout.
        lives: wanted().unwrap_or(1_800) / LIVES.1 * LIVES.0,
        pause: Duration::from_millis(33),
        seed: fastrand::u64(..),
    };
    let log = look_on(plan, &server.folder().join("data"), &mut witnesses).await;
    recorder.signal("TERM");
    recorder.ended().await;

    witnesses.push(replayed(&store).await);
    let wrong: Vec<String> = witnesses.iter().flat_map(|witness| witness.judge(&log, TICK)).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definite_claims_about_ends_match_the_log_of_three_members() {
    let ensemble = Ensemble::with(&["tickTime=2000", "minSessionTimeout=4000"]);
    let at = ensemble.connect_string();
    with_admin(&ensemble, ViewBy::Http).await;
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db");
    let mut witnesses = watch_both(&at, &ensemble.admin_url());
    let recorder = record(&store, &at);
    begin(&at, &mut witnesses).await;
    let plan = StormPlan {
        servers: (0..MEMBERS).map(|member| ensemble.socket(member)).collect(),
        timeouts_ms: if wanted().is_some() { vec![6_000, 10_000, 20_000, 40_000] } else { vec![6_000, 10_000] },
        lives: wanted().unwrap_or(350) / LIVES.1 * LIVES.0,
        pause: Duration::from_millis(100),
        seed: fastrand::u64(..),
    };
    let log = look_on(plan, &ensemble.data(ensemble.leader()), &mut witnesses).await;
    // An AdminServer that has just started answers slowly, so that it is asked rarely during most of a
    // short storm.
    let must_name = |witness: &Witness| witness.name() != "http" || wanted().is_some();
    for witness in witnesses.iter_mut().filter(|witness| must_name(witness)) {
        eventually("the names of the expiries", async || {
            witness.take_now();
            let named = witness.named(&log);
            if are_enough(named) { Ok(()) } else { Err(format!("{}: {named:?}", witness.name())) }
        })
        .await;
    }
    // The recorder asks the servers on its own, and may learn of the last ends later.
    eventually("the names of the expiries in the recording", async || {
        let named = recorded(&store).await.named(&log);
        if are_enough(named) { Ok(()) } else { Err(named) }
    })
    .await;
    recorder.signal("TERM");
    recorder.ended().await;

    witnesses.extend([replayed(&store).await, recorded(&store).await]);
    for witness in &witnesses {
        let (named, of) = witness.named(&log);
        println!("{}: {named} of {of} expiries are named", witness.name());
    }
    let wrong: Vec<String> = witnesses.iter().flat_map(|witness| witness.judge(&log, TICK)).collect();
    assert_eq!(wrong, Vec::<String>::new());
    for witness in witnesses.iter().filter(|witness| must_name(witness)) {
        let named = witness.named(&log);
        assert!(are_enough(named), "{}: {named:?}", witness.name());
    }
}

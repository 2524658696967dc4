//! Elections on a real server, also mixed with Curator's and kazoo's: one leader at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use lockscope_lock::{Election, Leaders, LockError, LockOptions, Loss, Naming, Participant};
use tokio::time::{sleep, timeout};
use zookeeper_client::{Acls, Client, CreateMode};

use super::fault_fixture::within;
use super::fixture::delete;
use crate::harness::foreign::Foreign;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::zk;

const PATH: &str = "/election";

fn election(client: &Client, identity: &str) -> Election {
    Election::new(client, PATH, identity).expect("a good path")
}

fn names(all: &[Participant]) -> Vec<(&str, bool)> {
    all.iter().map(|one| (std::str::from_utf8(&one.data).expect("text"), one.holds)).collect()
}

/// The next leader that an observer is told.
async fn told(leaders: &mut Leaders) -> Option<String> {
    let next = within("a leader", leaders.next()).await.expect("the session lives");
    next.map(|leader| String::from_utf8(leader.data).expect("text"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_to_campaign_leads_and_others_see_who_does() {
    let at = zk::own_root("elections").await;
    let clients = [zk::connect(&at).await, zk::connect(&at).await];
    let watcher = zk::connect(&at).await;
    let [first, second] = [election(&clients[0], "one"), election(&clients[1], "two")];
    let outside = election(&watcher, "nobody");
    let mut observed = outside.observe();
    assert_eq!((outside.leader().await, told(&mut observed).await), (Ok(None), None), "there is not even a parent");

    let leads = within("the election", first.campaign()).await.expect("nobody else is there");
    assert_eq!(told(&mut observed).await.as_deref(), Some("one"));
    let waits = tokio::spawn(async move { second.campaign().await });
    let both = async || {
        let all = outside.participants().await.expect("an answer");
        if all.len() == 2 { Ok(all) } else { Err(all) }
    };
    let all = crate::harness::wait::eventually("two", both).await;
    assert_eq!(names(&all), [("one", true), ("two", false)]);
    let leader = outside.leader().await.expect("an answer").expect("a leader");
    assert_eq!((&leader, leader.token), (&all[0], leads.token()));

    leads.resign().await.expect("it led");
    let leads = within("the next", waits).await.expect("no panic").expect("the first has resigned");
    assert_eq!(told(&mut observed).await.as_deref(), Some("two"));
    delete(&watcher, leads.path().as_str()).await;
    assert_eq!(within("the loss", leads.lost()).await, Loss::Deleted);
    assert_eq!(told(&mut observed).await, None);
    assert!(matches!(leads.resign().await, Err(LockError::NodeDeleted { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_runs_while_it_leads_and_ends_with_the_leadership() {
    let at = zk::own_root("elections").await;
    let (client, other) = (zk::connect(&at).await, zk::connect(&at).await);
    let election = election(&client, "one");
    let done = within("the work", election.lead(async move |leadership| leadership.token())).await;
    let token = done.expect("it leads").expect("it has led to the end");
    assert_eq!(election.leader().await, Ok(None), "it has resigned");

    let lost = election.lead(async |leadership| {
        assert!(leadership.token() > token, "a later leader has a higher token");
        delete(&other, leadership.path().as_str()).await;
        std::future::pending::<()>().await;
    });
    assert_eq!(within("the loss", lost).await, Ok(Err(Loss::Deleted)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_ends_with_its_session() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let mine = zk::connect_within(&relay.connect_string(), Duration::from_secs(4)).await;
    let mut observed = election(&mine, "nobody").observe();
    assert_eq!(told(&mut observed).await, None);
    let leads = zk::connect(&server.connect_string()).await;
    let leads = election(&leads, "one").campaign().await.expect("nobody else is there");
    assert_eq!(told(&mut observed).await.as_deref(), Some("one"));
    relay.expire().await;
    let ended = within("the end", observed.next()).await;
    assert!(matches!(ended, Err(LockError::SessionExpired { .. })), "{ended:?}");
    assert!(observed.next().await.is_err(), "it stays so");
    leads.resign().await.expect("it led");
}

/// How the leaders of one side go, in turn.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// The connection is lost at once, and for longer than the session.
    Cut,
    /// Nothing passes for longer than the session, and arrives late afterwards.
    Pause,
    /// The process ends without a word.
    Kill,
}

const SESSION: Duration = Duration::from_secs(2);

/// How many leaderships pass between two faults of a client.
const FAULT_EVERY: usize = 10;

/// Writes twice while it leads, with the fencing token. Returns whether both writes were carried out.
async fn lead_once(election: &Election) -> Result<bool, LockError> {
    let outcome = election.lead(|leadership| async move {
        let record = format!("{} {}", leadership.path().name(), leadership.token().0);
        for _ in 0..2 {
            let options = (CreateMode::PersistentSequential, Acls::anyone_all());
            let written = leadership.create(&format!("{PATH}-record/"), record.as_bytes(), options.0, options.1).await;
            if written.is_err() {
                return false;
            }
        }
        true
    });
    Ok(outcome.await?.unwrap_or(false))
}

fn takes_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// One of ours takes part until there were enough leaders: with faults, and a new session after each.
async fn takes_part(server: &str, naming: &Naming, number: usize, left: &AtomicUsize) -> [usize; 2] {
    let (mut led, mut faults) = (0, 0);
    while left.load(Ordering::SeqCst) > 0 {
        let relay = Relay::start(server).await;
        let client = zk::connect_within(&relay.connect_string(), SESSION).await;
        let options = LockOptions::default().naming(naming.clone()).data(format!("ours-{number}"));
        let election = Election::with(&client, PATH, options).expect("a good path");
        for turn in 1.. {
            let fault = match (turn % FAULT_EVERY, number % 4) {
                (0, 1) => Fault::Cut,
                (0, 2) => Fault::Pause,
                (0, 3) => Fault::Kill,
                _ => Fault::None,
            };
            faults += usize::from(!matches!(fault, Fault::None));
            let striking = async {
                match fault {
                    Fault::None => return,
                    Fault::Cut => relay.refuse().await,
                    Fault::Pause => relay.pause(),
                    Fault::Kill => return relay.expire().await,
                }
                sleep(SESSION * 2).await;
                relay.heal();
                relay.resume();
            };
            let (outcome, ()) = futures::join!(lead_once(&election), striking);
            match outcome {
                Ok(true) if takes_one(left) => led += 1,
                Ok(_) if matches!(fault, Fault::None) && left.load(Ordering::SeqCst) > 0 => {}
                // The session has ended, or there were enough leaders.
                _ => break,
            }
        }
    }
    [led, faults]
}

/// Ours and theirs lead in turn. The record that each writes while it leads has one order: that of
/// the tokens.
async fn mixed(mut theirs: Foreign, server: &Server, recipe: &str, naming: Naming, leaders: usize) {
    const THEIRS: usize = 4;
    const OURS: usize = 4;
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["", "-inside", "-record"].map(|end| format!("{PATH}{end}"))).await;
    let rounds = leaders / 2 / THEIRS;
    theirs.churn_checked("theirs", recipe, PATH, THEIRS, rounds).await;
    let left = AtomicUsize::new(leaders / 2);
    let ours = join_all((0..OURS).map(|number| takes_part(&at, &naming, number, &left))).await;
    let [led, faults] = [0, 1].map(|at| ours.iter().map(|one| one[at]).sum::<usize>());
    assert_eq!(theirs.churned("theirs").await, THEIRS * rounds);

    let record = zk::tree(&client, &format!("{PATH}-record")).await;
    let tokens: Vec<i64> = record
        .iter()
        .map(|node| String::from_utf8_lossy(&node.data).split_once(' ').expect("two words").1.parse().expect("a token"))
        .collect();
    let early = tokens.windows(2).filter(|pair| pair[0] > pair[1]).count();
    let mut leaders = tokens.clone();
    leaders.dedup();
    let changes = leaders.len();
    println!(
        "{changes} leaders with {recipe}, {led} of them ours and complete, {faults} faults, {} writes",
        tokens.len()
    );
    assert_eq!(early, 0, "a write of a leader comes after one of a later leader");
    leaders.sort_unstable();
    leaders.dedup();
    assert_eq!(leaders.len(), changes, "each has led once, in one piece");
    assert!(changes >= led + THEIRS * rounds, "{changes}");
}

const FEW: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leader_at_a_time_with_curators_latch() {
    let server = Server::start();
    mixed(Foreign::java(&server.connect_string()), &server, "latch", Naming::Latch, FEW).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leader_at_a_time_with_kazoos_election() {
    let server = Server::start();
    mixed(Foreign::kazoo(&server.connect_string()), &server, "lock", Naming::Kazoo, FEW).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn one_leader_at_a_time_in_ten_thousand_changes() {
    for (recipe, naming) in [("latch", Naming::Latch), ("lock", Naming::Kazoo)] {
        let server = Server::start();
        let at = server.connect_string();
        let theirs = if recipe == "latch" { Foreign::java(&at) } else { Foreign::kazoo(&at) };
        let whole = mixed(theirs, &server, recipe, naming, 5_000);
        timeout(Duration::from_secs(1_800), whole).await.expect("it ends");
    }
}

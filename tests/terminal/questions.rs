//! Ten questions of an operator, answered by the running program at a server with ten thousand
//! locks. Three keys answer each.
//!
//! The test prints each question with its keys and the time of the answer. The time is not checked,
//! since machines differ.

use std::time::{Duration, Instant};

use zookeeper_client::{Client, CreateMode, OneshotWatcher};

use crate::failures::forgotten::{curator, enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The number of healthy locks.
const LOCKS: usize = 10_000;

/// The time after which a lock counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// The maximum number of keys for an answer.
const MAX_KEYS: usize = 3;

/// A question, the keys, and the texts on the screen afterwards.
type Question = (&'static str, &'static str, &'static [&'static str]);

/// Creates locks that are held and have no waiters.
async fn make_quiet_locks(client: &Client) {
    zk::make(client, ["/app".to_owned()]).await;
    let parents = (0..LOCKS).map(|number| (format!("/app/order-{number:05}"), Vec::new()));
    let parents = zk::create_all(client, CreateMode::Persistent, parents).await;
    let nodes = parents.iter().enumerate().map(|(number, lock)| {
        let number = u32::try_from(number).expect("few locks");
        (curator(lock, number), b"10.0.4.17".to_vec())
    });
    zk::create_all(client, CreateMode::EphemeralSequential, nodes).await;
}

/// Lets a kazoo client hold a lock, and three others wait for it.
async fn block_billing(kazoo: &mut Foreign) {
    for client in ["worker-3", "worker-5", "worker-7", "worker-9"] {
        kazoo.connect(client).await;
        kazoo.start(client, client, "lock", "/app/billing").await;
        if client == "worker-3" {
            kazoo.held(client).await;
        }
    }
    let order = eventually("three who wait", async || {
        let order = kazoo.order("worker-3").await;
        if order.len() == 4 { Ok(order) } else { Err(order) }
    })
    .await;
    assert_eq!(order[0], "worker-3");
}

/// Creates two sessions that wait for each other, the node of a lost create, and a holder that has
/// gone.
async fn make_trouble(at: &str, a: &Client, b: &Client) -> Vec<OneshotWatcher> {
    zk::make(a, ["accounts", "transfers", "mail", "ledger"].map(|lock| format!("/app/{lock}"))).await;
    let attempts = [(1, a, "accounts"), (2, b, "transfers"), (3, b, "accounts"), (4, a, "transfers")];
    let mut nodes = Vec::new();
    for (number, client, lock) in attempts {
        nodes.push(enqueue(client, &curator(&format!("/app/{lock}"), number)).await);
    }
    let lost = enqueue(a, &curator("/app/mail", 7)).await;
    enqueue(a, &curator("/app/mail", 7)).await;
    let detached = Client::connector().with_session_timeout(Duration::from_secs(40)).with_detached();
    let gone = detached.connect(at).await.expect("a session");
    let head = enqueue(&gone, &curator("/app/ledger", 8)).await;
    enqueue(b, &curator("/app/ledger", 9)).await;
    // Each waiter watches its predecessor.
    vec![watch(b, &nodes[0]).await, watch(a, &nodes[1]).await, watch(a, &lost).await, watch(b, &head).await]
}

/// Asks a question. Prints the time of the answer since the first key, or since `since`.
fn ask(terminal: &mut Terminal, (question, keys, answer): Question, since: Option<Instant>) {
    assert!(keys.chars().count() <= MAX_KEYS, "{question}");
    let since = since.unwrap_or_else(Instant::now);
    terminal.press(keys);
    terminal.shows_all(answer);
    let keys = keys.replace('\r', "Enter").replace(' ', "Space");
    println!("| {question} | {keys} | {:.1} |", since.elapsed().as_secs_f64());
}

fn console(at: &str) -> Terminal {
    let stuck_after = format!("{}s", STUCK_AFTER.as_secs());
    Terminal::lockscope(&["--connect", at, "--stuck-after", &stuck_after, "--write"], 80, 24)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_keys_answer_each_question_of_an_operator() {
    let server = Server::start();
    let at = server.connect_string();
    let [a, b] = [zk::connect(&at).await, zk::connect(&at).await];
    make_quiet_locks(&a).await;
    let mut kazoo = Foreign::kazoo(&at);
    block_billing(&mut kazoo).await;
    let blocked = Instant::now();
    eventually("a lock that has stood for long", async || {
        let stood = blocked.elapsed();
        if stood > STUCK_AFTER { Ok(()) } else { Err(stood) }
    })
    .await;

    println!("| question | keys | seconds |\n| --- | --- | --- |");
    let begun = Instant::now();
    let mut terminal = console(&at);
    let answer = &["HOLDER", "worker-3", "! stuck ", ", 3 wait", "what to do: look at the holder's process"];
    ask(&mut terminal, ("Who blocks /app/billing, since when, what to do? (cold start)", "", answer), Some(begun));
    let questions: [Question; 4] = [
        ("Who waits for it, in which order?", "\r", &["╰─▶ 2", "worker-9"]),
        ("What else does its holder hold or wait for?", "o", &["holds 1 ── waits for 0"]),
        ("What happened at this lock before?", "i", &["History of /app/billing", "it holds the lock now"]),
        ("How does its node look?", "d", &["czxid", "world:anyone"]),
    ];
    ask_each(&mut terminal, &questions);

    let _watches = make_trouble(&at, &a, &b).await;
    let begun = Instant::now();
    let mut terminal = console(&at);
    ask(
        &mut terminal,
        ("How many locks are in trouble? (cold start)", "", &["critical", "warning", "no finding"]),
        Some(begun),
    );
    terminal.shows_all(&["✖ deadlock", "expiring"]);
    let questions: [Question; 6] = [
        ("Who waits for each other?", "4", &["cycle: 2 sessions wait for each other"]),
        ("When is the lock of a client that vanished free?", "4", &["holds up 2 sessions, expiring "]),
        ("What would deleting the forgotten node do?", "j\rx", &["Delete /app/mail/", "acquires next"]),
        ("Which sessions hold and wait, and who are they?", "3", &["7 sessions hold or wait", "worker-3"]),
        ("What happened lately?", "6", &["raised       /app/accounts"]),
        ("Do the servers answer?", "v", &["1 of 1 server reports everything", "standalone"]),
    ];
    ask_each(&mut terminal, &questions);
}

/// Asks each question from the first screen, and ends the program.
fn ask_each(terminal: &mut Terminal, questions: &[Question]) {
    for question in questions {
        ask(terminal, *question, None);
        terminal.press("\x1b\x1b\x1b\x1b1g");
        terminal.shows("Locks ── ");
    }
    terminal.press("q");
    assert!(terminal.ends().success());
}

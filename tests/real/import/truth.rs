//! The history from one server's logs, compared with the script of the clients and with an
//! independent reading of the logs.

use std::collections::BTreeSet;
use std::time::Duration;

use lockscope_base::znode::SessionId;
use lockscope_lock::{Access, Algorithm, Lock};
use zookeeper_client::Client;

use super::fixture::{Import, Row, files_of};
use super::lives::{Lives, hex, row};
use crate::foreign_clients::queued;
use crate::harness::foreign::Foreign;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The timeout of the sessions that are to expire.
const SHORT: Duration = Duration::from_secs(2);

/// What the history must say of a contender: its lock, its session, whether it held, and its end.
type Told = (String, String, bool, &'static str);

/// Writes down what the clients do.
#[derive(Default)]
struct Script(Vec<Told>);

impl Script {
    fn did(&mut self, lock: &str, session: SessionId, held: bool, end: &'static str) {
        self.0.push((lock.to_owned(), hex(session), held, end));
    }

    /// Asserts that the history tells the same of these locks.
    fn check(mut self, rows: &[Row]) {
        let locks: BTreeSet<String> = self.0.iter().map(|told| told.0.clone()).collect();
        let of_script = rows.iter().filter(|row| locks.contains(&row.lock));
        let mut told: Vec<_> =
            of_script.map(|row| (row.lock.clone(), row.session.clone(), row.held, row.end.as_str())).collect();
        told.sort();
        self.0.sort();
        assert_eq!(told, self.0);
    }
}

/// A library with sessions that live on, one that is closed, and one in a process that is killed.
struct Library {
    alive: Foreign,
    doomed: Foreign,
    sessions: [SessionId; 5],
}

impl Library {
    async fn start(alive: Foreign, doomed: Foreign) -> Self {
        let (mut alive, mut doomed) = (alive, doomed);
        let mut sessions = Vec::new();
        for name in ["a", "b", "c", "closing"] {
            sessions.push(alive.connect(name).await);
        }
        sessions.push(doomed.connect_within("x", SHORT).await);
        Self { alive, doomed, sessions: sessions.try_into().expect("five") }
    }

    /// Contends in each way for an exclusive lock. The last three contenders stay until
    /// [`Self::ends`].
    async fn queues(&mut self, client: &Client, recipe: &str, lock: &str, script: &mut Script) {
        let [a, b, c, closing, x] = self.sessions;
        let of = |who: &str| format!("{lock}-{who}");
        let Self { alive, doomed, .. } = self;
        alive.start("a", &of("a"), recipe, lock).await;
        alive.held(&of("a")).await;
        alive.start("b", &of("b"), recipe, lock).await;
        queued(client, lock, 2).await;
        alive.start("c", &of("c"), recipe, lock).await;
        queued(client, lock, 3).await;
        alive.abandon(&of("c")).await;
        queued(client, lock, 2).await;
        script.did(lock, c, false, "left");
        alive.release(&of("a")).await;
        script.did(lock, a, true, "released");
        let node = alive.held(&of("b")).await;
        zk::delete_all(client, [format!("{lock}/{node}")]).await;
        script.did(lock, b, true, "deleted");
        alive.start("closing", &of("closing"), recipe, lock).await;
        alive.held(&of("closing")).await;
        script.did(lock, closing, true, "closed");
        doomed.start("x", &of("x"), recipe, lock).await;
        queued(client, lock, 2).await;
        script.did(lock, x, true, "expired");
        // In WriteLock a session has one node only.
        if recipe != "write-lock" {
            doomed.start("x", &of("x-too"), recipe, lock).await;
            queued(client, lock, 3).await;
            script.did(lock, x, false, "expired");
        }
    }

    /// Lets two readers hold together, then a writer.
    async fn shares(&mut self, client: &Client, lock: &str, script: &mut Script) {
        let alive = &mut self.alive;
        for name in ["a", "b"] {
            alive.start(name, &format!("{lock}-{name}"), "read", lock).await;
            alive.held(&format!("{lock}-{name}")).await;
        }
        alive.start("c", &format!("{lock}-c"), "write", lock).await;
        queued(client, lock, 3).await;
        for (at, name) in ["a", "b", "c"].iter().enumerate() {
            alive.held(&format!("{lock}-{name}")).await;
            alive.release(&format!("{lock}-{name}")).await;
            script.did(lock, self.sessions[at], true, "released");
        }
    }

    /// Lets three contend for two leases.
    async fn leases(&mut self, client: &Client, lock: &str, waiting: usize, script: &mut Script) {
        let alive = &mut self.alive;
        let of = |who: &str| format!("{lock}-id-{who}");
        for name in ["a", "b"] {
            alive.start(name, &of(name), "semaphore", &format!("{lock} 2")).await;
            alive.held(&of(name)).await;
        }
        alive.start("c", &of("c"), "semaphore", &format!("{lock} 2")).await;
        queued(client, lock, waiting).await;
        for (at, name) in ["a", "c", "b"].iter().enumerate() {
            alive.held(&of(name)).await;
            alive.release(&of(name)).await;
            script.did(lock, self.sessions[[0, 2, 1][at]], true, "released");
        }
    }

    /// Closes the one session, and kills the process of the other. The rest stays as it is.
    async fn ends(self) -> Foreign {
        let Self { mut alive, doomed, .. } = self;
        drop(doomed);
        alive.close("closing").await;
        alive
    }
}

/// The built-in locks.
async fn built_in(server: &Server, client: &Client, script: &mut Script) {
    let at = server.connect_string();
    let (p, q, r) = (zk::connect(&at).await, zk::connect(&at).await, zk::connect(&at).await);
    let relay = Relay::start(&at).await;
    let doomed = zk::connect_within(&relay.connect_string(), SHORT).await;
    let queues = [
        ("chain", Algorithm::Chain),
        ("ahead", Algorithm::ChainAhead),
        ("herd", Algorithm::Herd),
        ("shared", Algorithm::SharedChain(Access::Write)),
    ];
    let mut guards = Vec::new();
    for (name, algorithm) in queues {
        let lock = format!("/built-in/{name}");
        let of = |client: &Client| Lock::new(client, &lock, algorithm).expect("a good path");
        let held = of(&p).acquire().await.expect("it is free");
        let (second, third) = (of(&q), of(&r));
        let second = tokio::spawn(async move { second.acquire().await });
        queued(client, &lock, 2).await;
        let third = tokio::spawn(async move { third.acquire().await });
        queued(client, &lock, 3).await;
        third.abort();
        queued(client, &lock, 2).await;
        script.did(&lock, zk::session_of(&r), false, "left");
        held.release().await.expect("it was held");
        script.did(&lock, zk::session_of(&p), true, "released");
        let second = second.await.expect("no panic").expect("it holds");
        zk::delete_all(client, [second.path().to_string()]).await;
        script.did(&lock, zk::session_of(&q), true, "deleted");
        guards.push(of(&doomed).acquire().await.expect("it is free"));
        script.did(&lock, zk::session_of(&doomed), true, "expired");
    }
    let lock = "/built-in/both";
    let reading = Algorithm::SharedChain(Access::Read);
    let of = |client: &Client, algorithm| Lock::new(client, lock, algorithm).expect("a good path");
    let readers =
        [of(&p, reading).acquire().await.expect("it is free"), of(&q, reading).acquire().await.expect("read")];
    let writer = of(&r, Algorithm::SharedChain(Access::Write));
    let writer = tokio::spawn(async move { writer.acquire().await });
    queued(client, lock, 3).await;
    for reader in readers {
        reader.release().await.expect("it was held");
    }
    writer.await.expect("no panic").expect("it holds").release().await.expect("it was held");
    for client in [&p, &q, &r] {
        script.did(lock, zk::session_of(client), true, "released");
    }
    // Their lock is the node itself.
    for (at, lock, algorithm) in [
        ("/built-in/parent", "/built-in/parent/lock", Algorithm::MutexParent),
        ("/built-in/mutex", "/built-in/mutex", Algorithm::Mutex),
    ] {
        let of = |client: &Client| Lock::new(client, at, algorithm).expect("a good path");
        for client in [&p, &q] {
            of(client).acquire().await.expect("it is free").release().await.expect("it was held");
            script.did(lock, zk::session_of(client), true, "released");
        }
        guards.push(of(&doomed).acquire().await.expect("it is free"));
        script.did(lock, zk::session_of(&doomed), true, "expired");
    }
    relay.refuse().await;
    until_gone(server, &[zk::session_of(&doomed)]).await;
    // Their nodes are gone, and the guards must not delete those of others.
    drop(guards);
}

/// Waits until the sessions' nodes are gone according to the log.
async fn until_gone(server: &Server, sessions: &[SessionId]) -> Lives {
    eventually("a log in which the sessions have ended", async || {
        let lives = Lives::read(&files_of(server));
        let standing = lives.nodes.iter().filter(|life| sessions.contains(&life.owner) && life.went.is_none());
        let standing: Vec<String> = standing.map(|life| life.path.clone()).collect();
        if standing.is_empty() { Ok(lives) } else { Err(standing) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_from_the_logs_is_what_the_clients_did() {
    let server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/java", "/kazoo", "/built-in"].map(str::to_owned)).await;
    let mut script = Script::default();

    let mut java = Library::start(Foreign::java(&at), Foreign::java(&at)).await;
    java.queues(&client, "mutex", "/java/mutex", &mut script).await;
    java.queues(&client, "write-lock", "/java/write-lock", &mut script).await;
    java.shares(&client, "/java/both", &mut script).await;
    let mut kazoo = Library::start(Foreign::kazoo(&at), Foreign::kazoo(&at)).await;
    kazoo.queues(&client, "lock", "/kazoo/lock", &mut script).await;
    kazoo.shares(&client, "/kazoo/both", &mut script).await;
    // A waiter of Curator's semaphore has two nodes, one of kazoo's has none in the semaphore itself.
    java.leases(&client, "/java/pool", 4, &mut script).await;
    kazoo.leases(&client, "/kazoo/pool", 3, &mut script).await;
    built_in(&server, &client, &mut script).await;
    let doomed = [java.sessions[3], java.sessions[4], kazoo.sessions[3], kazoo.sessions[4]];
    let _alive = [java.ends().await, kazoo.ends().await];
    let lives = until_gone(&server, &doomed).await;

    let import = Import::of(&[&files_of(&server)]).await;
    println!("{} rows of {} transactions", import.rows.len(), lives.zxids.len());
    assert_eq!((import.gaps(), import.damaged()), (vec![], vec![]));
    let queues = [
        "/java/mutex",
        "/java/write-lock",
        "/java/both",
        "/kazoo/lock",
        "/kazoo/both",
        "/built-in/chain",
        "/built-in/ahead",
        "/built-in/herd",
        "/built-in/shared",
        "/built-in/both",
    ];
    let expected = lives.rows(&queues);
    let of_queues = import.rows.iter().filter(|row| queues.contains(&row.lock.as_str()));
    assert_eq!(of_queues.cloned().collect::<Vec<_>>(), expected, "each time is the transaction's");
    let deleter = hex(zk::session_of(&client));
    for deleted in import.rows.iter().filter(|row| row.end == "deleted") {
        assert_eq!(deleted.deleted_by.as_ref(), Some(&deleter), "{deleted:?}");
    }
    // These hold as soon as their node is there.
    for life in lives.below("/built-in/parent").chain(lives.below("/built-in/mutex")) {
        let expected = row(life, Some(life.came_at));
        let told = import.rows.iter().find(|row| row.czxid == life.czxid).expect("a row");
        assert_eq!((told.acquired_at, told.released_at), (expected.acquired_at, expected.released_at), "{told:?}");
    }
    script.check(&import.rows);
}

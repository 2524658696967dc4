//! Clients that contend with the locks of this crate, with the same arguments and lines as
//! `tests/foreign/LongLife.java`, which describes them. They run in a process of their own, so that
//! it can be killed and frozen.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use lockscope_lock::{Access, Algorithm, Lock, LockOptions, Naming};
use tokio::runtime::Builder;
use tokio::time::sleep;
use zookeeper_client::{Client, SessionState, StateWatcher};

use crate::clock::nanos;
use crate::locks::{LEASES, holds_together};

const LONGEST_HOLD_MS: u64 = 400;
const LONGEST_PAUSE_MS: u64 = 2_000;
const LOOK: Duration = Duration::from_millis(50);
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

type Failure = Box<dyn std::error::Error>;

struct Worker {
    servers: String,
    timeout: Duration,
    pause: PathBuf,
    name: String,
    recipe: String,
    path: String,
    random: fastrand::Rng,
}

/// Runs until it is killed.
pub fn run(arguments: &[String]) {
    let [servers, timeout_ms, seed, pause, clients @ ..] = arguments else { panic!("too few arguments") };
    let seed: u64 = seed.parse().expect("a seed");
    let workers = clients.iter().zip(0..).map(|(client, number)| {
        let [name, recipe, path, _] = client.split('=').collect::<Vec<_>>().try_into().expect("a client");
        Worker {
            servers: servers.clone(),
            timeout: Duration::from_millis(timeout_ms.parse().expect("milliseconds")),
            pause: pause.into(),
            name: name.to_owned(),
            recipe: recipe.to_owned(),
            path: path.to_owned(),
            random: fastrand::Rng::with_seed(seed.wrapping_add(number)),
        }
    });
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let tasks = workers.map(Worker::run);
    runtime.block_on(futures::future::join_all(tasks));
}

impl Worker {
    async fn run(mut self) {
        loop {
            if let Err(failure) = self.live().await {
                eprintln!("{}: {failure}", self.name);
                sleep(BETWEEN_TRIES).await;
            }
            say(&self.name, "gone");
        }
    }

    /// Runs one session, from its start to its end.
    async fn live(&mut self) -> Result<(), Failure> {
        let client = Client::connector().with_session_timeout(self.timeout).connect(&self.servers).await?;
        let (name, turns) = (self.name.clone(), self.random.u32(3..23));
        let contend = async {
            for _ in 0..turns {
                self.rest(LONGEST_PAUSE_MS).await;
                self.turn(&client).await?;
            }
            Ok(())
        };
        tokio::select! {
            outcome = contend => outcome,
            () = lose(&name, client.state_watcher()) => Err("the session has ended".into()),
        }
    }

    async fn turn(&mut self, client: &Client) -> Result<(), Failure> {
        let (algorithm, naming) = recipe(&self.recipe);
        let options = LockOptions::default().naming(naming).data(self.name.as_bytes());
        let lock = Lock::with(client, &self.path, algorithm, options)?;
        say(&self.name, "want");
        let guard = lock.acquire().await?;
        let token = if holds_together(&self.recipe) { "-".to_owned() } else { guard.token().0.to_string() };
        say(&self.name, &format!("held {} {token}", guard.path().name()));
        self.rest(LONGEST_HOLD_MS).await;
        say(&self.name, "done");
        guard.release().await?;
        Ok(())
    }

    /// Sleeps for a random time, and then for as long as the pause file exists.
    async fn rest(&mut self, longest_ms: u64) {
        sleep(Duration::from_millis(self.random.u64(0..longest_ms))).await;
        while self.pause.exists() {
            sleep(LOOK).await;
        }
    }
}

/// Prints `unsure` whenever the connection is lost, until the session has ended.
async fn lose(name: &str, mut states: StateWatcher) {
    loop {
        match states.changed().await {
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {}
            state => {
                say(name, "unsure");
                if state.is_terminated() {
                    return;
                }
            }
        }
    }
}

fn recipe(name: &str) -> (Algorithm, Naming) {
    let leases = u32::try_from(LEASES).ok().and_then(NonZeroU32::new).expect("some");
    match name {
        "chain-ahead" => (Algorithm::ChainAhead, Naming::Curator),
        "herd" => (Algorithm::Herd, Naming::Curator),
        "read" => (Algorithm::SharedChain(Access::Read), Naming::Curator),
        "write" => (Algorithm::SharedChain(Access::Write), Naming::Curator),
        "semaphore" => (Algorithm::Semaphore(leases), Naming::Curator),
        "mutex" => (Algorithm::Mutex, Naming::Curator),
        "chain" | "as-curators" => (Algorithm::Chain, Naming::Curator),
        "as-kazoos" => (Algorithm::Chain, Naming::Kazoo),
        "as-write-locks" => (Algorithm::Chain, Naming::WriteLock),
        other => (Algorithm::Chain, Naming::named(other).unwrap_or_else(|| panic!("no recipe {other}"))),
    }
}

fn say(name: &str, what: &str) {
    let line = format!("record {} {name} {what}\n", nanos());
    // A process that cannot print any more is about to end.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

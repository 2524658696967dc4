//! Elections of several libraries, whose candidates are on machines that can be restarted.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;
use zookeeper_client::{Client, CreateMode, Error};

use super::foreign::Foreign;
use super::relay::Relay;
use super::wait::eventually;
use super::zk;

/// The number of machines. Each has one candidate in each election.
pub const MACHINES: usize = 3;

/// The session timeout of the candidates.
pub const TIMEOUT: Duration = Duration::from_secs(6);

/// The elections of each library.
const RECIPES: [&str; 4] = ["latch", "selector", "election", "n"];

/// How the processes of a machine end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// They close their sessions.
    Closed,
    /// They are killed, so that their sessions expire.
    Killed,
}

/// The elections below a root, and their machines.
pub struct Elections {
    root: String,
    of_each: usize,
    machines: Vec<Machine>,
    operator: Client,
}

/// A machine. The servers see it at an address of its own.
struct Machine {
    relay: Relay,
    processes: Option<Processes>,
}

struct Processes {
    java: Foreign,
    kazoo: Foreign,
    /// The candidates of ZooKeeper's own election, which has no library.
    candidates: Vec<JoinHandle<()>>,
    ending: Ending,
}

impl Elections {
    /// Starts `of_each` elections of each library at servers, given as `HOST:PORT`, below a new
    /// root. The sessions of each machine will end in this way.
    pub async fn start(servers: &[String], root: &str, of_each: usize, ending: Ending) -> Self {
        let operator = zk::connect(&servers[0]).await;
        zk::make(&operator, (0..of_each).map(|number| format!("{root}/n-election-{number}"))).await;
        let mut elections = Self { root: root.to_owned(), of_each, machines: Vec::new(), operator };
        for number in 0..MACHINES {
            let address = Ipv4Addr::new(127, 2, 0, u8::try_from(number + 1).expect("few"));
            let relay = Relay::start_from(address, &servers[number % servers.len()]).await;
            elections.machines.push(Machine { relay, processes: None });
            elections.start_machine(number, ending).await;
        }
        elections.until_all_queue().await;
        elections
    }

    /// Returns the paths of all elections.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for recipe in RECIPES {
            paths.extend((0..self.of_each).map(|number| format!("{}/{recipe}-election-{number}", self.root)));
        }
        paths
    }

    /// Stops a machine's processes, starts them again after a pause, and waits until their
    /// candidates are in line. The new ones will end in the given way.
    pub async fn restart(&mut self, number: usize, pause: Duration, ending: Ending) {
        self.stop(number).await;
        sleep(pause).await;
        self.start_machine(number, ending).await;
        self.until_all_queue().await;
    }

    /// Stops the processes of a machine.
    pub async fn stop(&mut self, number: usize) {
        let Some(Processes { java, kazoo, candidates, ending }) = self.machines[number].processes.take() else {
            return;
        };
        for candidate in candidates {
            candidate.abort();
        }
        if ending == Ending::Closed {
            java.quit().await;
            kazoo.quit().await;
        }
    }

    async fn start_machine(&mut self, number: usize, ending: Ending) {
        let connect = self.machines[number].relay.connect_string();
        let (mut java, mut kazoo) = (Foreign::java(&connect), Foreign::kazoo(&connect));
        let mut candidates = Vec::new();
        for path in self.paths() {
            let name = path.rsplit('/').next().expect("a name");
            let (recipe, id) = (name.split('-').next().expect("a recipe"), format!("machine-{number}-{name}"));
            let foreign = match recipe {
                "n" => {
                    let connector = Client::connector().with_session_timeout(TIMEOUT);
                    let connector = if ending == Ending::Killed { connector.with_detached() } else { connector };
                    let client = connector.connect(&connect).await.expect("a session");
                    candidates.push(tokio::spawn(async move {
                        // An error ends the candidate, which the wait for all candidates notices.
                        let _ = queue(client, &path, &id).await;
                    }));
                    continue;
                }
                "election" => &mut kazoo,
                _ => &mut java,
            };
            // A machine under load may lose a connection for a moment.
            let recipe = if recipe == "selector" { "lasting-selector" } else { recipe };
            foreign.connect_within(&id, TIMEOUT).await;
            foreign.start(&id, &id, recipe, &path).await;
        }
        self.machines[number].processes = Some(Processes { java, kazoo, candidates, ending });
    }

    /// Waits until each running machine has a candidate in each election, and nobody else has.
    async fn until_all_queue(&self) {
        let running = self.machines.iter().filter(|machine| machine.processes.is_some()).count();
        for path in self.paths() {
            eventually("all candidates in line", async || match self.operator.list_children(&path).await {
                Ok(names) if names.len() == running => Ok(()),
                other => Err(format!("{path}: {other:?}")),
            })
            .await;
        }
    }
}

/// Queues in ZooKeeper's own election until the task ends.
async fn queue(client: Client, election: &str, host: &str) -> Result<(), Error> {
    let prefix = format!("{election}/n_");
    let (_, sequence) = client.create(&prefix, host.as_bytes(), &zk::open(CreateMode::EphemeralSequential)).await?;
    let own = format!("n_{sequence}");
    loop {
        let mut names = client.list_children(election).await?;
        names.sort();
        match names.iter().rposition(|name| *name < own) {
            Some(before) => {
                let (stat, watcher) = client.check_and_watch_stat(&format!("{election}/{}", names[before])).await?;
                if stat.is_some() {
                    watcher.changed().await;
                }
            }
            None => std::future::pending().await,
        }
    }
}

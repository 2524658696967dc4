//! Sessions that do what test clients cannot, for one scene at a time.
//!
//! One scene is a common lock recipe with one bug: it does not handle the lost reply to a create.
//! In the other, two workers take two locks in opposite order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{join_all, pending, try_join_all};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use zookeeper_client::{Acls, Client, CreateMode, Error, OneshotWatcher};

use super::{SceneAction, ScriptedClients};
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_live::zk;
use lockscope_live::zk::{
    ConnectOptions, Dialer, Flow, SessionRole, Transport, close_session, connect_through, create_containers,
};
use lockscope_lock::{Algorithm, Lock, LockError, LockOptions, Naming};

/// The maximum number of queued actions of a scene.
const MAX_QUEUED_ACTIONS: usize = 8;

/// The maximum number of queued failure reports.
const MAX_QUEUED_FAILURES: usize = 4;

/// The session timeout: short, so that what a killed program leaves goes soon.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// A command to the sessions of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneCommand {
    /// Starts a scene and ends the previous one.
    Start {
        /// The behaviour of the sessions.
        clients: ScriptedClients,
        /// The scene's locks, in the order of
        /// [`ScriptedClients::locks`](crate::demo::ScriptedClients::locks).
        locks: Vec<ZnodePath>,
    },
    /// Runs an action of the scene.
    Act(SceneAction),
    /// Ends the scene.
    End,
}

/// Runs scenes, each in a spawned task. The sessions of a scene that is over are closed in the
/// background; [`end`](Self::end) waits for all of them. Dropping the runner closes them too.
#[derive(Debug)]
pub struct SceneRunner {
    connection: ConnectOptions,
    failed: mpsc::Sender<String>,
    failures: mpsc::Receiver<String>,
    running: Option<RunningScene>,
    leaving: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct RunningScene {
    actions: mpsc::Sender<SceneAction>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl SceneRunner {
    /// Creates a runner without a scene for that ensemble.
    pub fn new(connection: ConnectOptions) -> Self {
        let (failed, failures) = mpsc::channel(MAX_QUEUED_FAILURES);
        let (session_timeout, role) = (SESSION_TIMEOUT, SessionRole::Client);
        let connection = ConnectOptions { session_timeout, role, ..connection };
        Self { connection, failed, failures, running: None, leaving: Vec::new() }
    }

    /// Runs a command in the background; returns at once.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn send(&mut self, command: SceneCommand) {
        match command {
            SceneCommand::Start { clients, locks } => {
                self.clear();
                let (actions, received) = mpsc::channel(MAX_QUEUED_ACTIONS);
                let stop = CancellationToken::new();
                let scene =
                    run_scene(self.connection.clone(), clients, locks, received, stop.clone(), self.failed.clone());
                self.running = Some(RunningScene { actions, stop, task: tokio::spawn(scene) });
            }
            SceneCommand::Act(action) => {
                // A scene that failed has reported so. A running scene never has eight waiting
                // actions.
                let _ = self.running.as_ref().map(|running| running.actions.try_send(action));
            }
            SceneCommand::End => self.clear(),
        }
    }

    fn clear(&mut self) {
        self.leaving.retain(|task| !task.is_finished());
        if let Some(running) = self.running.take() {
            running.stop.cancel();
            self.leaving.push(running.task);
        }
    }

    /// Waits for the failure of a scene and returns the reason as a sentence without a full stop.
    /// Waits for ever without a failure. Cancel safe.
    pub async fn failure(&mut self) -> String {
        match self.failures.recv().await {
            Some(why) => why,
            // The channel is never closed, since `self` also holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Ends the scene and waits until all sessions are closed, some seconds at most.
    pub async fn end(&mut self) {
        self.clear();
        futures::future::join_all(self.leaving.drain(..)).await;
    }
}

impl Drop for SceneRunner {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Runs one scene, from opening its first session to closing the last.
async fn run_scene(
    connection: ConnectOptions,
    clients: ScriptedClients,
    locks: Vec<ZnodePath>,
    actions: mpsc::Receiver<SceneAction>,
    stop: CancellationToken,
    failed: mpsc::Sender<String>,
) {
    let mut sessions = SceneSessions { connection, sessions: Vec::new(), transports: Vec::new() };
    let outcome = stop.run_until_cancelled(sessions.run(clients, &locks, actions)).await;
    if let Some(Err(why)) = outcome {
        let _ = failed.try_send(why);
        // The scene's nodes stay until it is over, so that they can be looked at.
        stop.cancelled().await;
    }
    sessions.close_all().await;
}

/// The sessions of one scene.
struct SceneSessions {
    connection: ConnectOptions,
    sessions: Vec<Client>,
    /// The links of sessions, kept until those sessions are closed.
    transports: Vec<Arc<Transport>>,
}

impl SceneSessions {
    async fn run(
        &mut self,
        clients: ScriptedClients,
        locks: &[ZnodePath],
        actions: mpsc::Receiver<SceneAction>,
    ) -> Result<(), String> {
        let setup_session = self.open_session().await?;
        for lock in locks {
            create_containers(&setup_session, lock, &mut Vec::new())
                .await
                .map_err(|(path, error)| format!("{path} cannot be created: {error}"))?;
        }
        match (clients, locks) {
            (ScriptedClients::LostReply { workers, hold, .. }, [lock]) => {
                run_lost_reply(self, &setup_session, lock, workers, hold, actions).await
            }
            (ScriptedClients::Cycle { behind, .. }, [first, second]) => {
                run_cycle(self, [first, second], behind, actions).await
            }
            _ => Err("the scene does not have the locks that it needs".to_owned()),
        }
    }

    /// Opens another session.
    async fn open_session(&mut self) -> Result<Client, String> {
        let session = zk::connect(&self.connection).await.map_err(|error| error.to_string())?;
        self.sessions.push(session.clone());
        Ok(session)
    }

    /// Opens another session through its own link, which can lose replies.
    async fn open_session_over_transport(&mut self) -> Result<(Client, Arc<Transport>), String> {
        let dialer = Dialer::new(&self.connection).await.map(Arc::new).map_err(|error| error.to_string())?;
        let link = Transport::start(dialer, Flow::default()).await.map_err(|error| error.to_string())?;
        let link = Arc::new(link);
        self.transports.push(Arc::clone(&link));
        let session = connect_through(&link, &self.connection).await.map_err(|error| error.to_string())?;
        self.sessions.push(session.clone());
        Ok((session, link))
    }

    /// Closes one session; its nodes go with it.
    async fn close_session(&mut self, session: Client) {
        let id = session.session_id();
        self.sessions.retain(|other| other.session_id() != id);
        close_session(session).await;
    }

    /// Closes every session; their nodes go with them.
    async fn close_all(self) {
        futures::future::join_all(self.sessions.into_iter().map(close_session)).await;
    }
}

/// The number of the worker whose reply is lost.
const UNLUCKY: u32 = 2;

/// The pause before a retry after a lost connection.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The number of tries before the last one.
const MAX_ATTEMPTS: u32 = 30;

/// Runs workers that take turns at a lock until they are stopped.
async fn run_lost_reply(
    sessions: &mut SceneSessions,
    setup_session: &Client,
    lock: &ZnodePath,
    workers: u32,
    hold: Duration,
    mut actions: mpsc::Receiver<SceneAction>,
) -> Result<(), String> {
    let slips = Arc::new(AtomicBool::new(false));
    let mut workers_at_work = Vec::new();
    for number in 1..=workers {
        let (session, slip) = if number == UNLUCKY {
            let (session, link) = sessions.open_session_over_transport().await?;
            (session, Some(Slip { link, due: Arc::clone(&slips) }))
        } else {
            (sessions.open_session().await?, None)
        };
        workers_at_work.push(Worker { session, lock: lock.clone(), number, hold, slip });
    }
    let acting = async {
        while let Some(action) = actions.recv().await {
            match action {
                SceneAction::LoseReply => slips.store(true, Ordering::Relaxed),
                SceneAction::CleanUp => clean_up(setup_session, lock).await.map_err(|error| error.to_string())?,
                _ => {}
            }
        }
        Ok(())
    };
    let working = try_join_all(workers_at_work.iter().map(Worker::work));
    tokio::select! {
        acted = acting => acted,
        worked = working => worked.map(drop).map_err(|error| format!("a worker of {lock} ended: {error}")),
    }
}

/// Deletes the earlier of two nodes of one attempt, if there are two.
async fn clean_up(session: &Client, lock: &ZnodePath) -> Result<(), Error> {
    let queue = queue(session, lock).await?;
    for (at, (id, node)) in queue.iter().enumerate() {
        if queue[at + 1..].iter().any(|(later, _)| later == id) {
            match session.delete(lock.child(node).as_str(), None).await {
                Ok(()) | Err(Error::NoNode) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Returns the prefix and the name of every node, in the order of their numbers.
async fn queue(session: &Client, lock: &ZnodePath) -> Result<Vec<(String, String)>, Error> {
    let children = session.list_children(lock.as_str()).await?;
    let mut numbered: Vec<_> = children
        .into_iter()
        .filter_map(|child| {
            let (id, number) = Sequence::split(&child)?;
            Some((number, (id.to_owned(), child)))
        })
        .collect();
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, named)| named).collect())
}

/// The link of the worker that loses a reply, and whether the next reply will be lost.
struct Slip {
    link: Arc<Transport>,
    due: Arc<AtomicBool>,
}

struct Worker {
    session: Client,
    lock: ZnodePath,
    number: u32,
    hold: Duration,
    slip: Option<Slip>,
}

impl Worker {
    /// Takes turns for ever; returns when the session has ended.
    async fn work(&self) -> Result<(), Error> {
        loop {
            let node = self.enqueue().await?;
            self.wait(&node).await?;
            sleep(self.hold).await;
            self.again(|| self.release(&node)).await?;
        }
    }

    /// Creates a node and returns its name. Without a reply it creates another one, which is the
    /// bug.
    async fn enqueue(&self) -> Result<String, Error> {
        let head = format!("_c_{}-lock-", Uuid::new_v4());
        if let Some(slip) = self.slip.as_ref().filter(|slip| slip.due.swap(false, Ordering::Relaxed)) {
            slip.link.change(|flow| flow.loses_replies = true);
            let lost = self.create(&head).await;
            slip.link.change(|flow| flow.loses_replies = false);
            match lost {
                Err(Error::ConnectionLoss) => {}
                made => return made,
            }
        }
        self.again(|| self.create(&head)).await
    }

    async fn create(&self, head: &str) -> Result<String, Error> {
        let prefix = self.lock.child(head);
        let data = format!("worker-{}", self.number);
        let mode = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let (_, number) = self.session.create(prefix.as_str(), data.as_bytes(), &mode).await?;
        Ok(format!("{head}{number}"))
    }

    /// Waits until the worker's node is the first.
    async fn wait(&self, node: &str) -> Result<(), Error> {
        loop {
            let queue = self.again(|| queue(&self.session, &self.lock)).await?;
            let before = queue.iter().take_while(|(_, other)| other != node).last();
            let Some((_, before)) = before else { return Ok(()) };
            if let Some(watcher) = self.again(|| self.watch(before)).await? {
                watcher.changed().await;
            }
        }
    }

    /// Sets a watch on a node; `None` if the node is gone.
    async fn watch(&self, node: &str) -> Result<Option<OneshotWatcher>, Error> {
        match self.session.get_and_watch_data(self.lock.child(node).as_str()).await {
            Err(Error::NoNode) => Ok(None),
            watched => watched.map(|(_, _, watcher)| Some(watcher)),
        }
    }

    async fn release(&self, node: &str) -> Result<(), Error> {
        match self.session.delete(self.lock.child(node).as_str(), None).await {
            Err(Error::NoNode) => Ok(()),
            deleted => deleted,
        }
    }

    /// Retries after lost connections, for some seconds.
    async fn again<T, A>(&self, ask: impl Fn() -> A) -> Result<T, Error>
    where
        A: Future<Output = Result<T, Error>>,
    {
        for _ in 0..MAX_ATTEMPTS {
            match ask().await {
                Err(Error::ConnectionLoss) => sleep(RETRY_INTERVAL).await,
                answer => return answer,
            }
        }
        ask().await
    }
}

/// The time for which a lock is held.
const HOLD: Duration = Duration::from_secs(1);

/// Runs the scene. Each worker holds one lock until [`SceneAction::Cross`]. Then each waits for the
/// other's, until [`SceneAction::Break`] ends one worker.
async fn run_cycle(
    sessions: &mut SceneSessions,
    [first, second]: [&ZnodePath; 2],
    behind: u32,
    mut actions: mpsc::Receiver<SceneAction>,
) -> Result<(), String> {
    let (one, two) = (sessions.open_session().await?, sessions.open_session().await?);
    let held = lock(&one, first, 1)?.acquire().await.map_err(said)?;
    let held_too = lock(&two, second, 2)?.acquire().await.map_err(said)?;
    let mut others = Vec::new();
    for (number, path) in (3..).zip([first, second].repeat(behind as usize)) {
        let session = sessions.open_session().await?;
        others.push(lock(&session, path, number)?);
    }
    let waiting = join_all(others.iter().map(once));
    let workers = async {
        until(&mut actions, SceneAction::Cross).await;
        let wanted = lock(&two, first, 2)?;
        let second_worker = async {
            let both = wanted.acquire().await;
            sleep(HOLD).await;
            for guard in both.into_iter().chain([held_too]) {
                // A lost lock needs no release.
                let _ = guard.release().await;
            }
        };
        let first_worker = async {
            let wanted = lock(&one, second, 1)?;
            tokio::select! {
                _got = wanted.acquire() => pending::<()>().await,
                () = until(&mut actions, SceneAction::Break) => {}
            }
            drop((wanted, held));
            sessions.close_session(one).await;
            Ok::<(), String>(())
        };
        tokio::join!(second_worker, first_worker).1
    };
    tokio::join!(waiting, workers).1
}

/// Acquires the lock once and holds it for a while.
async fn once(lock: &Lock) {
    if let Ok(guard) = lock.acquire().await {
        sleep(HOLD).await;
        let _ = guard.release().await;
    }
}

/// Waits for that action; for ever if no more actions come.
async fn until(actions: &mut mpsc::Receiver<SceneAction>, wanted: SceneAction) {
    while let Some(action) = actions.recv().await {
        if action == wanted {
            return;
        }
    }
    pending::<()>().await;
}

fn lock(session: &Client, path: &ZnodePath, number: u32) -> Result<Lock, String> {
    let options = LockOptions::default().naming(Naming::Kazoo).data(format!("worker-{number}"));
    Lock::with(session, path.as_str(), Algorithm::Chain, options).map_err(said)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn said(error: LockError) -> String {
    error.to_string()
}

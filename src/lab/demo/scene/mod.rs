//! Sessions that do what test clients cannot, for one scene at a time.

mod cycle;
mod lost_reply;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client;

use super::{SceneAction, ScriptedClients};
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::{
    self, ConnectOptions, Dialer, Flow, SessionRole, Transport, close_session, connect_through, create_containers,
};

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
                lost_reply::run(self, &setup_session, lock, workers, hold, actions).await
            }
            (ScriptedClients::Cycle { behind, .. }, [first, second]) => {
                cycle::run(self, [first, second], behind, actions).await
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

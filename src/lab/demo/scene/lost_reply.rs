//! A common lock recipe with one bug: it does not handle the lost reply to a create.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use tokio::sync::mpsc;
use tokio::time::sleep;
use uuid::Uuid;
use zookeeper_client::{Acls, Client, CreateMode, Error, OneshotWatcher};

use super::super::SceneAction;
use super::SceneSessions;
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_live::zk::Transport;

/// The number of the worker whose reply is lost.
const UNLUCKY: u32 = 2;
/// The pause before a retry after a lost connection.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The number of tries before the last one.
const MAX_ATTEMPTS: u32 = 30;

/// Runs workers that take turns at a lock until they are stopped.
pub(super) async fn run(
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
        let data = format!("worker {}", self.number);
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

//! The fleet's own session. It creates the lock's parents and deletes them again, asks the servers
//! for their counters, and looks for nodes that were left behind.

use std::collections::HashSet;
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use zookeeper_client::{Client as Session, Error, SessionState};

use super::{ContendError, FleetOptions, Scenario, ServerEvents};
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_live::zk::four_letter::{AskError, FourLetterAnswer, FourLetterWord};
use lockscope_live::zk::{self, Dialer, close_session};
use lockscope_lock::Algorithm;
use lockscope_model::server_view::{WatchEventTotals, four_letter};

/// The number of nodes above which the owners are not checked.
const MAX_CHECKED_NODES: usize = 20_000;

/// The number of concurrent reads.
const MAX_OUTSTANDING_READS: usize = 64;

/// The first version whose servers count a recursive watch once for each deletion. Earlier ones
/// count it twice.
const COUNTS_ONCE_SINCE: (u32, u32) = (3, 9);

/// The fleet's own session and what it created.
#[derive(Debug)]
pub struct Coordinator {
    session: Session,
    /// The created parents, the uppermost first.
    made: Vec<ZnodePath>,
    counter: ServerCounter,
}

/// Asks the servers how many watch events they have fired.
#[derive(Clone, Debug)]
pub struct ServerCounter {
    dialer: Arc<Dialer>,
    own_watches: u64,
    asks_servers: bool,
    /// The counters of each server at the start.
    counts_at_start: Vec<ServerCounts>,
}

/// The counters of a server.
#[derive(Clone, Copy, Debug)]
struct ServerCounts {
    fired: WatchEventTotals,
    /// The number of events that a deletion counts for one recursive watch.
    weight: u64,
}

impl Coordinator {
    pub async fn connect(options: &FleetOptions, dialer: Arc<Dialer>) -> Result<Self, ContendError> {
        let session = zk::connect(&options.connection).await.map_err(ContendError::connect)?;
        let FleetOptions { own_watches, asks_servers, .. } = *options;
        let own_watches = own_watches.into();
        let counter = ServerCounter { dialer, own_watches, asks_servers, counts_at_start: Vec::new() };
        Ok(Self { session, made: Vec::new(), counter })
    }

    /// Creates the parents of all nodes that the clients will create, so that no client pays for
    /// that.
    pub async fn prepare(&mut self, scenario: &Scenario) -> Result<(), ContendError> {
        let wanted = match scenario.algorithm {
            Algorithm::Mutex => Vec::from_iter(scenario.path.parent()),
            Algorithm::Semaphore(_) => ["locks", "leases"].map(|part| scenario.path.child(part)).into(),
            _ => vec![scenario.path.clone()],
        };
        for path in wanted {
            zk::create_containers(&self.session, &path, &mut self.made)
                .await
                .map_err(|(path, error)| ContendError::path(&path, &error))?;
        }
        Ok(())
    }

    /// Records the servers' counters as the start of the count.
    pub async fn start_counting(&mut self) -> Result<(), String> {
        self.counter.counts_at_start = self.counter.read_counts().await?;
        Ok(())
    }

    /// Returns the counter, which can be cloned to run in the background.
    pub fn counter(&self) -> &ServerCounter {
        &self.counter
    }

    /// Returns whether the session is connected.
    pub fn is_connected(&self) -> bool {
        matches!(self.session.state(), SessionState::SyncConnected | SessionState::ConnectedReadOnly)
    }

    /// Returns whether the session has ended, so that a new one is needed.
    pub fn is_over(&self) -> bool {
        self.session.state().is_terminated()
    }

    /// Continues with another session.
    pub fn resume(&mut self, session: Session) {
        self.session = session;
    }

    /// Returns the nodes of these sessions that still exist, or `None` if that cannot be found out.
    pub async fn left_behind(&self, scenario: &Scenario, sessions: &HashSet<SessionId>) -> Option<Vec<ZnodePath>> {
        let path = &scenario.path;
        let mut nodes = vec![path.clone()];
        let mut parents = vec![path.clone()];
        if matches!(scenario.algorithm, Algorithm::Semaphore(_)) {
            parents.extend(["locks", "leases"].map(|part| path.child(part)));
        }
        // A node that was created through another server must be visible to reads through this one.
        self.session.sync("/").await.ok()?;
        for parent in parents {
            match self.session.list_children(parent.as_str()).await {
                Ok(children) => nodes.extend(children.iter().map(|child| parent.child(child))),
                Err(Error::NoNode) => {}
                Err(_) => return None,
            }
        }
        if nodes.len() > MAX_CHECKED_NODES {
            return None;
        }
        let looked: Vec<Option<Option<ZnodePath>>> = stream::iter(nodes)
            .map(|node| async move {
                let stat = self.session.check_stat(node.as_str()).await.ok()?;
                let is_ours = stat.is_some_and(|stat| sessions.contains(&SessionId(stat.ephemeral_owner)));
                Some(is_ours.then_some(node))
            })
            .buffer_unordered(MAX_OUTSTANDING_READS)
            .collect()
            .await;
        let looked: Option<Vec<Option<ZnodePath>>> = looked.into_iter().collect();
        Some(looked?.into_iter().flatten().collect())
    }

    /// Deletes the created parents unless others use them by now, and closes the session.
    pub async fn delete_parents(mut self) {
        while let Some(path) = self.made.pop() {
            // Not empty: others use the node now. Gone: the server has deleted the container.
            let _ = self.session.delete(path.as_str(), None).await;
        }
        close_session(self.session).await;
    }
}

impl ServerCounter {
    /// Returns the events that the servers have fired since
    /// [`start_counting`](Coordinator::start_counting). The share of this program's own recursive
    /// watches in that many deletions is subtracted. An error says why the events are not known.
    pub async fn counted_since_start(&self, deletions: u64) -> Result<ServerEvents, String> {
        let now = self.read_counts().await?;
        let mut events = ServerEvents::default();
        let mut weight = 0;
        for (now, first) in now.iter().zip(&self.counts_at_start) {
            let grown = now.fired.since(&first.fired).ok_or("a server was restarted, which resets its counters")?;
            events.children += grown.children;
            events.deleted += grown.deleted;
            weight = weight.max(now.weight);
        }
        events.deleted = events.deleted.saturating_sub(deletions * self.own_watches * weight);
        Ok(events)
    }

    async fn read_counts(&self) -> Result<Vec<ServerCounts>, String> {
        if !self.asks_servers {
            return Err("the servers are not asked (--server-view off)".to_owned());
        }
        let read = |(server, answer): (String, Result<FourLetterAnswer, AskError>)| {
            let monitor = four_letter::mntr(&answer.map_err(|error| error.to_string())?.text);
            let weight = if counts_once(monitor.version.as_deref().unwrap_or_default()) { 1 } else { 2 };
            let silent = || format!("{server} does not count watch events: it is older than 3.6.0");
            Ok(ServerCounts { fired: monitor.fired.ok_or_else(silent)?, weight })
        };
        self.dialer.ask_each(FourLetterWord::Mntr).await.into_iter().map(read).collect()
    }
}

/// Returns whether a server of this version counts a deletion once for a recursive watch.
fn counts_once(version: &str) -> bool {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= COUNTS_ONCE_SINCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_a_recursive_watch_follows_the_version() {
        for (version, once) in [
            ("3.8.0-abc, built on 2022-03-01", false),
            ("3.9.0-rc1", true),
            ("3.10.1", true),
            ("4.0", true),
            ("", false),
        ] {
            assert_eq!(counts_once(version), once, "{version}");
        }
    }
}

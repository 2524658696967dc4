//! What is found out about the nodes of a plan before they are deleted. Changes nothing.
//!
//! Before the confirmation: which guard each node can have, and which permission is missing. Right
//! before the deletion: the node's state. Its own observer keeps each node's queue up to date, and
//! the servers' reports about the owner are at most a second old.
//!
//! Costs the ensemble one session that observes the nodes' locks, and one survey of the servers for
//! all nodes that are deleted within a second.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use zookeeper_client::Error;

use super::plan::NeededGuard;
use super::{Action, DeletePlan, Examine, NoPlan, Permitted, PlannedNode, RecreationGuard};
use crate::observe::{ObserveOptions, Observed, Observer};
use crate::zk::survey::{SurveyOptions, survey_once};
use lockscope_base::recipe::Classifier;
use lockscope_base::time::now;
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_model::server_view::ServerView;
use lockscope_requests::Requests;

/// The maximum number of tries for a complete survey.
const MAX_SURVEYS: usize = 3;

/// The maximum age of a survey when a node is deleted.
const MAX_SURVEY_AGE: Duration = Duration::from_secs(1);

/// The current state of some nodes' locks, and the servers' current reports.
#[derive(Debug)]
pub struct Examiner {
    observer: Observer,
    table: LockTable,
    survey: SurveyOptions,
    /// The time at which the last survey was answered.
    surveyed: Option<Instant>,
    refused: Option<String>,
}

impl Examiner {
    /// Starts to observe the paths where the locks of these nodes can be. The session ends with
    /// this value, or with [`stop`](Self::stop).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start<'a>(
        observe: ObserveOptions,
        survey: SurveyOptions,
        nodes: impl IntoIterator<Item = &'a ZnodePath>,
    ) -> Self {
        let mut roots: Vec<ZnodePath> = nodes.into_iter().flat_map(lock_places).collect();
        roots.sort();
        roots.dedup();
        let options = ObserveOptions { roots, ..observe };
        Self { table: options.table(), observer: Observer::start(options), survey, surveyed: None, refused: None }
    }

    /// Ends the session, within two seconds.
    pub async fn stop(self) {
        self.observer.stop().await;
    }

    /// Waits until all paths are read and the servers were surveyed within the last second.
    async fn refresh(&mut self) -> Result<(), String> {
        loop {
            while !self.table.is_live() {
                let batch = self.observer.next().await;
                self.apply_batch(batch)?;
            }
            if self.surveyed.is_none_or(|at| at.elapsed() >= MAX_SURVEY_AGE) {
                self.ask_servers().await?;
            }
            // The batches that have arrived already.
            while let Some(batch) = self.observer.next().now_or_never() {
                self.apply_batch(batch)?;
            }
            if self.table.is_live() {
                return Ok(());
            }
        }
    }

    /// Surveys the servers, and applies changes that arrive meanwhile.
    async fn ask_servers(&mut self) -> Result<(), String> {
        let options = self.survey.clone();
        let mut asked = std::pin::pin!(survey(&options));
        let view = loop {
            tokio::select! {
                view = &mut asked => break view,
                batch = self.observer.next() => self.apply_batch(batch)?,
            }
        };
        self.surveyed = Some(Instant::now());
        self.table.apply(Change::Surveyed { view: view.into() }, now());
        Ok(())
    }

    fn apply_batch(&mut self, batch: Option<Vec<Observed>>) -> Result<(), String> {
        let ended = || self.refused.clone().unwrap_or_else(|| "the connection ended".to_owned());
        for Observed { at, change } in batch.ok_or_else(ended)? {
            if let Change::Connection(ConnectionState::Refused { reason }) = &change {
                self.refused = Some(reason.clone());
            }
            self.table.apply(change, at);
        }
        Ok(())
    }
}

impl Examine for Examiner {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        self.refresh().await?;
        match DeletePlan::of(&TableAt::new(&self.table, now()), std::slice::from_ref(&node.path)) {
            Ok(plan) => Ok(plan.nodes().first().cloned()),
            // The execution itself finds out what is there. Nodes with children are never deleted.
            Err(NoPlan::NotFound(_) | NoPlan::NotEmpty(_) | NoPlan::NoParent(..)) => Ok(None),
            Err(why) => Err(why.to_string()),
        }
    }
}

/// Surveys the servers. While connections come and go, a server's count and its list of connections
/// can differ, and its list then cannot be trusted to be complete. In that case it is asked again,
/// up to three times.
pub async fn survey(options: &SurveyOptions) -> ServerView {
    let mut view = ServerView::default();
    for _ in 0..MAX_SURVEYS {
        // An invalid connect string was refused before.
        view = survey_once(options, false).await.unwrap_or_default();
        let in_part = view.members.iter().any(|member| member.connections.is_some() && !member.knows_connections());
        if !in_part {
            break;
        }
    }
    view
}

/// Returns the paths where a node's lock can be: its parent, and the other half of a semaphore.
pub fn lock_places(path: &ZnodePath) -> Vec<ZnodePath> {
    let Some(parent) = path.parent() else { return vec![path.clone()] };
    if parent.is_root() && Sequence::split(path.name()).is_none() {
        // A single node below the root: the rest of the tree is unrelated.
        return vec![path.clone()];
    }
    let mut near = vec![parent.clone()];
    if !parent.is_root() {
        near.extend(Classifier::hints_beside(&parent));
        near.extend(Classifier::hints_of(&parent));
        near.extend(Classifier::regrouped_by(&parent));
    }
    near
}

/// A version that no node has: it would take two billion writes. The servers check the permission
/// before the version, so a change on this condition is refused for the missing permission if there
/// is one, and for the version otherwise.
///
/// The version is not negative: some server that speaks ZooKeeper's protocol might treat any
/// negative version as -1, which is no condition at all.
const IMPOSSIBLE_VERSION: i32 = i32::MAX;

/// The known access to a parent.
#[derive(Clone, Copy)]
struct ParentAccess {
    /// The length of the parent's data, if they may be read and written.
    rewritable: Option<usize>,
}

/// Returns the plan with the guard that each of its nodes can have, and the missing permission to
/// delete it.
///
/// Costs up to three requests a node and two a parent, none of which changes anything. There is no
/// time limit: a caller whose connection may be lost adds one. Cancel safe.
pub async fn find_guards(client: &dyn Requests, plan: DeletePlan) -> Result<DeletePlan, Error> {
    let mut parents = HashMap::new();
    let mut found = Vec::with_capacity(plan.nodes().len());
    for node in plan.nodes() {
        let guard = guard(client, node, &mut parents).await?;
        found.push(Permitted { guard, lacks: lacks(client, plan.action(), node).await? });
    }
    Ok(plan.guarded(found))
}

async fn guard(
    client: &dyn Requests,
    node: &PlannedNode,
    parents: &mut HashMap<String, ParentAccess>,
) -> Result<RecreationGuard, Error> {
    let needed = RecreationGuard::needed(node);
    if needed == NeededGuard::Nothing {
        return Ok(RecreationGuard::UniqueName);
    }
    if needed == NeededGuard::ParentOrNode {
        let path = node.path.parent_str().unwrap_or("/");
        let known = parents.get(path).copied();
        let parent = match known {
            Some(parent) => parent,
            None => ParentAccess { rewritable: rewritable(client, path).await? },
        };
        parents.insert(path.to_owned(), parent);
        if let Some(data_length) = parent.rewritable {
            return Ok(RecreationGuard::Parent { data_length });
        }
    }
    let own = rewritable(client, node.path.as_str()).await?;
    Ok(own.map_or(RecreationGuard::Unguarded, |data_length| RecreationGuard::OwnNode { data_length }))
}

/// Returns the length of a node's data if they may be read and written.
async fn rewritable(client: &dyn Requests, path: &str) -> Result<Option<usize>, Error> {
    let read = client.data(path);
    let write = client.set_data(path, &[], Some(IMPOSSIBLE_VERSION));
    let (read, write) = tokio::join!(read, write);
    match (read, write) {
        (Err(Error::NoAuth), _) | (_, Err(Error::NoAuth)) => Ok(None),
        // If the node is gone, the execution reports it.
        (Ok((data, _)), Err(Error::BadVersion | Error::NoNode)) => Ok(Some(data.len())),
        (Err(Error::NoNode), _) => Ok(Some(0)),
        (Err(error), _) | (_, Err(error)) => Err(error),
        (Ok(_), Ok(_)) => Err(Error::UnexpectedError("a server wrote to a node of an impossible version".to_owned())),
    }
}

async fn lacks(client: &dyn Requests, action: Action, node: &PlannedNode) -> Result<Option<&'static str>, Error> {
    let path = node.path.as_str();
    let (refused, lacks) = match action {
        Action::Delete => (client.delete(path, Some(IMPOSSIBLE_VERSION)).await, "the DELETE permission on its parent"),
        Action::Revoke => {
            (client.set_data(path, &[], Some(IMPOSSIBLE_VERSION)).await.map(|_| ()), "the WRITE permission on it")
        }
    };
    match refused {
        Err(Error::NoAuth) => Ok(Some(lacks)),
        Err(Error::BadVersion | Error::NoNode | Error::NotEmpty) => Ok(None),
        Ok(()) => Err(Error::UnexpectedError("a server changed a node of an impossible version".to_owned())),
        Err(error) => Err(error),
    }
}

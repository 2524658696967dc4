//! Looks at nodes again right before they are deleted: the queue that each stands in, kept up to date by an observer of its own, and
//! what the servers report about its owner, never older than a second.
//!
//! Costs the ensemble one session that observes the locks of the nodes, and one survey of the servers for all nodes that are
//! deleted within a second.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;

use super::{DeletePlan, Examine, NoPlan, PlannedNode};
use crate::observe::{ObserveOptions, Observed, Observer};
use crate::zk::survey::{SurveyOptions, survey_once};
use lockscope_base::recipe::Classifier;
use lockscope_base::time::now;
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_model::server_view::ServerView;

/// How often the servers are asked at most for one survey.
const MAX_SURVEYS: usize = 3;

/// How old a survey may be when a node is deleted.
const MAX_SURVEY_AGE: Duration = Duration::from_secs(1);

/// The locks of some nodes, and what the servers say, as they are now.
#[derive(Debug)]
pub struct Examiner {
    observer: Observer,
    table: LockTable,
    survey: SurveyOptions,
    /// When the last survey had its answers.
    surveyed: Option<Instant>,
    refused: Option<String>,
}

impl Examiner {
    /// Begins to observe where the locks of these nodes can be. Its session ends with this value, or with [`stop`](Self::stop).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start<'a>(
        observe: ObserveOptions,
        survey: SurveyOptions,
        nodes: impl IntoIterator<Item = &'a ZnodePath>,
    ) -> Self {
        let mut roots: Vec<ZnodePath> = nodes.into_iter().flat_map(near).collect();
        roots.sort();
        roots.dedup();
        let options = ObserveOptions { roots, ..observe };
        Self {
            table: LockTable::new(options.named.iter().cloned()).with_recipes(&options.recipes),
            observer: Observer::start(options),
            survey,
            surveyed: None,
            refused: None,
        }
    }

    /// Ends its session; at most two seconds.
    pub async fn stop(self) {
        self.observer.stop().await;
    }

    /// Waits until everything is read and the servers were asked within the last second.
    async fn refresh(&mut self) -> Result<(), String> {
        loop {
            while !self.table.is_live() {
                let batch = self.observer.next().await;
                self.take(batch)?;
            }
            if self.surveyed.is_none_or(|at| at.elapsed() >= MAX_SURVEY_AGE) {
                self.ask_servers().await?;
            }
            // What is there already.
            while let Some(batch) = self.observer.next().now_or_never() {
                self.take(batch)?;
            }
            if self.table.is_live() {
                return Ok(());
            }
        }
    }

    /// Asks the servers; what happens meanwhile is taken too.
    async fn ask_servers(&mut self) -> Result<(), String> {
        let options = self.survey.clone();
        let mut asked = std::pin::pin!(survey(&options));
        let view = loop {
            tokio::select! {
                view = &mut asked => break view,
                batch = self.observer.next() => self.take(batch)?,
            }
        };
        self.surveyed = Some(Instant::now());
        self.table.apply(Change::Surveyed { view: view.into() }, now());
        Ok(())
    }

    fn take(&mut self, batch: Option<Vec<Observed>>) -> Result<(), String> {
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
            // The execution itself finds out what is there, and children are never deleted.
            Err(NoPlan::NotFound(_) | NoPlan::NotEmpty(_) | NoPlan::NoParent(..)) => Ok(None),
            Err(why) => Err(why.to_string()),
        }
    }
}

/// What the servers say. While connections come and go a server counts and lists different ones, and its list cannot be taken
/// for whole: then it is asked again.
pub async fn survey(options: &SurveyOptions) -> ServerView {
    let mut view = ServerView::default();
    for _ in 0..MAX_SURVEYS {
        // A connect string that cannot be read was refused before.
        view = survey_once(options, false).await.unwrap_or_default();
        let in_part = view.members.iter().any(|member| member.connections.is_some() && !member.knows_connections());
        if !in_part {
            break;
        }
    }
    view
}

/// Where a node's lock can be: its parent, and where a semaphore's other half would be.
pub fn near(path: &ZnodePath) -> Vec<ZnodePath> {
    let Some(parent) = path.parent() else { return vec![path.clone()] };
    if parent.is_root() && Sequence::split(path.name()).is_none() {
        // A single node at the top: the rest of the tree has nothing to do with it.
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

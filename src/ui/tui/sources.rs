//! The sources of changes: the nodes of the ensemble, and the servers' reports about themselves.

use std::future::pending;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::run::ChangeSource;
use lockscope_base::znode::ZnodePath;
use lockscope_live::observe::{Observed, Observer};
use lockscope_live::zk::survey::{Surveyor, WatchersWanted};
use lockscope_live::zk::{BadConnectString, ConnectOptions, compare_members};
use lockscope_model::members::ComparedNodes;
use lockscope_model::queue::Change;
use lockscope_model::server_view::{MemberComparison, ServerView};

/// The requests a second to each member that is compared.
const REQUESTS_PER_SECOND: u32 = 2;

/// The observer, the survey of the servers unless it is off, and the comparison of the members.
#[derive(Debug)]
pub struct Sources {
    /// `None` while no ensemble is open.
    observer: Option<Observer>,
    surveyor: Option<Surveyor>,
    connection: ConnectOptions,
    /// The comparison of the members that is under way; at most one.
    comparing: JoinSet<Result<MemberComparison, BadConnectString>>,
}

impl Sources {
    pub fn new(observer: Option<Observer>, surveyor: Option<Surveyor>, connection: ConnectOptions) -> Self {
        Self { observer, surveyor, connection, comparing: JoinSet::new() }
    }

    /// Stops both; takes at most two seconds.
    pub async fn stop(self) {
        if let Some(observer) = self.stop_asking().await {
            observer.stop().await;
        }
    }

    /// Stops to ask the servers. Returns the observer, which goes on.
    pub async fn stop_asking(self) -> Option<Observer> {
        if let Some(surveyor) = self.surveyor {
            surveyor.stop().await;
        }
        self.observer
    }
}

impl ChangeSource for Sources {
    async fn next(&mut self) -> Option<Vec<Observed>> {
        tokio::select! {
            batch = observed(self.observer.as_mut()) => batch,
            Some(view) = viewed(self.surveyor.as_mut()) => {
                if let Some(observer) = &self.observer {
                    observer.compare_members(&view);
                }
                Some(vec![Observed { at: view.at, change: Change::Surveyed { view } }])
            }
            Some(Ok(Ok(comparison))) = self.comparing.join_next() => {
                let (at, comparison) = (comparison.at, Arc::new(comparison));
                Some(vec![Observed { at, change: Change::Compared { comparison } }])
            }
        }
    }

    fn set_watchers_wanted(&mut self, wanted: WatchersWanted) {
        if let Some(surveyor) = &self.surveyor {
            surveyor.ask_for_watchers(wanted);
        }
    }

    fn set_open_queue(&mut self, parent: Option<ZnodePath>) {
        if let Some(observer) = &self.observer {
            observer.set_open_queue(parent);
        }
    }

    fn compare_members(&mut self, nodes: ComparedNodes) {
        if self.comparing.is_empty() {
            let connection = self.connection.clone();
            self.comparing.spawn(async move { compare_members(&connection, &nodes, REQUESTS_PER_SECOND).await });
        }
    }
}

/// Waits for the next changes; forever without an observer.
async fn observed(observer: Option<&mut Observer>) -> Option<Vec<Observed>> {
    match observer {
        Some(observer) => observer.next().await,
        None => pending().await,
    }
}

/// Waits for the next view; forever without a surveyor.
async fn viewed(surveyor: Option<&mut Surveyor>) -> Option<Arc<ServerView>> {
    match surveyor {
        Some(surveyor) => surveyor.next().await,
        None => pending().await,
    }
}

//! The sources of changes: the nodes of the ensemble, and the servers' reports about themselves.

use std::future::pending;
use std::sync::Arc;

use super::run::ChangeSource;
use lockscope_base::znode::ZnodePath;
use lockscope_live::observe::{Observed, Observer};
use lockscope_live::zk::survey::Surveyor;
use lockscope_model::queue::Change;
use lockscope_model::server_view::ServerView;

/// The observer and, unless it is off, the survey of the servers.
#[derive(Debug)]
pub struct Sources {
    observer: Observer,
    surveyor: Option<Surveyor>,
}

impl Sources {
    pub fn new(observer: Observer, surveyor: Option<Surveyor>) -> Self {
        Self { observer, surveyor }
    }

    /// Stops both; takes at most two seconds.
    pub async fn stop(self) {
        if let Some(surveyor) = self.surveyor {
            surveyor.stop().await;
        }
        self.observer.stop().await;
    }
}

impl ChangeSource for Sources {
    async fn next(&mut self) -> Option<Vec<Observed>> {
        tokio::select! {
            batch = self.observer.next() => batch,
            Some(view) = viewed(self.surveyor.as_mut()) => {
                self.observer.compare_members(&view);
                Some(vec![Observed { at: view.at, change: Change::Surveyed { view } }])
            }
        }
    }

    fn set_watchers_wanted(&mut self, wanted: bool) {
        if let Some(surveyor) = &self.surveyor {
            surveyor.ask_for_watchers(wanted);
        }
    }

    fn set_open_queue(&mut self, parent: Option<ZnodePath>) {
        self.observer.set_open_queue(parent);
    }
}

/// Waits for the next view; forever without a surveyor.
async fn viewed(surveyor: Option<&mut Surveyor>) -> Option<Arc<ServerView>> {
    match surveyor {
        Some(surveyor) => surveyor.next().await,
        None => pending().await,
    }
}

//! The source of the console's options, which is read again while the console runs.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::app::{ConfigChange, Event};
use super::theme::Palette;

/// How often the config file is checked for changes; one check reads its metadata.
const CONFIG_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The options that can change while the screen is shown.
#[derive(Clone, Debug)]
pub struct ReadAgain {
    /// The change for the state of the screen.
    pub change: ConfigChange,
    /// The colours.
    pub theme: Palette,
    /// Whether to draw with ASCII only.
    pub ascii: bool,
}

/// A source of options. Its methods block the thread for as long as the disk takes.
pub trait OptionsSource: Debug + Send + Sync {
    /// The options that the console starts with.
    type Options;

    /// Returns the options for another context, or a sentence that says why there are none.
    fn in_context(&self, name: &str) -> Result<Self::Options, String>;

    /// Returns what has changed since the last call; `None` when nothing has.
    fn read_again(&self) -> Option<ReadAgain>;
}

/// Checks for changes in a task of its own, which ends when this value is dropped.
#[derive(Debug)]
pub(super) struct ConfigWatch {
    changes: mpsc::Receiver<ReadAgain>,
    _task: JoinSet<()>,
}

impl ConfigWatch {
    pub(super) fn start<O: 'static>(source: Arc<dyn OptionsSource<Options = O>>) -> Self {
        let (sender, changes) = mpsc::channel(1);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut check = interval(CONFIG_CHECK_INTERVAL);
            check.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                check.tick().await;
                let source = Arc::clone(&source);
                let Ok(change) = spawn_blocking(move || source.read_again()).await else { return };
                if let Some(change) = change
                    && sender.send(change).await.is_err()
                {
                    return;
                }
            }
        });
        Self { changes, _task: task }
    }

    /// Waits for the next change; forever once no more will come. Cancel safe.
    pub(super) async fn next(&mut self) -> ReadAgain {
        match self.changes.recv().await {
            Some(change) => change,
            None => std::future::pending().await,
        }
    }
}

impl ReadAgain {
    pub(super) fn event(&self) -> Event {
        Event::ConfigChanged(Box::new(self.change.clone()))
    }
}

//! Where the options of the console come from, to be asked again while it runs.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::app::{ConfigChange, Event};
use super::theme::Palette;

/// How often it is looked whether the config file has changed: one look at its metadata.
const CONFIG_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// What of the options can change while the screen is shown.
#[derive(Clone, Debug)]
pub struct ReadAgain {
    /// What the state of the screen takes in.
    pub change: ConfigChange,
    /// Which colours.
    pub theme: Palette,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
}

/// Where the options come from. Its functions block the thread as long as the disk does.
pub trait OptionsSource: Debug + Send + Sync {
    /// What the console starts with.
    type Options;

    /// The options with another context in force; else why there are none, as a sentence.
    fn in_context(&self, name: &str) -> Result<Self::Options, String>;

    /// What has changed since the last time; `None` when nothing has.
    fn read_again(&self) -> Option<ReadAgain>;
}

/// Looks for changes in a task of its own, which ends with this value.
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

    /// The next change; never, when no more will come. Cancel safe.
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

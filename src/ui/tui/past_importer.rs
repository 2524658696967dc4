//! Takes the past in from the transaction logs of a server on this machine, when the user asks.

use std::sync::Arc;
use std::time::Duration;

use super::app::{Event, TakeIn, TakenIn, folder_names};
use super::past_writer::PastWriter;
use lockscope_base::znode::{TimeRange, ZnodePath};
use lockscope_live::observe::ObserveOptions;
use lockscope_live::zk::local_data_folders;
use lockscope_model::diagnose::Thresholds;
use lockscope_past::import::{ImportOptions, ServerFiles, import};
use lockscope_past::record::Past;

/// How much of the past is taken in.
const LONGEST_PAST: Duration = Duration::from_secs(24 * 3600);

/// Imports the logs of the shown ensemble into the past in memory. Ends when it is dropped.
#[derive(Debug)]
pub struct PastImporter {
    observe: ObserveOptions,
    thresholds: Thresholds,
    lives: Arc<()>,
}

impl PastImporter {
    pub fn new(observe: ObserveOptions, thresholds: Thresholds) -> Self {
        Self { observe, thresholds, lives: Arc::new(()) }
    }

    /// Looks for the folders of servers on this machine. Reads nothing in them.
    pub fn find(&self) -> impl Future<Output = Event> + use<> {
        let connect = self.observe.connection.connect.clone();
        async move { Event::ServerFilesFound(local_data_folders(&connect).await.unwrap_or_default()) }
    }

    /// Returns the work of an import, which blocks a thread.
    pub fn take_in(&self, wish: TakeIn, writer: PastWriter) -> impl FnOnce() -> Event + use<> {
        let lives = Arc::downgrade(&self.lives);
        let TakeIn { folders, session, until, leaderless } = wish;
        let options = ImportOptions {
            roots: self.observe.roots.clone(),
            named: self.observe.named.clone(),
            recipes: self.observe.recipes.clone(),
            expected: self.observe.expected.clone(),
            thresholds: self.thresholds,
            time: TimeRange { from: until.minus(LONGEST_PAST), to: until },
            with_data: true,
        };
        move || {
            let taken = ServerFiles::find(&folders).and_then(|files| {
                let is_ours = files.know_session(session)?;
                Ok((files, is_ours))
            });
            let taken = match taken {
                Err(error) => Err(error.to_string()),
                Ok((_, false)) => Err(format!(
                    "{} has no log in which this console's session begins: it is of another ensemble, or the log was deleted",
                    folder_names(&folders)
                )),
                Ok((files, true)) => take_in(files, &options, &writer, &leaderless, &|| lives.strong_count() > 0),
            };
            Event::PastTakenIn(taken)
        }
    }
}

fn take_in(
    files: ServerFiles,
    options: &ImportOptions,
    writer: &PastWriter,
    leaderless: &[ZnodePath],
    goes_on: &dyn Fn() -> bool,
) -> Result<TakenIn, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("there is no room for the import: {error}"))?;
    let target = folder.path().join("past.db");
    let done = import(files, &target, options, &mut |_| goes_on()).map_err(|error| error.to_string())?;
    let since = writer.prepend(&target).map_err(|error| error.to_string())?;
    let since = since.ok_or("the logs have nothing from before this console started")?;
    let leaders = Past::open(&target).and_then(|mut past| past.last_leaders(leaderless)).unwrap_or_default();
    Ok(TakenIn { since, transactions: done.transactions, leaders })
}

//! Writes the console's past into memory or a file, and takes the earlier past in from the
//! transaction logs of a server on this machine, when the user asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::app::{Event, RecordedSize, Recording, TakeIn, TakenIn, folder_names};
use super::past_reader::PastReader;
use lockscope_base::time::now;
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath};
use lockscope_live::observe::ObserveOptions;
use lockscope_live::zk::{EnsembleAddress, local_data_folders};
use lockscope_model::diagnose::Thresholds;
use lockscope_past::import::{ImportOptions, ServerFiles, import};
use lockscope_past::record::{
    Batch, BatchWriter, Bounds, LostBatches, Past, Playback, RecordOptions, RecordedState, StoreError,
};

#[cfg(test)]
mod tests;

/// Where the console keeps the past of what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastPlace {
    /// The past is not kept.
    None,
    /// The past is kept in memory, in at most this many bytes.
    Memory(u64),
    /// The past is kept in a file. If another program records into the file, or only another user
    /// may write to it, the console only reads it.
    File(PathBuf),
}

/// The past that is being written. Cheap to clone: all clones write the same past.
#[derive(Clone, Debug)]
pub struct PastWriter {
    open: Arc<Mutex<OpenWriter>>,
}

#[derive(Debug)]
struct OpenWriter {
    writer: BatchWriter,
    written: Past,
    /// Reads the same recording.
    reader: PastReader,
}

/// Why the past cannot be kept. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    /// The file cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file has the past of another ensemble.
    #[error("{} was recorded from {recorded}, and this is {connect}: name a file of this ensemble, or a new file", path.display())]
    OtherEnsemble {
        /// The file.
        path: PathBuf,
        /// The ensemble in the file.
        recorded: String,
        /// The ensemble that is shown.
        connect: String,
    },
}

/// The parts that keep the past of the live ensemble.
#[derive(Debug)]
pub struct LivePast {
    /// Collects the changes.
    pub recording: Recording,
    /// Writes the collected changes; `None` where another program does.
    pub writer: Option<PastWriter>,
    /// Reads the past.
    pub reader: PastReader,
    /// The state at the end of the file, with which the console goes on.
    pub last: Option<RecordedState>,
}

impl LivePast {
    /// Starts to keep the past of an ensemble. `connect` names the ensemble's servers and the node
    /// that stands for `/`. Returns `None` if the past is not to be kept. Blocks the thread for as
    /// long as the disk takes.
    pub fn start(place: &PastPlace, connect: &str, utc: bool) -> Result<Option<Self>, PastError> {
        let writer = match place {
            PastPlace::None => return Ok(None),
            PastPlace::Memory(bytes) => {
                let bounds = Bounds { keep: None, max_bytes: Some(*bytes) };
                BatchWriter::in_memory(RecordOptions { bounds, with_data: true, group_reads: false })?
            }
            PastPlace::File(path) => {
                refuse_other_ensembles(path, connect)?;
                let last = last_state(path);
                let options = RecordOptions { bounds: Bounds::USUAL, with_data: true, group_reads: false };
                match BatchWriter::create(path, options) {
                    Err(error)
                        if matches!(error, StoreError::InUse(_)) || path.exists() && error.is_only_for_reading() =>
                    {
                        return Ok(Some(Self { last, ..Self::of_another_program(path, utc)? }));
                    }
                    writer => return Self::written_by(writer?, connect, last, utc).map(Some).map_err(PastError::from),
                }
            }
        };
        let mut past = Self::written_by(writer, connect, None, utc)?;
        past.recording = past.recording.in_memory();
        Ok(Some(past))
    }

    fn written_by(
        mut writer: BatchWriter,
        connect: &str,
        last: Option<RecordedState>,
        utc: bool,
    ) -> Result<Self, StoreError> {
        let mut batches = writer.recorder(connect)?;
        if let Some(last) = &last {
            batches.resume_with(&last.table);
        }
        let mut written = writer.past()?;
        let since = since(&mut written)?;
        let reader = PastReader::new(writer.past()?, utc);
        let open = OpenWriter { writer, written, reader: reader.clone() };
        let writer = PastWriter { open: Arc::new(Mutex::new(open)) };
        Ok(Self { recording: Recording::new(Some(batches), since, now()), writer: Some(writer), reader, last })
    }

    fn of_another_program(path: &Path, utc: bool) -> Result<Self, StoreError> {
        let mut past = Past::open(path)?;
        let since = since(&mut past)?;
        let (recording, reader) = (Recording::new(None, since, now()), PastReader::new(past, utc));
        Ok(Self { recording, writer: None, reader, last: None })
    }
}

impl PastWriter {
    /// Writes the collected changes. Blocks the thread for as long as the disk takes.
    pub fn write(&self, batches: Vec<Batch>, at: Timestamp) -> Event {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = open.write(batches, at);
        let waits =
            |trouble: &str| format!("The past cannot be written at the moment; lockscope tries again: {trouble}");
        let news = open.writer.file_news().map(str::to_owned);
        let trouble = news.or_else(|| open.writer.trouble().map(waits));
        let since = since(&mut open.written).ok().flatten();
        Event::Recorded(Box::new(RecordedSize { since, trouble, lost }))
    }

    /// Puts an earlier recording before the beginning. Returns the new beginning, if there is one.
    /// Blocks the thread meanwhile.
    pub fn prepend(&self, earlier: &Path) -> Result<Option<Timestamp>, StoreError> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).writer.prepend(earlier)
    }

    /// Writes the last changes. Fails if that takes longer than two seconds, or the file was lost
    /// since the last write, and blocks the thread meanwhile.
    pub fn finish(&self, batches: Vec<Batch>, at: Timestamp) -> Result<(), StoreError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.writer.finish(batches, at)?;
        match open.writer.file_news() {
            Some(news) if open.writer.has_lost() => Err(StoreError::Gone(news.to_owned())),
            _ => Ok(()),
        }
    }
}

impl OpenWriter {
    /// Writes, and reads another file from now on if the file went. A new file begins empty: the
    /// past of the one that went can be replayed where it is.
    fn write(&mut self, batches: Vec<Batch>, at: Timestamp) -> Option<LostBatches> {
        let is_gone = self.writer.is_file_gone();
        if is_gone && let Ok((written, read)) = Past::empty().and_then(|written| Ok((written, Past::empty()?))) {
            self.written = written;
            self.reader.replace(read);
        }
        let lost = self.writer.write_batches(batches, at);
        if is_gone
            && let Ok((written, read)) = self.writer.past().and_then(|written| Ok((written, self.writer.past()?)))
        {
            self.written = written;
            self.reader.replace(read);
        }
        lost
    }
}

/// Returns the state at the end of a file; `None` where there is none. A file whose end is damaged
/// can still be written to, and whose clock is ahead is not believed.
fn last_state(path: &Path) -> Option<RecordedState> {
    let past = fs::metadata(path).is_ok_and(|file| file.len() > 0).then(|| Past::open(path).ok())??;
    let (at, state) = Playback::last_state(past).ok()??;
    (at <= now()).then_some(state)
}

/// Refuses the file if it belongs to another ensemble. A missing or empty file belongs to none.
fn refuse_other_ensembles(path: &Path, connect: &str) -> Result<(), PastError> {
    if fs::metadata(path).map_or(true, |file| file.len() == 0) {
        return Ok(());
    }
    let mut past = Past::open(path)?;
    let Some(last) = past.segments()?.pop() else { return Ok(()) };
    let recorded = past.connect(last.run)?;
    if EnsembleAddress::of(&recorded).is_of_the_same(&EnsembleAddress::of(connect)) {
        return Ok(());
    }
    Err(PastError::OtherEnsemble { path: path.to_owned(), recorded, connect: connect.to_owned() })
}

fn since(past: &mut Past) -> Result<Option<Timestamp>, StoreError> {
    Ok(past.span()?.map(|all| all.from))
}

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

//! The thread that writes a recording. It tries again, later and later, what the disk does not take.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior, params};

use super::bounds::Bounds;
use super::frame;
use super::store::{Store, StoreError};
use crate::znode::Timestamp;

/// Batches between the recorder and the thread. One comes each second.
const MAX_QUEUED_BATCHES: usize = 4;

/// The first pause after a write that failed.
const MIN_PAUSE: Duration = Duration::from_millis(250);

/// The longest one.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// How often the last batches are tried when the recording ends.
const LAST_TRIES: u32 = 4;

/// What is written in one transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The segment that begins with it.
    pub begins: Option<SegmentStart>,
    /// Entries of the segment, and how many that are.
    pub entries: (Vec<u8>, u64),
    /// Until when everything that happened is in the file now.
    pub until: Timestamp,
    /// Whether the segment ends with it.
    pub ends: bool,
}

/// How a segment begins.
#[derive(Debug)]
pub(super) struct SegmentStart {
    pub from: Timestamp,
    /// The state before its first entry, not compressed.
    pub state: Vec<u8>,
    /// Whether something is missing between the segment before and this one.
    pub new_run: bool,
}

/// What the thread says, and is told, besides the batches.
#[derive(Debug, Default)]
struct Shared {
    trouble: Mutex<Option<String>>,
    queued: AtomicUsize,
    ends: AtomicBool,
}

/// The way to the thread that writes.
#[derive(Debug)]
pub(super) struct WriterHandle {
    batches: SyncSender<Batch>,
    thread: JoinHandle<Result<(), StoreError>>,
    shared: Arc<Shared>,
}

impl WriterHandle {
    /// Starts the thread.
    pub fn start(store: Store, bounds: Bounds) -> Result<Self, StoreError> {
        let (batches, receiver) = sync_channel(MAX_QUEUED_BATCHES);
        let shared = Arc::new(Shared::default());
        let mut writer = Writer::new(store, bounds, Arc::clone(&shared))?;
        let thread = thread::Builder::new().name("record".to_owned()).spawn(move || writer.run(&receiver));
        Ok(Self { batches, thread: thread.map_err(StoreError::Thread)?, shared })
    }

    /// Whether one more batch can be handed over.
    pub fn has_room(&self) -> bool {
        self.shared.queued.load(Ordering::Relaxed) < MAX_QUEUED_BATCHES
    }

    /// Hands a batch over. Only to be called when there [is room](Self::has_room).
    pub fn send(&self, batch: Batch) {
        self.shared.queued.fetch_add(1, Ordering::Relaxed);
        // Fails only when the thread is gone: it panicked, and `finish` says so.
        let _ = self.batches.try_send(batch);
    }

    /// Why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until a last batch and all before it are written. Blocks the thread as long as the disk does, and while it does not take
    /// them for a few seconds.
    pub fn finish(self, last: Batch) -> Result<(), StoreError> {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.shared.queued.fetch_add(1, Ordering::Relaxed);
        // Fails only when the thread is gone, whose error is returned below.
        let _ = self.batches.send(last);
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Writer {
    store: Store,
    bounds: Bounds,
    shared: Arc<Shared>,
    run: i64,
    segment: Option<OpenSegment>,
}

/// The segment to which batches are added.
struct OpenSegment {
    id: i64,
    run: i64,
    chunks: i64,
    /// All its entries, to be put together when it ends.
    bytes: Vec<u8>,
}

impl Writer {
    fn new(mut store: Store, bounds: Bounds, shared: Arc<Shared>) -> Result<Self, StoreError> {
        let run = store.sql(|sql| sql.query_row("SELECT coalesce(max(run), 0) FROM segment", [], |row| row.get(0)))?;
        store.sql(|sql| bounds.limit(sql))?;
        Ok(Self { store, bounds, shared, run, segment: None })
    }

    fn run(&mut self, batches: &Receiver<Batch>) -> Result<(), StoreError> {
        while let Ok(batch) = batches.recv() {
            let mut pause = MIN_PAUSE;
            let mut last_tries = LAST_TRIES;
            while let Err(error) = self.write(&batch) {
                self.say(Some(&error));
                if self.shared.ends.load(Ordering::Relaxed) {
                    last_tries -= 1;
                    if last_tries == 0 {
                        return Err(error);
                    }
                }
                thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
            self.say(None);
            self.shared.queued.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn say(&self, error: Option<&StoreError>) {
        *self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner) = error.map(ToString::to_string);
    }

    /// Writes a batch as a whole, or nothing of it.
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let (bounds, last_run) = (self.bounds, self.run);
        let open = self.segment.as_ref().filter(|_| batch.begins.is_none());
        let begun = self.store.sql(|sql| {
            let transaction = sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let begun = match &batch.begins {
                Some(start) => Some(begin(&transaction, start, last_run)?),
                None => None,
            };
            if let Some(segment) = begun.as_ref().or(open) {
                append(&transaction, segment, batch)?;
            }
            transaction.commit()?;
            Ok(begun)
        })?;
        if let Some(begun) = begun {
            self.run = begun.run;
            self.segment = Some(begun);
        }
        if let Some(segment) = &mut self.segment {
            segment.chunks += 1;
            segment.bytes.extend_from_slice(&batch.entries.0);
        }
        if batch.ends {
            self.segment = None;
            self.store.sql(|sql| bounds.keep(sql, batch.until))?;
        }
        Ok(())
    }
}

fn begin(transaction: &Transaction<'_>, start: &SegmentStart, last_run: i64) -> rusqlite::Result<OpenSegment> {
    let run = if start.new_run { last_run + 1 } else { last_run };
    let new = "INSERT INTO segment (run, from_ms, until_ms, entries) VALUES (?1, ?2, ?2, 0)";
    transaction.execute(new, params![run, start.from.0])?;
    let id = transaction.last_insert_rowid();
    let state = frame::pack(&start.state).map_err(of_frame)?;
    transaction.execute("INSERT INTO keyframe (segment, state) VALUES (?1, ?2)", params![id, state])?;
    Ok(OpenSegment { id, run, chunks: 0, bytes: Vec::new() })
}

fn append(transaction: &Transaction<'_>, segment: &OpenSegment, batch: &Batch) -> rusqlite::Result<()> {
    let (bytes, count) = &batch.entries;
    let mut update = transaction
        .prepare_cached("UPDATE segment SET until_ms = max(until_ms, ?2), entries = entries + ?3 WHERE id = ?1")?;
    update.execute(params![segment.id, batch.until.0, i64::try_from(*count).unwrap_or(i64::MAX)])?;
    let mut insert = transaction.prepare_cached("INSERT INTO chunk (segment, number, entries) VALUES (?1, ?2, ?3)")?;
    if batch.ends {
        transaction.execute("DELETE FROM chunk WHERE segment = ?1", [segment.id])?;
        let all = [segment.bytes.as_slice(), bytes].concat();
        insert.execute(params![segment.id, 0, frame::pack(&all).map_err(of_frame)?])?;
    } else if !bytes.is_empty() {
        insert.execute(params![segment.id, segment.chunks, frame::pack(bytes).map_err(of_frame)?])?;
    }
    Ok(())
}

fn of_frame(error: std::io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}

//! Writes the batches of an import in a thread of its own, beside the reading of the logs.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::record::{Batch, BatchWriter, StoreError};
use lockscope_base::znode::Timestamp;

/// How many times batches wait for the disk: each has at most 4 MiB of entries, and their rows.
const WAITING: usize = 1;

type Batches = (Vec<Batch>, Timestamp);

/// Why nothing more is written.
pub enum NotWritten {
    /// The reason, as a sentence.
    Lost(String),
    /// The end could not be written.
    Store(StoreError),
}

/// The thread that writes. It ends with this value, whose end waits for it.
pub struct WritingThread {
    batches: Option<SyncSender<Batches>>,
    thread: Option<JoinHandle<Result<BatchWriter, String>>>,
}

impl WritingThread {
    /// Starts the thread.
    pub fn start(writer: BatchWriter) -> Self {
        let (batches, received) = sync_channel(WAITING);
        Self { batches: Some(batches), thread: Some(thread::spawn(move || write_all(writer, &received))) }
    }

    /// Hands over batches, oldest first. Waits while earlier ones are written.
    pub fn write(&mut self, batches: Batches) -> Result<(), NotWritten> {
        match self.batches.as_ref().map(|writer| writer.send(batches)) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => self.end().map(drop),
        }
    }

    /// Writes the last batches, and returns the numbers of holds and of waits without a hold.
    pub fn finish(mut self, (batches, at): Batches) -> Result<(u64, u64), NotWritten> {
        self.end()?.finish_alone(batches, at).map_err(NotWritten::Store)
    }

    fn end(&mut self) -> Result<BatchWriter, NotWritten> {
        self.batches = None;
        let ended = self.thread.take().and_then(|thread| thread.join().ok());
        ended.unwrap_or_else(|| Err("the thread that writes has failed".to_owned())).map_err(NotWritten::Lost)
    }
}

impl Drop for WritingThread {
    fn drop(&mut self) {
        // An error is told by the call that it stops.
        drop(self.end());
    }
}

fn write_all(mut writer: BatchWriter, received: &Receiver<Batches>) -> Result<BatchWriter, String> {
    for (batches, at) in received {
        let lost = writer.write_batches(batches, at).map(|lost| lost.reason);
        if let Some(reason) = lost.or_else(|| writer.trouble().map(str::to_owned)) {
            return Err(reason);
        }
    }
    Ok(writer)
}

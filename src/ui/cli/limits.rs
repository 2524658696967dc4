//! What the program asks of the machine before it starts: open files, memory and threads. Without
//! them, libraries panic or wait for ever.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use bytesize::ByteSize;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The fewest files that must be open at once: sockets to the members of an ensemble, the files of a
/// recording, and what the runtime opens for itself.
const MIN_FILES: u64 = 64;

/// The fewest bytes of addresses: the stacks of the threads, and the pools of the allocator.
const MIN_ADDRESSES: u64 = 256 << 20;

/// How many threads there are at once at the start: the runtime's and those for files.
const THREADS: usize = 8;

/// A limit that is too low. Each message is one sentence that says how to raise it.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// Too few files may be open.
    #[error("only {0} files may be open at once, and {MIN_FILES} are needed: raise the limit (ulimit -n)")]
    Files(u64),
    /// Too little memory may be used.
    #[error("only {0} of addresses may be used, and 256 MiB are needed: raise the limit (ulimit -v)")]
    Memory(ByteSize),
    /// The system starts no more threads.
    #[error(
        "the system starts no more threads: {0}; raise the limits of processes and of memory (ulimit -u, ulimit -v)"
    )]
    Threads(io::Error),
}

/// Raises the limit of open files as far as it may be raised, and checks that the program can run.
///
/// # Errors
///
/// Fails when a limit is too low to start with. A limit that is reached later is an error of the
/// connection or of the file that met it.
pub fn claim() -> Result<(), LimitError> {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: files.maximum, ..files };
    // It stays as it was where the system refuses.
    let allowed = if setrlimit(Resource::Nofile, raised).is_ok() { raised.current } else { files.current };
    if let Some(few) = allowed.filter(|files| *files < MIN_FILES) {
        return Err(LimitError::Files(few));
    }
    if let Some(little) = getrlimit(Resource::As).current.filter(|bytes| *bytes < MIN_ADDRESSES) {
        return Err(LimitError::Memory(ByteSize(little)));
    }
    start_threads().map_err(LimitError::Threads)
}

/// Starts as many threads as are needed at once, and ends them.
fn start_threads() -> io::Result<()> {
    let gate = Mutex::new(());
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        // The gate opens when the last thread is started, or one cannot be.
        let _closed = closed;
        let wait = || drop(gate.lock());
        (0..THREADS).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, wait).map(drop))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_is_allowed_is_enough_and_the_limit_of_files_is_raised() {
        claim().unwrap();
        let files = getrlimit(Resource::Nofile);
        assert_eq!(files.current, files.maximum);
    }
}

//! The thread on which a past is written, which is always the same one: what a thread has freed stays with it for its next allocations,
//! so that each thread of the runtime's pool that once wrote would keep megabytes.

use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs one after the other. It ends with its last clone.
#[derive(Clone, Debug)]
pub(super) struct WriterThread {
    jobs: Sender<Job>,
}

impl WriterThread {
    pub fn start() -> Self {
        let (jobs, to_do) = channel::<Job>();
        thread::spawn(move || to_do.into_iter().for_each(|job| job()));
        Self { jobs }
    }

    /// Runs a job behind those that were given before, of which the caller awaits each before the next. When the future is dropped, the job
    /// is done all the same.
    pub fn run<T: Send + 'static>(self, job: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> + Send {
        let (done, outcome) = oneshot::channel();
        let job = Box::new(move || {
            // Fails when nobody waits for it any more.
            let _ = done.send(job());
        });
        let given = self.jobs.send(job);
        async move {
            given.expect("the thread ends with its last job");
            outcome.await.expect("no job panics")
        }
    }
}

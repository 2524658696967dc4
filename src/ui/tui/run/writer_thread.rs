//! The single thread that writes the past. Memory that a thread frees stays with it for its next
//! allocations, so each thread of the runtime's pool that ever wrote would keep megabytes.

use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs one after the other. The thread ends when the last clone is dropped.
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

    /// Runs a job after those given before. The caller awaits each job before the next. Dropping
    /// the future does not cancel the job.
    pub fn run<T: Send + 'static>(self, job: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> + Send {
        let (done, outcome) = oneshot::channel();
        let job = Box::new(move || {
            // Fails when nobody awaits the result any more.
            let _ = done.send(job());
        });
        let given = self.jobs.send(job);
        async move {
            given.expect("the thread ends with its last job");
            outcome.await.expect("no job panics")
        }
    }
}

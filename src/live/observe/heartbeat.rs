//! Notices that the ensemble does not answer any more.
//!
//! The client library notices it too, but only after most of the session timeout. And a member that
//! has lost its leader answers the library's heartbeats and all reads as if nothing had happened,
//! for many seconds.

use std::time::Duration;

use futures::future::BoxFuture;
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_requests::Requests;
use tokio::time::{Instant, sleep_until, timeout_at};
use zookeeper_client::Error;

/// The time after which an ensemble that sends nothing is asked.
const ASK_AFTER: Duration = Duration::from_millis(1500);

/// The time after which an ensemble that sends nothing is silent.
pub(super) const SILENT_AFTER: Duration = Duration::from_secs(3);

/// Asks an ensemble that sends nothing by a `sync`, which only the leader answers.
///
/// Costs at most one request in [`ASK_AFTER`], and none while events or answers come.
pub(super) struct Heartbeat<'a> {
    client: &'a dyn Requests,
    question: Option<BoxFuture<'a, Result<(), Error>>>,
    heard: Instant,
    is_silent: bool,
}

/// What a heartbeat found.
#[derive(Debug)]
pub(super) enum Beat {
    /// The ensemble answered.
    Answered(Result<(), Error>),
    /// Nothing has come for [`SILENT_AFTER`].
    Silent,
}

impl<'a> Heartbeat<'a> {
    /// Starts when the ensemble has just answered.
    pub(super) fn new(client: &'a dyn Requests) -> Self {
        Self { client, question: None, heard: Instant::now(), is_silent: false }
    }

    /// Notes that something came from the ensemble. Returns whether it was silent before.
    pub(super) fn heard(&mut self) -> bool {
        self.heard = Instant::now();
        std::mem::take(&mut self.is_silent)
    }

    /// Returns when something came for the last time.
    pub(super) fn heard_at(&self) -> Timestamp {
        let ago = i64::try_from(self.heard.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp(now().0.saturating_sub(ago))
    }

    /// Waits for the answer to a question, or for the silence. Cancel safe.
    pub(super) async fn next(&mut self) -> Beat {
        let Self { client, question, heard, is_silent } = self;
        if question.is_none() {
            sleep_until(*heard + ASK_AFTER).await;
        }
        let asked = question.get_or_insert_with(|| client.sync("/"));
        let answer = if *is_silent {
            asked.await
        } else if let Ok(answer) = timeout_at(*heard + SILENT_AFTER, asked).await {
            answer
        } else {
            *is_silent = true;
            return Beat::Silent;
        };
        *question = None;
        Beat::Answered(answer)
    }
}

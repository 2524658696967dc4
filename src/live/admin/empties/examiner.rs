//! Looks at each empty parent again right before its deletion, and spares slow servers.

use std::time::Duration;

use futures::future::join;
use lockscope_requests::Requests;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::admin::{Emptiness, Ending, Examine, PlannedNode};
use crate::zk::stat_of;

/// The pause is this many times as long as the last answer took, so that at most a fifth of a slow
/// server's time goes into the deletions.
const PAUSE_FACTOR: u32 = 4;

/// Answers that come faster need no pause.
const FAST: Duration = Duration::from_millis(20);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Reads the stat of each node again, in sync with the leader: two requests in one round trip. Leaves the rest once the run is to stop, or once the servers
/// or the audit log fail.
#[derive(Debug)]
pub struct EmptyExaminer<'a> {
    client: &'a dyn Requests,
    patience: Duration,
    stop: &'a CancellationToken,
    pause: Duration,
}

impl<'a> EmptyExaminer<'a> {
    /// Starts to examine on a session other than the one that deletes. `patience` is the time limit
    /// of an answer.
    pub fn new(client: &'a dyn Requests, patience: Duration, stop: &'a CancellationToken) -> Self {
        Self { client, patience, stop, pause: Duration::ZERO }
    }
}

impl Examine for EmptyExaminer<'_> {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        let asked = Instant::now();
        let path = node.path.as_str();
        // A server that lags may still show a parent as it was before somebody used it.
        let in_sync = async { join(self.client.sync(path), self.client.stat(path)).await };
        let answer = timeout(self.patience, in_sync).await;
        self.pause = pause_after(asked.elapsed());
        let (synced, stat) = answer.map_err(|_| "the server is silent".to_owned())?;
        let stat = synced.and(stat).map_err(|error| error.to_string())?;
        let stat = stat.as_ref().map(stat_of);
        Ok(stat.map(|stat| PlannedNode { czxid: stat.czxid, emptiness: Some(Emptiness::from(&stat)), ..node.clone() }))
    }

    async fn may_go_on(&mut self, last: Option<&Ending>) -> bool {
        // The next node would fail in the same way.
        let failed = matches!(
            last,
            Some(Ending::NotDone { .. } | Ending::NotKnown { .. } | Ending::NotAudited { .. } | Ending::DeletedOther)
        );
        if failed || self.stop.is_cancelled() {
            return false;
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = sleep(self.pause) => true,
        }
    }
}

fn pause_after(answer: Duration) -> Duration {
    if answer < FAST { Duration::ZERO } else { answer.saturating_mul(PAUSE_FACTOR).min(MAX_PAUSE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_the_servers_answers_and_has_a_limit() {
        assert_eq!(pause_after(Duration::from_millis(2)), Duration::ZERO);
        assert_eq!(pause_after(Duration::from_millis(100)), Duration::from_millis(400));
        assert_eq!(pause_after(Duration::MAX), MAX_PAUSE);
    }
}

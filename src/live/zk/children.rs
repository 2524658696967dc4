//! Reads the children of one node: all names with one request, then the stats in paced slices.

use std::time::Duration;

use futures::future::try_join_all;
use tokio::time::{Instant, sleep_until};
use zookeeper_client::{Client, Error};

use super::node::stat_of;
use lockscope_base::znode::{ZnodePath, ZnodeStat};

/// The stats of one slice, which are under way at the same time. A server answers that many in about
/// a millisecond.
const SLICE: usize = 64;

/// The shortest time from the beginning of one slice to the next: 640 stats a second.
const INTERVAL: Duration = Duration::from_millis(100);

/// How much longer than a slice took the pause after it is: a busy server is asked less often.
const PAUSE_BY_TIME_TAKEN: u32 = 4;

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Reads the children of one node. Leaves no watch.
#[derive(Debug)]
pub struct ChildrenReader {
    client: Client,
    path: ZnodePath,
    /// The names in reverse order.
    names: Vec<String>,
    next: Instant,
}

impl ChildrenReader {
    /// Lists the names with one request. Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns the errors of the client library.
    pub async fn list(client: Client, path: ZnodePath) -> Result<Self, Error> {
        let mut names = client.list_children(path.as_str()).await?;
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Self { client, path, names, next: Instant::now() })
    }

    /// Returns the number of children that were not read yet.
    pub fn left(&self) -> usize {
        self.names.len()
    }

    /// Waits until it is time for the next slice.
    pub async fn turn(&self) {
        sleep_until(self.next).await;
    }

    /// Reads the stats of the next children by name, of at most `limit`. Leaves out those that are
    /// gone: the result is empty at the end, and where all of a slice are gone. Not cancel safe: the
    /// next slice begins behind this one.
    ///
    /// # Errors
    ///
    /// Returns the errors of the client library.
    pub async fn slice(&mut self, limit: usize) -> Result<Vec<(String, ZnodeStat)>, Error> {
        let began = Instant::now();
        let names = self.names.split_off(self.names.len().saturating_sub(limit.min(SLICE)));
        let stats = names.into_iter().rev().map(|name| {
            let asked = self.client.check_stat(self.path.child(&name).as_str());
            async move { Ok::<_, Error>(asked.await?.map(|stat| (name, stat_of(&stat)))) }
        });
        let read = try_join_all(stats).await?;
        self.next = began + pause_after(began.elapsed());
        Ok(read.into_iter().flatten().collect())
    }
}

/// Returns the time from the beginning of a slice that took `took` to the next one.
fn pause_after(took: Duration) -> Duration {
    INTERVAL.max(took + (took * PAUSE_BY_TIME_TAKEN).min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_server_is_asked_less_often_up_to_a_bound() {
        let pauses = [1, 20, 50, 10_000].map(|took| pause_after(Duration::from_millis(took)).as_millis());
        assert_eq!(pauses, [100, 100, 250, 12_000]);
    }
}

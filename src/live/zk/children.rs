//! Reads many nodes at a pace that a server hardly feels: of one node's children all names with one
//! request, then the stats in slices.

use std::time::Duration;

use futures::future::try_join_all;
use tokio::time::{Instant, sleep_until};
use zookeeper_client::{Client, Error, Stat};

use super::node::stat_of;
use lockscope_base::znode::{ZnodePath, ZnodeStat};

/// The shortest time from the beginning of one slice to the next: 640 stats a second.
const INTERVAL: Duration = Duration::from_millis(100);

/// The average time from one slice to the next: 128 stats a second, for which a server needs about a
/// hundredth of its time.
const AVERAGE_INTERVAL: Duration = Duration::from_millis(500);

/// How many slices may come at the shortest interval after a pause. With them the first rows of a list
/// come soon, and all of a short one.
const BURST: u32 = 32;

/// How much longer than a slice took the pause after it is: a busy server is asked less often.
const PAUSE_BY_TIME_TAKEN: u32 = 4;

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Asks a server for many nodes, little by little. Leaves no watch.
#[derive(Debug)]
pub struct PacedReader {
    client: Client,
    pace: SlicePace,
}

/// When the next slice may come.
#[derive(Clone, Copy, Debug)]
struct SlicePace {
    next: Instant,
    /// The time up to which slices at the average interval were asked for.
    used_to: Instant,
}

impl SlicePace {
    fn new(now: Instant) -> Self {
        Self { next: now, used_to: now }
    }

    /// Counts a slice that began then and took that long.
    fn count(&mut self, began: Instant, took: Duration) {
        self.used_to = self.used_to.max(began) + AVERAGE_INTERVAL;
        let earliest = self.used_to.checked_sub(AVERAGE_INTERVAL * BURST).unwrap_or(began);
        self.next = (began + pause_after(took)).max(earliest);
    }
}

impl PacedReader {
    /// The most nodes of one slice, which are under way at the same time. A server answers that many in
    /// about a millisecond.
    pub const SLICE: usize = 64;

    /// Creates a reader whose first turn is now.
    pub fn new(client: Client) -> Self {
        Self { client, pace: SlicePace::new(Instant::now()) }
    }

    /// Returns the session, to close it.
    pub fn into_client(self) -> Client {
        self.client
    }

    /// Waits until it is time for the next requests. Cancel safe.
    pub async fn turn(&self) {
        sleep_until(self.pace.next).await;
    }

    /// Returns the names of the children of each node; `None` where there is no such node, or where
    /// it may not be read.
    ///
    /// # Errors
    ///
    /// Returns the other errors of the client library.
    pub async fn children(&mut self, paths: &[ZnodePath]) -> Result<Vec<Option<Vec<String>>>, Error> {
        let requests = paths.iter().map(|path| self.client.list_children(path.as_str())).map(permitted).collect();
        slice(&mut self.pace, requests).await
    }

    /// Returns the stat of each node that exists, which needs no permission.
    ///
    /// # Errors
    ///
    /// Returns the errors of the client library.
    pub async fn stats(&mut self, paths: &[ZnodePath]) -> Result<Vec<Option<ZnodeStat>>, Error> {
        let requests = paths.iter().map(|path| self.client.check_stat(path.as_str())).collect();
        let stats: Vec<Option<Stat>> = slice(&mut self.pace, requests).await?;
        Ok(stats.iter().map(|stat| stat.as_ref().map(stat_of)).collect())
    }

    /// Returns the data of each node; `None` where there is no such node, or where it may not be read.
    ///
    /// # Errors
    ///
    /// Returns the other errors of the client library.
    pub async fn data(&mut self, paths: &[ZnodePath]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let requests = paths.iter().map(|path| self.client.get_data(path.as_str())).map(permitted).collect();
        let read: Vec<Option<(Vec<u8>, Stat)>> = slice(&mut self.pace, requests).await?;
        Ok(read.into_iter().map(|read| read.map(|(data, _)| data)).collect())
    }
}

/// Awaits requests that were sent.
async fn slice<T>(
    pace: &mut SlicePace,
    requests: Vec<impl Future<Output = Result<T, Error>>>,
) -> Result<Vec<T>, Error> {
    let began = Instant::now();
    let read = try_join_all(requests).await;
    pace.count(began, began.elapsed());
    read
}

/// Takes a node that is gone, or that may not be read, for one without an answer.
async fn permitted<T>(request: impl Future<Output = Result<T, Error>>) -> Result<Option<T>, Error> {
    match request.await {
        Ok(read) => Ok(Some(read)),
        Err(Error::NoNode | Error::NoAuth) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the children of one node. Leaves no watch.
#[derive(Debug)]
pub struct ChildrenReader {
    reader: PacedReader,
    path: ZnodePath,
    /// The names in reverse order.
    names: Vec<String>,
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
        Ok(Self { reader: PacedReader::new(client), path, names })
    }

    /// Returns the number of children that were not read yet.
    pub fn left(&self) -> usize {
        self.names.len()
    }

    /// Waits until it is time for the next slice.
    pub async fn turn(&self) {
        self.reader.turn().await;
    }

    /// Reads the stats of the next children by name, of at most `limit`. Leaves out those that are
    /// gone: the result is empty at the end, and where all of a slice are gone. Not cancel safe: the
    /// next slice begins behind this one.
    ///
    /// # Errors
    ///
    /// Returns the errors of the client library.
    pub async fn slice(&mut self, limit: usize) -> Result<Vec<(String, ZnodeStat)>, Error> {
        let mut names = self.names.split_off(self.names.len().saturating_sub(limit.min(PacedReader::SLICE)));
        names.reverse();
        let paths: Vec<_> = names.iter().map(|name| self.path.child(name)).collect();
        let stats = self.reader.stats(&paths).await?;
        Ok(names.into_iter().zip(stats).filter_map(|(name, stat)| Some((name, stat?))).collect())
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

    #[test]
    fn slices_come_at_a_lower_pace_after_the_first_until_there_was_a_pause() {
        let start = Instant::now() + AVERAGE_INTERVAL * BURST;
        let mut pace = SlicePace::new(start);
        let after = |pace: &mut SlicePace, slices: u32| {
            for _ in 0..slices {
                pace.count(pace.next, Duration::ZERO);
            }
            pace.next
        };
        assert_eq!(after(&mut pace, 10) - start, INTERVAL * 10);
        let tired = after(&mut pace, 200);
        assert_eq!(after(&mut pace, 10) - tired, AVERAGE_INTERVAL * 10);
        let rested = pace.next + AVERAGE_INTERVAL * BURST;
        pace.next = rested;
        assert_eq!(after(&mut pace, 10) - rested, INTERVAL * 10);
    }
}

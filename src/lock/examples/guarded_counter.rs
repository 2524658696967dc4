//! A worker that adds to a counter under a lock, and does no harm when it has lost the lock without
//! knowing.
//!
//! ```text
//! cargo run -p lockscope-lock --example guarded_counter -- localhost:2181 /locks/counter /counter 10
//! ```
//!
//! The counter is a node that exists and holds `TOKEN VALUE`, at first `0 0`. `TOKEN` is the
//! fencing token of the last worker that wrote. A worker with a lower token was paused for so long
//! that others have had the lock since: its write is refused. The write names the version of the
//! node that it has read, so that nobody else's write can come in between.
//!
//! The tests run it, on a real server.

use std::error::Error;
use std::time::Duration;

use lockscope_lock::zookeeper_client::{self, Client};
use lockscope_lock::{Algorithm, Lock, LockError, Loss, Zxid, cleaned_up};

/// The time for which a worker waits for the lock before it looks around.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// An error that ends the worker: no session, a missing node, or a node with other content.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The result of one try to add to the counter.
#[derive(Debug, PartialEq, Eq)]
pub enum Round {
    /// The counter has this value now.
    Added(u64),
    /// Others held the lock all the time.
    Busy,
    /// The lock was lost before the work was done; nothing was written.
    Lost(Loss),
    /// A worker with this token has held the lock since; nothing was written.
    Outdated(Zxid),
}

/// A worker with a session.
pub struct Worker {
    servers: String,
    client: Client,
    lock: String,
    counter: String,
}

impl Worker {
    /// Opens a session. The lock and the counter are paths below the connect string's chroot.
    pub async fn connect(servers: &str, lock: &str, counter: &str) -> Result<Self, Failure> {
        let client = Client::connect(servers).await?;
        Ok(Self { servers: servers.to_owned(), client, lock: lock.to_owned(), counter: counter.to_owned() })
    }

    /// Returns the client of the present session.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Adds to the counter that many times, over lost locks and with new sessions in place of those
    /// that expire.
    pub async fn count(&mut self, times: u32) -> Result<(), Failure> {
        let mut added = 0;
        while added < times {
            match self.add_one(async {}).await {
                Ok(Round::Added(_)) => added += 1,
                Ok(other) => eprintln!("once more: {other:?}"),
                Err(error) if self.client.state().is_terminated() => eprintln!("a new session: {error}"),
                Err(error) => return Err(error),
            }
            if self.client.state().is_terminated() {
                // A session that has expired does not come back. Its locks are gone with it.
                self.client = Client::connect(&self.servers).await?;
            }
        }
        Ok(())
    }

    /// Does the work under the lock, then writes its result.
    pub async fn add_one(&self, work: impl Future<Output = ()>) -> Result<Round, Failure> {
        let lock = Lock::new(&self.client, &self.lock, Algorithm::Chain)?;
        let guard = match lock.acquire_within(LOCK_TIMEOUT).await {
            Err(LockError::TimedOut { .. }) => return Ok(Round::Busy),
            acquired => acquired?,
        };
        tokio::select! {
            // Stop as soon as others may hold. The guard is dropped, which deletes the node if it
            // is still there.
            loss = guard.lost() => return Ok(Round::Lost(loss)),
            () = work => {}
        }
        let round = add_with(&self.client, &self.counter, guard.token()).await?;
        // The write was checked by its token, so a lock that was lost in the last moment has done
        // no harm.
        if let Err(error) = guard.release().await {
            eprintln!("the lock was lost before it was released: {error}");
        }
        Ok(round)
    }
}

/// Adds 1 to the counter unless it has seen a higher token than this one.
pub async fn add_with(client: &Client, counter: &str, token: Zxid) -> Result<Round, Failure> {
    loop {
        let (data, stat) = client.get_data(counter).await?;
        let text = String::from_utf8(data)?;
        let (last_token, value) = text.split_once(' ').ok_or("the counter does not hold TOKEN VALUE")?;
        let (last_token, value) = (Zxid(last_token.parse()?), value.parse::<u64>()?);
        if last_token == token {
            // An earlier write of this loop was carried out, though its reply was lost.
            return Ok(Round::Added(value));
        }
        if last_token > token {
            return Ok(Round::Outdated(last_token));
        }
        let data = format!("{token} {}", value + 1);
        match client.set_data(counter, data.as_bytes(), Some(stat.version)).await {
            Ok(_) => return Ok(Round::Added(value + 1)),
            // Somebody else wrote in between, or the outcome is unknown: read again.
            Err(zookeeper_client::Error::BadVersion | zookeeper_client::Error::ConnectionLoss) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, lock, counter, times] = arguments.as_slice() else {
        return Err("usage: guarded_counter SERVERS LOCK COUNTER TIMES".into());
    };
    let mut worker = Worker::connect(servers, lock, counter).await?;
    let outcome = worker.count(times.parse()?).await;
    // The end of the runtime would stop the deletion of the nodes of guards that were dropped.
    cleaned_up(worker.client()).await;
    outcome
}

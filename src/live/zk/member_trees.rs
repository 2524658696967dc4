//! Reads the same nodes on each member of the ensemble, to compare them.
//!
//! Each member gets a session of its own that is connected to that member alone, since the client
//! library is free to move a session otherwise. Only members of the user's connect string are read:
//! an address from the ensemble's config gets no identities. `sync` comes before each reading, so
//! that a member shows what the leader had committed by then. Reads set no watch.
//!
//! Cost to each member: a session, and per reading one `sync` and one request for each
//! [`READS_PER_REQUEST`] nodes (multi-read, ZooKeeper 3.6), at the given pace.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, sleep_until, timeout};
use zookeeper_client::{Client, Error, MultiReadResult};

use super::connect_string::{BadConnectString, ConnectString};
use super::{ConnectOptions, close_session, connect};
use lockscope_base::znode::{ZnodePath, Zxid, escaped};
use lockscope_model::members::{ChildrenSeen, MemberReading, NodesSeen};

/// The most nodes that one request reads.
pub const READS_PER_REQUEST: usize = 64;

/// The longest wait for a session, and for the answer to one request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// The session timeout of these short sessions.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// The server answered another question than the one that was asked.
const ANOTHER_ANSWER: Error = Error::BadArguments(&"another question");

/// Sessions with each member of a connect string.
#[derive(Debug)]
pub struct MemberSessions {
    sessions: Vec<MemberSession>,
}

#[derive(Debug)]
struct MemberSession {
    member: String,
    /// The session, or why there is none.
    client: Result<Client, String>,
    /// How long to wait between two requests.
    interval: Duration,
    next: Instant,
}

impl MemberSessions {
    /// Connects to each member of the connect string alone, all at the same time, and reads at most
    /// `pace` requests a second from each. Takes at most some seconds; a member that does not answer
    /// is reported with each reading.
    ///
    /// # Errors
    ///
    /// Returns an error if the connect string cannot be used.
    pub async fn connect(options: &ConnectOptions, pace: u32) -> Result<Self, BadConnectString> {
        let target = ConnectString::parse(&options.connect, options.tls.is_some())?;
        let chroot = target.chroot.as_ref().map(ZnodePath::as_str).unwrap_or_default();
        let sessions = target.servers.iter().map(|server| async move {
            let scheme = if server.tls { "tcp+tls" } else { "tcp" };
            let connect_string = format!("{scheme}://{}{chroot}", server.address());
            let own = ConnectOptions { connect: connect_string, session_timeout: SESSION_TIMEOUT, ..options.clone() };
            let client = match timeout(ANSWER_TIMEOUT, connect(&own)).await {
                Ok(Ok(client)) => Ok(client),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("it gave no session within {} s", ANSWER_TIMEOUT.as_secs())),
            };
            let interval = Duration::from_secs(1) / pace.max(1);
            MemberSession { member: server.address(), client, interval, next: Instant::now() }
        });
        Ok(Self { sessions: join_all(sessions).await })
    }

    /// Reads the children of nodes on each member, all members at the same time. A node that a
    /// member does not have has no entry.
    pub async fn children(&mut self, of: &BTreeSet<ZnodePath>) -> Vec<MemberReading<ChildrenSeen>> {
        join_all(self.sessions.iter_mut().map(|session| session.read(of, MemberSession::children_of))).await
    }

    /// Reads the czxids of nodes on each member, all members at the same time.
    pub async fn nodes(&mut self, paths: &BTreeSet<ZnodePath>) -> Vec<MemberReading<NodesSeen>> {
        join_all(self.sessions.iter_mut().map(|session| session.read(paths, MemberSession::czxids_of))).await
    }

    /// Closes the sessions.
    pub async fn close(self) {
        let clients = self.sessions.into_iter().filter_map(|session| session.client.ok());
        join_all(clients.map(close_session)).await;
    }
}

impl MemberSession {
    /// Syncs and reads paths in chunks. The first failure ends the reading: a part of an answer
    /// would look like missing nodes.
    async fn read<T: Default + Extend<S>, S>(
        &mut self,
        paths: &BTreeSet<ZnodePath>,
        chunk: impl AsyncFn(&Client, &[&ZnodePath]) -> Result<Vec<S>, Error>,
    ) -> MemberReading<T> {
        let seen = self.try_read(paths, chunk).await;
        MemberReading { member: self.member.clone(), seen }
    }

    async fn try_read<T: Default + Extend<S>, S>(
        &mut self,
        paths: &BTreeSet<ZnodePath>,
        chunk: impl AsyncFn(&Client, &[&ZnodePath]) -> Result<Vec<S>, Error>,
    ) -> Result<T, String> {
        let client = self.client.clone()?;
        self.turn().await;
        answered(client.sync("/")).await?;
        let (mut seen, paths) = (T::default(), paths.iter().collect::<Vec<_>>());
        for paths in paths.chunks(READS_PER_REQUEST) {
            self.turn().await;
            seen.extend(answered(chunk(&client, paths)).await?);
        }
        Ok(seen)
    }

    /// Waits for the time of the next request.
    async fn turn(&mut self) {
        sleep_until(self.next).await;
        self.next = Instant::now() + self.interval;
    }

    async fn children_of(client: &Client, paths: &[&ZnodePath]) -> Result<Vec<(ZnodePath, BTreeSet<String>)>, Error> {
        let mut reader = client.new_multi_reader();
        for path in paths {
            reader.add_get_children(path.as_str())?;
        }
        let mut seen = Vec::new();
        for (path, answer) in paths.iter().zip(reader.commit().await?) {
            match answer {
                MultiReadResult::Children { children } => seen.push(((*path).clone(), children.into_iter().collect())),
                MultiReadResult::Error { err: Error::NoNode } => {}
                MultiReadResult::Error { err } => return Err(err),
                _ => return Err(ANOTHER_ANSWER),
            }
        }
        Ok(seen)
    }

    async fn czxids_of(client: &Client, paths: &[&ZnodePath]) -> Result<Vec<(ZnodePath, Option<Zxid>)>, Error> {
        let mut reader = client.new_multi_reader();
        for path in paths {
            reader.add_get_data(path.as_str())?;
        }
        let mut seen = Vec::new();
        for (path, answer) in paths.iter().zip(reader.commit().await?) {
            match answer {
                MultiReadResult::Data { stat, .. } => seen.push(((*path).clone(), Some(Zxid(stat.czxid)))),
                MultiReadResult::Error { err: Error::NoNode } => seen.push(((*path).clone(), None)),
                MultiReadResult::Error { err } => return Err(err),
                _ => return Err(ANOTHER_ANSWER),
            }
        }
        Ok(seen)
    }
}

/// Waits for an answer, and describes its absence for people.
async fn answered<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match timeout(ANSWER_TIMEOUT, request).await {
        Ok(answer) => answer.map_err(|error| format!("it answered {}", escaped(&error.to_string()))),
        Err(_) => Err(format!("it did not answer within {} s", ANSWER_TIMEOUT.as_secs())),
    }
}

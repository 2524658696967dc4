//! Reads the same nodes on each member of the ensemble, and compares them.
//!
//! Each member gets a session of its own that is connected to that member alone, since the client
//! library is free to move a session otherwise. Only members of the user's connect string are read:
//! an address from the ensemble's config gets no identities. `sync` comes before each reading, so
//! that a member shows what the leader had committed by then. Reads set no watch.
//!
//! Cost to each member: a session, and per reading one `sync` and one request for each
//! [`READS_PER_REQUEST`] nodes (multi-read, ZooKeeper 3.6), at the given pace. A server without
//! multi-read gets one request for each node, unless that takes longer than
//! [`MAX_TIME_ONE_BY_ONE`].

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use zookeeper_client::{Client, Error, MultiReadResult};

use super::options::{BadConnectString, ConnectString};
use super::{ConnectOptions, close_session, connect};
use lockscope_base::time::now;
use lockscope_base::znode::{ZnodePath, Zxid, escaped};
use lockscope_model::members::{ChildrenSeen, ComparedNodes, MemberReading, NodesSeen, differences, lasting, suspects};
use lockscope_model::server_view::{ComparedMember, Difference, MemberComparison};

/// How long to wait until a difference is read again. Members apply a transaction within
/// milliseconds.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Compares the chosen nodes on each member of the connect string, with at most `pace` requests a
/// second to each.
///
/// A difference counts only if two further readings show it. Takes some seconds; a member that does
/// not answer is named. Cancel safe: the sessions then end by their timeout.
///
/// # Errors
///
/// Returns an error if the connect string cannot be used.
pub async fn compare_members(
    options: &ConnectOptions,
    nodes: &ComparedNodes,
    pace: u32,
) -> Result<MemberComparison, BadConnectString> {
    let mut comparer = Comparer { sessions: MemberSessions::connect(options, pace).await?, members: Vec::new() };
    let differences = comparer.compare(nodes).await;
    comparer.sessions.close().await;
    let (members, parents) = (comparer.members, nodes.parents.len());
    Ok(MemberComparison { at: now(), members, differences, parents, left_out: nodes.left_out })
}

struct Comparer {
    sessions: MemberSessions,
    members: Vec<ComparedMember>,
}

impl Comparer {
    /// Returns the differences that all readings show.
    async fn compare(&mut self, chosen: &ComparedNodes) -> Vec<Difference> {
        let first = self.sessions.children(&chosen.parents).await;
        self.note(&first);
        let mut suspected = suspects(&first);
        suspected.extend(chosen.single_nodes.iter().cloned());
        let second = self.read_again(&suspected, chosen).await;
        let suspected = second.iter().map(|difference| difference.path.clone()).collect();
        let mut third = self.read_again(&suspected, chosen).await;
        third.retain(|difference| second.contains(difference));
        third
    }

    /// Reads the suspected nodes after a moment, and returns the differences.
    async fn read_again(&mut self, suspected: &BTreeSet<ZnodePath>, chosen: &ComparedNodes) -> Vec<Difference> {
        if suspected.is_empty() {
            return Vec::new();
        }
        sleep(READ_AGAIN_AFTER).await;
        let mut nodes: Vec<MemberReading<NodesSeen>> = self.sessions.nodes(suspected).await;
        self.note(&nodes);
        nodes.sort_by_key(|reading| Some(&reading.member) != chosen.leader.as_ref());
        lasting(suspected, differences(&nodes))
    }

    /// Notes the members that were read, and the first reason why one was not.
    fn note<T>(&mut self, readings: &[MemberReading<T>]) {
        for MemberReading { member, seen } in readings {
            let error = seen.as_ref().err().cloned();
            match self.members.iter_mut().find(|known| known.address == *member) {
                Some(known) => known.error = known.error.take().or(error),
                None => self.members.push(ComparedMember { address: member.clone(), error }),
            }
        }
    }
}

/// The most nodes that one request reads.
pub const READS_PER_REQUEST: usize = 64;

/// The longest wait for a session, and for the answer to one request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// The longest time for reading nodes one by one. A longer reading needs a higher pace.
const MAX_TIME_ONE_BY_ONE: Duration = Duration::from_secs(60);

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
    /// Whether the server may know multi-read.
    reads_together: bool,
}

/// A kind of reading: what each node gives.
trait ComparedReading {
    type Seen;

    /// Reads several nodes with one request.
    async fn together(client: &Client, paths: &[&ZnodePath]) -> Result<Vec<Self::Seen>, Error>;

    /// Reads one node.
    async fn one(client: &Client, path: &ZnodePath) -> Result<Option<Self::Seen>, Error>;
}

/// Reads names of children. A node that is not there gives nothing.
struct MemberChildren;

/// Reads czxids.
struct Czxids;

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
            MemberSession { member: server.address(), client, interval, next: Instant::now(), reads_together: true }
        });
        Ok(Self { sessions: join_all(sessions).await })
    }

    /// Reads the children of nodes on each member, all members at the same time. A node that a
    /// member does not have has no entry.
    pub async fn children(&mut self, of: &BTreeSet<ZnodePath>) -> Vec<MemberReading<ChildrenSeen>> {
        join_all(self.sessions.iter_mut().map(|session| session.read::<MemberChildren, _>(of))).await
    }

    /// Reads the czxids of nodes on each member, all members at the same time.
    pub async fn nodes(&mut self, paths: &BTreeSet<ZnodePath>) -> Vec<MemberReading<NodesSeen>> {
        join_all(self.sessions.iter_mut().map(|session| session.read::<Czxids, _>(paths))).await
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
    async fn read<R: ComparedReading, T: Default + Extend<R::Seen>>(
        &mut self,
        paths: &BTreeSet<ZnodePath>,
    ) -> MemberReading<T> {
        let seen = self.try_read::<R, T>(paths).await;
        MemberReading { member: self.member.clone(), seen }
    }

    async fn try_read<R: ComparedReading, T: Default + Extend<R::Seen>>(
        &mut self,
        paths: &BTreeSet<ZnodePath>,
    ) -> Result<T, String> {
        let client = self.client.clone()?;
        self.turn().await;
        answered(client.sync("/")).await?;
        let (mut seen, paths) = (T::default(), paths.iter().collect::<Vec<_>>());
        for chunk in paths.chunks(READS_PER_REQUEST) {
            if let Some(together) = self.read_together::<R>(&client, chunk).await? {
                seen.extend(together);
                continue;
            }
            self.check_time_one_by_one(paths.len())?;
            for path in chunk {
                self.turn().await;
                seen.extend(answered(read_one::<R>(&client, path)).await?);
            }
        }
        Ok(seen)
    }

    /// Reads nodes with one request; `None` when the server does not know such requests. It then
    /// closes the connection, mostly after it has said so, and the client connects again.
    async fn read_together<R: ComparedReading>(
        &mut self,
        client: &Client,
        paths: &[&ZnodePath],
    ) -> Result<Option<Vec<R::Seen>>, String> {
        if !self.reads_together {
            return Ok(None);
        }
        self.turn().await;
        let answer = async {
            match R::together(client, paths).await {
                Err(error) if matches!(error, Error::Unimplemented) || is_cut(&error) => Ok(None),
                answer => answer.map(Some),
            }
        };
        let seen = answered(answer).await?;
        self.reads_together = seen.is_some();
        Ok(seen)
    }

    /// Fails if reading so many nodes one by one takes too long.
    fn check_time_one_by_one(&self, nodes: usize) -> Result<(), String> {
        let time = self.interval * u32::try_from(nodes).unwrap_or(u32::MAX);
        if time <= MAX_TIME_ONE_BY_ONE {
            return Ok(());
        }
        Err(format!(
            "it cannot read several nodes in one request (ZooKeeper 3.6), and {nodes} single requests would take \
             {} s: `lockscope members --pace` sends more a second",
            time.as_secs()
        ))
    }

    /// Waits for the time of the next request.
    async fn turn(&mut self) {
        sleep_until(self.next).await;
        self.next = Instant::now() + self.interval;
    }
}

impl ComparedReading for MemberChildren {
    type Seen = (ZnodePath, BTreeSet<String>);

    async fn together(client: &Client, paths: &[&ZnodePath]) -> Result<Vec<Self::Seen>, Error> {
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

    async fn one(client: &Client, path: &ZnodePath) -> Result<Option<Self::Seen>, Error> {
        match client.list_children(path.as_str()).await {
            Ok(children) => Ok(Some((path.clone(), children.into_iter().collect()))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl ComparedReading for Czxids {
    type Seen = (ZnodePath, Option<Zxid>);

    async fn together(client: &Client, paths: &[&ZnodePath]) -> Result<Vec<Self::Seen>, Error> {
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

    async fn one(client: &Client, path: &ZnodePath) -> Result<Option<Self::Seen>, Error> {
        let stat = client.check_stat(path.as_str()).await?;
        Ok(Some((path.clone(), stat.map(|stat| Zxid(stat.czxid)))))
    }
}

/// Reads one node, once more if the connection was cut: the server closes it after a request that it
/// does not know.
async fn read_one<R: ComparedReading>(client: &Client, path: &ZnodePath) -> Result<Option<R::Seen>, Error> {
    match R::one(client, path).await {
        Err(error) if is_cut(&error) => R::one(client, path).await,
        answer => answer,
    }
}

/// Returns whether a request failed with its connection. The library passes on an error of the
/// system as a custom one.
fn is_cut(error: &Error) -> bool {
    matches!(error, Error::ConnectionLoss | Error::Custom(_))
}

/// Waits for an answer, and describes its absence for people.
async fn answered<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match timeout(ANSWER_TIMEOUT, request).await {
        Ok(answer) => answer.map_err(|error| format!("it answered {}", escaped(&error.to_string()))),
        Err(_) => Err(format!("it did not answer within {} s", ANSWER_TIMEOUT.as_secs())),
    }
}

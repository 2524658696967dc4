//! The requests that locks, deletions and the observer send, as a trait, and the real client behind
//! it.
//!
//! [`Requests`] is the seam between the code that decides and the client that sends. The real
//! client of `zookeeper-client` implements it; the exploration of schedules implements it too, with
//! a simulated ensemble. Both behave as follows when a connection breaks. The sources are
//! `zookeeper-client` 0.11 (`session/mod.rs`, `session/watch.rs`) and the table's test, which runs
//! against both.
//!
//! | what happens | what the client sees |
//! | --- | --- |
//! | A connection breaks while requests are under way. | Each fails with the error of the connection: `ConnectionLoss`, or another one with the system's message. The server may have carried it out, may carry it out later, or never. The client sends none of them again. |
//! | A request is made without a connection. | It waits for the next connection, and fails only at the end of the session. Waiting requests are sent in the order in which they were made. |
//! | The connection is lost. | The state becomes `Disconnected`. One-shot watches stay and deliver nothing. A recursive watch delivers a session event with this state. |
//! | Nothing arrives for 2/5 of the session timeout, not even a reply to a heartbeat. | The client breaks the connection, and gives up an attempt to connect. Requests under way fail as above. |
//! | The client tries to connect again. | It tries at once, then after pauses that double, from 0.1 s for each member. So it notices the end of an outage only after a pause that can be as long as the outage. |
//! | The client is connected again, to any member. | The state becomes `SyncConnected`. The client sets its one-shot watches again, with the zxid that it has seen, before it sends a request. The member fires at once those whose node changed since. |
//! | A new connection breaks before the first reply on it: to the watches that are set again, or to a heartbeat. | The state stays `SyncConnected` until the next connection is open, or until the session ends. Requests wait. |
//! | A node changed during the outage. | Its data watch fires with `NodeDataChanged`, also for a node that was deleted and created again; its child watch with `NodeChildrenChanged`, also for such a node. Both fire with `NodeDeleted` for a node that is gone. A watch of a missing node fires with `NodeCreated`, but not if the node is gone again. |
//! | The client has a recursive watch when it is connected again. | The watch delivers a session event with `SyncConnected`. The client does not set it again: it delivers no event of a node, except those of other watches that the client sets on or below its node. |
//! | A watch is dropped. | It is removed at the server before the client's next request, without a connection after the next reconnect. Other watches of the node stay. |
//! | The session expires. | The client learns it with the next connection: the state becomes `Expired`, each watch delivers a session event with this state, and each request fails with `SessionExpired`. |
//! | The session has ended, and the server gives a new one without notice, as ClickHouse Keeper does. | The state becomes `SyncConnected`, as after any reconnect. `session` and `session_timeout` keep the old values. Only the owner of a new ephemeral node shows the new session. |
//! | The client has received nothing for 7/5 of the session timeout. | As for a session that expires, although the servers may still have it. An attempt to connect that has begun is finished first, which takes up to 2/5 of the timeout more. |
//! | The session has moved to another member. | A leader closes its own connection at once. A follower serves reads until the leader refuses a write: it then closes the connection without a reply. The write fails with the error of the connection, and is never carried out. |
//! | The last handle of the client is dropped. | The state becomes `Closed`, and each watch delivers a session event with this state. Watches of the session's own ephemeral nodes may fire before. |
//!
//! A client with more than 128 KiB of watched paths loses its session when its connection breaks:
//! it cannot complete the next connections, and gives up as if it received nothing.
//!
//! One client's requests reach a server in the order in which they were made, and the replies and
//! watch events come back in the order of the transactions. A watch event comes before any reply
//! that shows its change.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::{BoxFuture, ready};
use futures::stream;
use futures::stream::{BoxStream, StreamExt};
use uuid::Uuid;
use zookeeper_client::{
    Acls, AddWatchMode, Client, CreateMode, Error, EventType, MultiReadResult, MultiWriteError, MultiWriteResult,
    OneshotWatcher, PersistentWatcher, SessionState, Stat, StateWatcher, WatchedEvent,
};

use lockscope_terms::znode::SessionId;

/// The reply to a request. The request is made when the method is called, not when the reply is
/// first polled. Dropping the reply does not take the request back.
pub type Reply<'a, T, E = Error> = BoxFuture<'a, Result<T, E>>;

/// A one-shot watch: resolves with its event, or with a session event at the end of the session.
/// Dropping it before removes the watch at the server.
pub type Watch = BoxFuture<'static, WatchedEvent>;

/// The events of a persistent watch, in order, and those of the session. Ends after the event of
/// the session's end. Dropping it removes the watch at the server.
pub type Events = BoxStream<'static, WatchedEvent>;

/// A node to create.
#[derive(Clone, Debug)]
pub struct NewNode<'a> {
    /// The path; that of a sequential node is the prefix of its number.
    pub path: &'a str,
    /// The data.
    pub data: &'a [u8],
    /// The kind of the node.
    pub mode: CreateMode,
    /// The access rights.
    pub acls: Acls<'a>,
}

/// A node that was created.
#[derive(Clone, Debug)]
pub struct Created {
    /// The stat. Servers before 3.5 give none.
    pub stat: Stat,
    /// The number that the server appended to the path, as it wrote it: empty for a node that is not
    /// sequential.
    pub number: String,
}

/// One operation of a transaction.
#[derive(Clone, Debug)]
pub enum Write<'a> {
    /// Creates a node. Some servers give no valid stat of it (ZOOKEEPER-4667).
    Create(NewNode<'a>),
    /// Deletes a node, if its data has this version.
    Delete(&'a str, Option<i32>),
    /// Replaces a node's data, if it has this version.
    SetData(&'a str, &'a [u8], Option<i32>),
    /// Writes nothing. Fails unless a node's data has this version.
    Check(&'a str, i32),
}

/// One read of a request with several.
#[derive(Clone, Copy, Debug)]
pub enum Read<'a> {
    /// Reads a node.
    Data(&'a str),
    /// Lists a node's children, without its stat.
    Children(&'a str),
}

/// The requests of one session. See the [crate's docs](crate) for lost connections.
///
/// The replies to reads without a watch do not borrow the path: the observer keeps both together.
pub trait Requests: Debug + Send + Sync {
    /// Returns the id of the session.
    fn session(&self) -> SessionId;

    /// Returns the negotiated session timeout.
    fn session_timeout(&self) -> Duration;

    /// Returns the path below which all paths are, or `/`.
    fn chroot(&self) -> &str;

    /// Returns the id of a new attempt. Attempts tell their nodes by it, so no two may be equal.
    ///
    /// It is a random UUID of version 8, which is for ids of one's own (RFC 9562). Other libraries
    /// use version 4, so the name of a node shows that this library made it, and with that, which
    /// node a reader watches.
    fn attempt_id(&self) -> Uuid {
        uuid::Builder::from_custom_bytes(Uuid::new_v4().into_bytes()).into_uuid()
    }

    /// Returns the state of the session.
    fn state(&self) -> SessionState;

    /// Returns a receiver of the changes of the session's state.
    fn states(&self) -> Box<dyn SessionStates>;

    /// Creates a node.
    fn create<'a>(&'a self, node: NewNode<'a>) -> Reply<'a, Created>;

    /// Deletes a node, if its data has this version.
    fn delete<'a>(&'a self, path: &'a str, version: Option<i32>) -> Reply<'a, ()>;

    /// Reads a node.
    fn data(&self, path: &str) -> Reply<'_, (Vec<u8>, Stat)>;

    /// Reads a node and watches it for its end and for changes of its data.
    fn watch_data<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<u8>, Stat, Watch)>;

    /// Returns a node's stat, which needs no permission; `None` if the node does not exist.
    fn stat(&self, path: &str) -> Reply<'_, Option<Stat>>;

    /// Lists a node's children, in no particular order.
    fn children(&self, path: &str) -> Reply<'_, (Vec<String>, Stat)>;

    /// Lists a node's children and watches them.
    fn watch_children<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<String>, Stat, Watch)>;

    /// Lets the server catch up with the leader before it answers later requests.
    fn sync<'a>(&'a self, path: &'a str) -> Reply<'a, ()>;

    /// Carries out all writes, or none. Gives one result for each.
    fn write<'a>(&'a self, writes: &[Write<'_>]) -> Reply<'a, Vec<MultiWriteResult>, MultiWriteError>;

    /// Replaces a node's data, if it has this version.
    fn set_data<'a>(&'a self, path: &'a str, data: &'a [u8], version: Option<i32>) -> Reply<'a, Stat>;

    /// Carries out several reads, one after the other. Gives one result for each; a read whose path
    /// cannot be sent has an error as its result. Changes of other clients can fall between two of
    /// them. Servers before 3.6 close the connection instead.
    fn read<'a>(&'a self, reads: &[Read<'_>]) -> Reply<'a, Vec<MultiReadResult>>;

    /// Counts all nodes below a node. Servers before 3.6 close the connection instead.
    fn count_descendants(&self, path: &str) -> Reply<'_, usize>;

    /// Returns a node's stat and watches the node for its creation, its end and for changes of its
    /// data.
    fn watch_stat<'a>(&'a self, path: &'a str) -> Reply<'a, (Option<Stat>, Watch)>;

    /// Watches a node and all nodes below it, until the connection is lost. Servers before 3.6
    /// answer with `Unimplemented` or close the connection.
    fn watch_recursively<'a>(&'a self, path: &'a str) -> Reply<'a, Events>;
}

/// The states of a session, in order. A receiver that is late sees the newest state only.
pub trait SessionStates: Debug + Send {
    /// Returns the newest state, and marks it as seen.
    fn state(&mut self) -> SessionState;

    /// Returns the newest state.
    fn peek(&self) -> SessionState;

    /// Waits for a state that is not marked as seen, and marks it. Waits forever after the end of
    /// the session was seen. Cancel safe.
    fn changed(&mut self) -> BoxFuture<'_, SessionState>;
}

impl Requests for Client {
    fn session(&self) -> SessionId {
        SessionId(self.session_id().0)
    }

    fn session_timeout(&self) -> Duration {
        Client::session_timeout(self)
    }

    fn chroot(&self) -> &str {
        self.path()
    }

    fn state(&self) -> SessionState {
        Client::state(self)
    }

    fn states(&self) -> Box<dyn SessionStates> {
        Box::new(self.state_watcher())
    }

    fn create<'a>(&'a self, node: NewNode<'a>) -> Reply<'a, Created> {
        let reply = Client::create(self, node.path, node.data, &node.mode.with_acls(node.acls));
        let is_sequential = matches!(node.mode, CreateMode::EphemeralSequential | CreateMode::PersistentSequential);
        Box::pin(async move {
            let (stat, number) = reply.await?;
            Ok(Created { stat, number: if is_sequential { number.to_string() } else { String::new() } })
        })
    }

    fn delete<'a>(&'a self, path: &'a str, version: Option<i32>) -> Reply<'a, ()> {
        Box::pin(Client::delete(self, path, version))
    }

    fn data(&self, path: &str) -> Reply<'_, (Vec<u8>, Stat)> {
        Box::pin(self.get_data(path))
    }

    fn watch_data<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<u8>, Stat, Watch)> {
        let reply = self.get_and_watch_data(path);
        Box::pin(async move { reply.await.map(|(data, stat, watcher)| (data, stat, watch(watcher))) })
    }

    fn stat(&self, path: &str) -> Reply<'_, Option<Stat>> {
        Box::pin(self.check_stat(path))
    }

    fn children(&self, path: &str) -> Reply<'_, (Vec<String>, Stat)> {
        Box::pin(self.get_children(path))
    }

    fn watch_children<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<String>, Stat, Watch)> {
        let reply = self.get_and_watch_children(path);
        Box::pin(async move { reply.await.map(|(names, stat, watcher)| (names, stat, watch(watcher))) })
    }

    fn sync<'a>(&'a self, path: &'a str) -> Reply<'a, ()> {
        Box::pin(Client::sync(self, path))
    }

    fn write<'a>(&'a self, writes: &[Write<'_>]) -> Reply<'a, Vec<MultiWriteResult>, MultiWriteError> {
        let mut transaction = self.new_multi_writer();
        for write in writes {
            let added = match write {
                Write::Create(node) => transaction.add_create(node.path, node.data, &node.mode.with_acls(node.acls)),
                Write::Delete(path, version) => transaction.add_delete(path, *version),
                Write::SetData(path, data, version) => transaction.add_set_data(path, data, *version),
                Write::Check(path, version) => transaction.add_check_version(path, *version),
            };
            if let Err(error) = added {
                return Box::pin(ready(Err(error.into())));
            }
        }
        Box::pin(transaction.commit())
    }

    fn set_data<'a>(&'a self, path: &'a str, data: &'a [u8], version: Option<i32>) -> Reply<'a, Stat> {
        Box::pin(Client::set_data(self, path, data, version))
    }

    fn read<'a>(&'a self, reads: &[Read<'_>]) -> Reply<'a, Vec<MultiReadResult>> {
        let mut reader = self.new_multi_reader();
        let mut add = |read: &Read<'_>| match read {
            Read::Data(path) => reader.add_get_data(path),
            Read::Children(path) => reader.add_get_children(path),
        };
        let not_sent: Vec<Option<Error>> = reads.iter().map(|read| add(read).err()).collect();
        let reply = reader.commit();
        Box::pin(async move { Ok(results_of_all(not_sent, reply.await?)) })
    }

    fn count_descendants(&self, path: &str) -> Reply<'_, usize> {
        Box::pin(self.count_descendants_number(path))
    }

    fn watch_stat<'a>(&'a self, path: &'a str) -> Reply<'a, (Option<Stat>, Watch)> {
        let reply = self.check_and_watch_stat(path);
        Box::pin(async move { reply.await.map(|(stat, watcher)| (stat, watch(watcher))) })
    }

    fn watch_recursively<'a>(&'a self, path: &'a str) -> Reply<'a, Events> {
        let reply = self.watch(path, AddWatchMode::PersistentRecursive);
        Box::pin(async move { reply.await.map(events) })
    }
}

/// Returns the events of a watcher, up to the end of its session: after that it would panic.
fn events(watcher: PersistentWatcher) -> Events {
    let next = |watcher: Option<PersistentWatcher>| async {
        let mut watcher = watcher?;
        let event = watcher.changed().await;
        let is_last = event.event_type == EventType::Session && event.session_state.is_terminated();
        Some((event, (!is_last).then_some(watcher)))
    };
    stream::unfold(Some(watcher), next).boxed()
}

/// Adds the errors of the reads that were not sent to the results of the others.
fn results_of_all(not_sent: Vec<Option<Error>>, sent: Vec<MultiReadResult>) -> Vec<MultiReadResult> {
    let mut sent = sent.into_iter();
    let next = |not_sent| match not_sent {
        Some(err) => Some(MultiReadResult::Error { err }),
        None => sent.next(),
    };
    let mut results: Vec<MultiReadResult> = not_sent.into_iter().map_while(next).collect();
    // A server that gives too many results is noticed by their number.
    results.extend(sent);
    results
}

fn watch(watcher: OneshotWatcher) -> Watch {
    Box::pin(watcher.changed())
}

impl SessionStates for StateWatcher {
    fn state(&mut self) -> SessionState {
        StateWatcher::state(self)
    }

    fn peek(&self) -> SessionState {
        self.peek_state()
    }

    fn changed(&mut self) -> BoxFuture<'_, SessionState> {
        Box::pin(StateWatcher::changed(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_cannot_be_sent_fails_at_its_place() {
        let children = |name: &str| MultiReadResult::Children { children: vec![name.to_owned()] };
        let bad = || Some(Error::BadArguments(&"unsupported characters in path"));
        let results = results_of_all(vec![bad(), None, bad(), None], vec![children("a"), children("b"), children("c")]);
        let shown = |result: &MultiReadResult| match result {
            MultiReadResult::Children { children } => children.concat(),
            _ => "failed".to_owned(),
        };
        assert_eq!(results.iter().map(shown).collect::<Vec<_>>(), ["failed", "a", "failed", "b", "c"]);
        assert!(results_of_all(vec![None, bad()], Vec::new()).is_empty(), "the server gave no result");
    }
}

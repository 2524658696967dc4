//! Sends reads and watches through the client library.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use zookeeper_client::{
    AddWatchMode, Client, Error, EventType, MultiReadResult, OneshotWatcher, PersistentWatcher, SessionState, Stat,
    WatchedEvent,
};

use super::follow::{NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use super::schedule::ReadRequest;
use crate::zk::stat_of;
use lockscope_base::znode::{Node, NodeData, ZnodePath, Zxid};

/// The answers to a request, and the one-shot watch that the request set.
pub(super) struct Answered {
    pub(super) request: ReadRequest,
    /// One answer for each read of the request, in order. An error here is an error of the
    /// connection or of the whole request, not of a node.
    pub(super) answers: Result<Vec<ReadAnswer>, Error>,
    pub(super) watcher: Option<OneshotWatcher>,
}

/// What a watch delivered.
#[derive(Debug)]
pub(super) enum WatchDelivery {
    /// A watch event of a node, with the zxid where the server gives it.
    Node(NodeEvent, ZnodePath, Option<Zxid>),
    /// A new state of the session.
    Session(SessionState),
}

/// Sends a request. With recursive watches the request is on its way when this function returns, so
/// requests are sent in the order of the calls.
///
/// With one-shot watches and `awaited`, a missing node is also watched, so that it is read again
/// when it is created.
pub(super) fn send(
    client: &Client,
    request: ReadRequest,
    watching: WatchStyle,
    awaited: bool,
) -> BoxFuture<'_, Answered> {
    match &request.reads[..] {
        [NodeRead::List(path)] if watching == WatchStyle::OneShot => {
            let path = path.clone();
            Box::pin(async move {
                let (answer, watcher) = list_and_watch(client, &path, awaited).await;
                Answered { request, answers: judge(answer).map(|answer| vec![answer]), watcher }
            })
        }
        [read] => {
            let answer = send_single(client, read);
            Box::pin(async move {
                Answered { request, answers: judge(answer.await).map(|answer| vec![answer]), watcher: None }
            })
        }
        reads => {
            let answers = send_multiple(client, reads);
            Box::pin(async move { Answered { request, answers: answers.await, watcher: None } })
        }
    }
}

fn send_single<'a>(client: &'a Client, read: &NodeRead) -> BoxFuture<'a, Result<ReadAnswer, Error>> {
    match read {
        NodeRead::Node(path) => {
            let reply = client.get_data(path.as_str());
            Box::pin(async move { reply.await.map(|(data, stat)| ReadAnswer::Node(node(&data, &stat))) })
        }
        NodeRead::List(path) => {
            let reply = client.get_children(path.as_str());
            Box::pin(async move { reply.await.map(|(names, stat)| ReadAnswer::Children(names, stat_of(&stat))) })
        }
        NodeRead::Count(path) => {
            let reply = client.count_descendants_number(path.as_str());
            Box::pin(async move { reply.await.map(ReadAnswer::Descendants) })
        }
    }
}

/// Sends several reads as one request.
///
/// Children are read before the stat of their parent. The server runs the operations one by one,
/// and changes of other clients can fall between them. A stat newer than the children claims less
/// than it could; an older one could hide a deletion.
fn send_multiple<'a>(client: &'a Client, reads: &[NodeRead]) -> BoxFuture<'a, Result<Vec<ReadAnswer>, Error>> {
    let mut reader = client.new_multi_reader();
    let mut expected = Vec::with_capacity(reads.len());
    for read in reads {
        // A path that cannot be sent is refused at the first operation, and the second is not
        // added.
        let added = match read {
            NodeRead::Node(path) => reader.add_get_data(path.as_str()).map(|()| Expected::Node),
            NodeRead::List(path) => reader
                .add_get_children(path.as_str())
                .and_then(|()| reader.add_get_data(path.as_str()))
                .map(|()| Expected::Listing),
            NodeRead::Count(_) => Err(Error::Unimplemented),
        };
        expected.push(added.unwrap_or_else(Expected::NotSent));
    }
    let reply = reader.commit();
    Box::pin(async move { read_results(expected, reply.await?) })
}

/// The results that one read expects.
enum Expected {
    Node,
    Listing,
    NotSent(Error),
}

/// Combines the results of a request into one answer for each read. An error of one operation is
/// the answer to its read.
fn read_results(expected: Vec<Expected>, results: Vec<MultiReadResult>) -> Result<Vec<ReadAnswer>, Error> {
    let mut results = results.into_iter();
    let mut answers = Vec::with_capacity(expected.len());
    for expected in expected {
        let answer = match expected {
            Expected::NotSent(error) => Err(error),
            Expected::Node => match results.next() {
                Some(MultiReadResult::Data { data, stat }) => Ok(ReadAnswer::Node(node(&data, &stat))),
                other => Err(failed(other)?),
            },
            Expected::Listing => match (results.next(), results.next()) {
                (Some(MultiReadResult::Children { children }), Some(MultiReadResult::Data { stat, .. })) => {
                    Ok(ReadAnswer::Children(children, stat_of(&stat)))
                }
                (Some(MultiReadResult::Children { .. }), other) | (other, _) => Err(failed(other)?),
            },
        };
        answers.push(judge(answer)?);
    }
    if results.next().is_some() { Err(OUT_OF_STEP) } else { Ok(answers) }
}

/// The results do not match the request.
const OUT_OF_STEP: Error = Error::UnmarshalError { entity: "results", reason: &"they are not those of the request" };

/// Returns the error of one operation.
fn failed(result: Option<MultiReadResult>) -> Result<Error, Error> {
    match result {
        Some(MultiReadResult::Error { err }) => Ok(err),
        _ => Err(OUT_OF_STEP),
    }
}

/// Returns whether the error ends the connection or the session, independent of the request.
pub(super) fn ends_connection(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionLoss
            | Error::SessionExpired
            | Error::SessionMoved
            | Error::AuthFailed
            | Error::ClientClosed
            | Error::Throttled
    )
}

async fn list_and_watch(
    client: &Client,
    path: &ZnodePath,
    awaited: bool,
) -> (Result<ReadAnswer, Error>, Option<OneshotWatcher>) {
    loop {
        match client.get_and_watch_children(path.as_str()).await {
            Ok((names, stat, watcher)) => return (Ok(ReadAnswer::Children(names, stat_of(&stat))), Some(watcher)),
            Err(Error::NoNode) if awaited => match client.check_and_watch_stat(path.as_str()).await {
                // The node was created in between. The watch just set delivers nothing new.
                Ok((Some(_), _)) => {}
                Ok((None, watcher)) => return (Err(Error::NoNode), Some(watcher)),
                Err(error) => return (Err(error), None),
            },
            Err(error) => return (Err(error), None),
        }
    }
}

/// Separates errors of one node from errors of the connection.
fn judge(answer: Result<ReadAnswer, Error>) -> Result<ReadAnswer, Error> {
    let refused = |why: &str| Ok(ReadAnswer::Refused(why.to_owned()));
    match answer {
        Err(Error::NoNode) => Ok(ReadAnswer::NoNode),
        Err(Error::Unimplemented) => Ok(ReadAnswer::Unsupported),
        Err(Error::NoAuth) => {
            refused("we may not read this node: log in with an identity that has the READ permission")
        }
        Err(Error::BadArguments(_)) => {
            refused("its path has characters that cannot be sent to the server: its locks are not shown")
        }
        Err(Error::UnmarshalError { .. } | Error::MarshallingError) => refused("the server's answer cannot be read"),
        other => other,
    }
}

fn node(data: &[u8], stat: &Stat) -> Node {
    Node { stat: stat_of(stat), data: NodeData::keep(data) }
}

/// Reads an event of the client library; `None` for events that the observer ignores.
pub(super) fn read_event(event: &WatchedEvent) -> Option<WatchDelivery> {
    let kind = match event.event_type {
        EventType::Session => return Some(WatchDelivery::Session(event.session_state)),
        EventType::NodeCreated => NodeEvent::Created,
        EventType::NodeDeleted => NodeEvent::Deleted,
        EventType::NodeDataChanged => NodeEvent::DataChanged,
        EventType::NodeChildrenChanged => NodeEvent::ChildrenChanged,
    };
    let path = ZnodePath::new(&event.path).ok()?;
    Some(WatchDelivery::Node(kind, path, (event.zxid > 0).then_some(Zxid(event.zxid))))
}

/// The recursive watches of one connection.
#[derive(Debug, Default)]
pub(super) struct RecursiveWatches(Vec<PersistentWatcher>);

impl RecursiveWatches {
    /// Adds a recursive watch to each root, existing or not, in one round trip.
    pub(super) async fn add(client: &Client, roots: &[ZnodePath]) -> Result<Self, Error> {
        let mut added = Vec::with_capacity(roots.len());
        for root in roots {
            added.push(client.watch(root.as_str(), AddWatchMode::PersistentRecursive));
        }
        let mut watchers = Vec::with_capacity(roots.len());
        for watcher in added {
            match watcher.await {
                Ok(watcher) => watchers.push(watcher),
                // The listing of that root fails in the same way and is reported there.
                Err(Error::BadArguments(_) | Error::NoAuth) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self(watchers))
    }

    /// Waits for the next event of any watch; forever when there are no watches. Cancel safe.
    pub(super) async fn next(&mut self) -> WatchedEvent {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Returns the next event that has already arrived.
    pub(super) fn next_now(&mut self) -> Option<WatchedEvent> {
        match self.poll_next(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(event) => Some(event),
            Poll::Pending => None,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<WatchedEvent> {
        for index in 0..self.0.len() {
            let polled = std::pin::pin!(self.0[index].changed()).poll(cx);
            if let Poll::Ready(event) = polled {
                // Polling a watcher after the last event of its session would panic.
                if event.event_type == EventType::Session && event.session_state.is_terminated() {
                    drop(self.0.swap_remove(index));
                }
                return Poll::Ready(event);
            }
        }
        Poll::Pending
    }
}

/// A one-shot watch that waits to fire.
pub(super) type Armed = Pin<Box<dyn Future<Output = WatchedEvent> + Send>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_node_are_told_from_errors_of_the_connection() {
        assert_eq!(judge(Err(Error::NoNode)), Ok(ReadAnswer::NoNode));
        assert!(matches!(judge(Err(Error::NoAuth)), Ok(ReadAnswer::Refused(_))));
        assert_eq!(judge(Err(Error::ConnectionLoss)), Err(Error::ConnectionLoss));
    }

    fn error(err: Error) -> MultiReadResult {
        MultiReadResult::Error { err }
    }

    #[test]
    fn an_error_of_one_operation_answers_its_read_and_the_other_reads_succeed() {
        let expected = || vec![Expected::Node, Expected::Listing, Expected::NotSent(Error::NoNode), Expected::Node];
        let children = || MultiReadResult::Children { children: Vec::new() };
        let results = vec![error(Error::NoAuth), children(), error(Error::NoNode), error(Error::NoNode)];
        let answers = read_results(expected(), results).expect("answers");
        assert!(matches!(answers[0], ReadAnswer::Refused(_)));
        assert_eq!(answers[1..], [ReadAnswer::NoNode, ReadAnswer::NoNode, ReadAnswer::NoNode]);
    }

    #[test]
    fn results_that_do_not_match_the_request_are_rejected() {
        let children = || MultiReadResult::Children { children: Vec::new() };
        for results in [vec![], vec![children()], vec![error(Error::NoNode), children()]] {
            assert_eq!(read_results(vec![Expected::Node], results), Err(OUT_OF_STEP));
        }
    }
}

//! Turns reads into requests and watches, their replies into answers, and errors into the end of a
//! connection.

use std::task::{Context, Poll};

use futures::StreamExt;
use futures::future::BoxFuture;
use zookeeper_client::{Error, EventType, MultiReadResult, SessionState, Stat, WatchedEvent};

use super::outbox::ConsumerGone;
use super::schedule::ReadRequest;
use crate::zk::{EventConsumer, stat_of};
use lockscope_base::znode::{Node, NodeData, ZnodePath, Zxid};
use lockscope_model::follow::{NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use lockscope_requests::{Events, Read, Reply, Requests, Watch};

/// The answers to a request, and the one-shot watch that the request set.
pub struct Answered {
    pub(super) request: ReadRequest,
    /// One answer for each read of the request, in order. An error here is an error of the
    /// connection or of the whole request, not of a node.
    pub(super) answers: Result<Vec<ReadAnswer>, Error>,
    pub(super) watch: Option<Watch>,
}

/// What a watch delivered.
#[derive(Debug)]
pub enum WatchDelivery {
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
pub fn send(
    client: &dyn Requests,
    request: ReadRequest,
    watching: WatchStyle,
    awaited: bool,
) -> BoxFuture<'_, Answered> {
    match &request.reads[..] {
        [NodeRead::List(path)] if watching == WatchStyle::OneShot => {
            let path = path.clone();
            Box::pin(async move {
                let (answer, watch) = list_and_watch(client, &path, awaited).await;
                Answered { request, answers: judge(answer).map(|answer| vec![answer]), watch }
            })
        }
        [read] => {
            let answer = send_single(client, read);
            Box::pin(async move {
                Answered { request, answers: judge(answer.await).map(|answer| vec![answer]), watch: None }
            })
        }
        reads => {
            let answers = send_multiple(client, reads);
            Box::pin(async move { Answered { request, answers: answers.await, watch: None } })
        }
    }
}

fn send_single<'a>(client: &'a dyn Requests, read: &NodeRead) -> Reply<'a, ReadAnswer> {
    match read {
        NodeRead::Node(path) => {
            let reply = client.data(path.as_str());
            Box::pin(async move { reply.await.map(|(data, stat)| ReadAnswer::Node(node(&data, &stat))) })
        }
        NodeRead::List(path) => {
            let reply = client.children(path.as_str());
            Box::pin(async move { reply.await.map(|(names, stat)| ReadAnswer::Children(names, stat_of(&stat))) })
        }
        NodeRead::Count(path) => {
            let reply = client.count_descendants(path.as_str());
            Box::pin(async move { reply.await.map(ReadAnswer::Descendants) })
        }
    }
}

/// Sends several reads as one request.
///
/// Children are read before the stat of their parent. The server runs the operations one by one,
/// and changes of other clients can fall between them. A stat newer than the children claims less
/// than it could; an older one could hide a deletion.
fn send_multiple<'a>(client: &'a dyn Requests, reads: &[NodeRead]) -> Reply<'a, Vec<ReadAnswer>> {
    let (mut operations, mut expected) = (Vec::with_capacity(reads.len()), Vec::with_capacity(reads.len()));
    for read in reads {
        expected.push(match read {
            NodeRead::Node(path) => {
                operations.push(Read::Data(path.as_str()));
                Expected::Node
            }
            NodeRead::List(path) => {
                operations.extend([Read::Children(path.as_str()), Read::Data(path.as_str())]);
                Expected::Listing
            }
            // No request for several reads can hold a count.
            NodeRead::Count(_) => Expected::Nothing,
        });
    }
    let reply = client.read(&operations);
    Box::pin(async move { read_results(expected, reply.await?) })
}

/// The results that one read expects.
enum Expected {
    Node,
    Listing,
    Nothing,
}

/// Combines the results of a request into one answer for each read. An error of one operation is
/// the answer to its read.
fn read_results(expected: Vec<Expected>, results: Vec<MultiReadResult>) -> Result<Vec<ReadAnswer>, Error> {
    let mut results = results.into_iter();
    let mut answers = Vec::with_capacity(expected.len());
    for expected in expected {
        let answer = match expected {
            Expected::Nothing => Err(Error::Unimplemented),
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
pub fn ends_connection(error: &Error) -> bool {
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
    client: &dyn Requests,
    path: &ZnodePath,
    awaited: bool,
) -> (Result<ReadAnswer, Error>, Option<Watch>) {
    loop {
        match client.watch_children(path.as_str()).await {
            Ok((names, stat, watch)) => return (Ok(ReadAnswer::Children(names, stat_of(&stat))), Some(watch)),
            Err(Error::NoNode) if awaited => match client.watch_stat(path.as_str()).await {
                // The node was created in between. The watch just set delivers nothing new.
                Ok((Some(_), _)) => {}
                Ok((None, watch)) => return (Err(Error::NoNode), Some(watch)),
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
pub fn read_event(event: &WatchedEvent) -> Option<WatchDelivery> {
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
#[derive(Default)]
pub struct RecursiveWatches {
    events: Vec<Events>,
    /// Bounds the events that wait for their turn.
    consumer: Option<EventConsumer>,
}

impl RecursiveWatches {
    /// Adds a recursive watch to each root, existing or not, in one round trip.
    ///
    /// Events that are not taken in the meantime are bounded, too: a server that sends more of them
    /// than fit before it has answered is cut off.
    pub async fn add(client: &dyn Requests, roots: &[ZnodePath], consumer: EventConsumer) -> Result<Self, Error> {
        let mut added = Vec::with_capacity(roots.len());
        for root in roots {
            added.push(client.watch_recursively(root.as_str()));
        }
        let mut watches = Vec::with_capacity(roots.len());
        for watch in added {
            match watch.await {
                Ok(events) => watches.push(events),
                // The listing of that root fails in the same way and is reported there.
                Err(Error::BadArguments(_) | Error::NoAuth) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { events: watches, consumer: Some(consumer) })
    }

    /// Waits for the next event of any watch; forever when there are no watches. Cancel safe.
    pub async fn next(&mut self) -> WatchedEvent {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Returns the next event that has already arrived.
    pub fn next_now(&mut self) -> Option<WatchedEvent> {
        match self.poll_next(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(event) => Some(event),
            Poll::Pending => None,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<WatchedEvent> {
        let mut index = 0;
        while let Some(events) = self.events.get_mut(index) {
            match events.poll_next_unpin(cx) {
                Poll::Ready(Some(event)) => return Poll::Ready(event),
                // The session has ended.
                Poll::Ready(None) => drop(self.events.swap_remove(index)),
                Poll::Pending => index += 1,
            }
        }
        if let Some(consumer) = &self.consumer {
            consumer.took_all();
        }
        Poll::Pending
    }
}

/// How a connection ended.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// The connection was cut.
    Cut(String),
    /// The connected member lags, which was reported: another member is tried.
    Left,
    /// The session is over.
    Over(SessionState),
    /// The consumer has gone.
    Gone,
}

impl From<ConsumerGone> for ConnectionEnd {
    fn from(_: ConsumerGone) -> Self {
        Self::Gone
    }
}

impl From<Error> for ConnectionEnd {
    fn from(error: Error) -> Self {
        match error {
            Error::SessionExpired | Error::SessionMoved => Self::Over(SessionState::Expired),
            Error::AuthFailed => Self::Over(SessionState::AuthFailed),
            Error::ClientClosed => Self::Over(SessionState::Closed),
            Error::ConnectionLoss => Self::Cut("the connection to the server was cut".to_owned()),
            Error::Throttled => Self::Cut("the server is overloaded and refuses to answer".to_owned()),
            error => Self::Cut(format!("the server's answer was unexpected ({error})")),
        }
    }
}

/// Returns what a new session state means for the current connection. Even `SyncConnected` ends it,
/// because it belongs to a new connection.
pub fn end_of(state: SessionState) -> ConnectionEnd {
    if state.is_terminated() { ConnectionEnd::Over(state) } else { Error::ConnectionLoss.into() }
}

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
        let expected = || vec![Expected::Node, Expected::Listing, Expected::Listing, Expected::Node];
        let children = || MultiReadResult::Children { children: Vec::new() };
        let cannot_be_sent = || error(Error::BadArguments(&"unsupported characters in path"));
        let results = vec![
            error(Error::NoAuth),
            children(),
            error(Error::NoNode),
            cannot_be_sent(),
            cannot_be_sent(),
            error(Error::NoNode),
        ];
        let answers = read_results(expected(), results).expect("answers");
        assert!(matches!(
            &answers[..],
            [ReadAnswer::Refused(_), ReadAnswer::NoNode, ReadAnswer::Refused(_), ReadAnswer::NoNode]
        ));
    }

    #[test]
    fn results_that_do_not_match_the_request_are_rejected() {
        let children = || MultiReadResult::Children { children: Vec::new() };
        for results in [vec![], vec![children()], vec![error(Error::NoNode), children()]] {
            assert_eq!(read_results(vec![Expected::Node], results), Err(OUT_OF_STEP));
        }
    }
}

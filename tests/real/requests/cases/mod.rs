//! The cases, generic over the servers. Another crate can include this folder, so it uses nothing
//! of the harness. A case waits for nothing but the servers and their clients, so that servers
//! and clients can be simulated on one thread.

pub mod ends;
pub mod moved;
pub mod recursive;
pub mod requests;
pub mod states;
pub mod transactions;
pub mod watches;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use lockscope_requests::{NewNode, Requests, SessionStates, Watch};
use tokio::time::timeout;
use zookeeper_client::{Acls, CreateMode, Error, EventType, SessionState, WatchedEvent};

/// Calls a macro with an implementation of [`Servers`] and the paths of its cases.
macro_rules! for_each_case {
    ($call:ident, $servers:ident) => {
        $call! {
            $servers:
            ends::a_client_learns_of_its_expiry_with_the_next_connection,
            ends::a_client_that_is_refused_gives_its_session_up_after_seven_fifths_of_the_timeout,
            ends::a_client_gives_up_a_silent_connection_and_later_its_session,
            recursive::a_recursive_watch_tells_of_every_node_in_order,
            recursive::a_recursive_watch_tells_of_no_node_after_a_reconnect,
            recursive::another_recursive_watch_revives_the_one_before,
            recursive::an_event_of_another_watch_reaches_a_recursive_watch_after_a_reconnect,
            recursive::a_dropped_recursive_watch_is_removed,
            requests::a_request_that_does_not_arrive_fails_and_is_never_sent_again,
            requests::a_request_whose_reply_is_lost_fails_and_was_carried_out_once,
            requests::requests_without_a_connection_wait_and_are_carried_out_once,
            requests::requests_are_carried_out_in_the_order_in_which_they_are_made,
            requests::a_request_whose_reply_is_dropped_is_carried_out,
            states::the_state_follows_the_connection,
            states::a_client_is_connected_again_before_an_outage_has_doubled,
            states::a_late_receiver_sees_the_newest_state_only,
            transactions::a_failed_transaction_tells_which_operation_failed,
            transactions::a_transaction_whose_reply_is_lost_fails_and_was_carried_out_once,
            watches::a_data_watch_fires_after_a_reconnect_for_a_change_during_the_outage,
            watches::a_child_watch_fires_after_a_reconnect_for_a_change_during_the_outage,
            watches::a_watch_of_a_missing_node_fires_for_its_creation,
            watches::a_watch_of_an_unchanged_node_survives_a_reconnect,
            watches::an_event_that_is_lost_comes_after_the_reconnect,
            watches::an_event_comes_before_a_reply_that_shows_its_change,
            watches::a_dropped_watch_is_removed_and_leaves_another_of_the_node,
            watches::a_watch_that_is_dropped_without_a_connection_is_removed_after_the_reconnect,
        }
    };
}
pub(super) use for_each_case;

/// Calls a macro with an implementation of [`MovingSession`] and the paths of its cases.
macro_rules! for_each_case_of_moving_sessions {
    ($call:ident, $servers:ident) => {
        $call! {
            $servers:
            moved::a_write_of_a_session_that_has_moved_breaks_the_connection,
            moved::a_leader_closes_the_connection_of_a_session_that_moves,
        }
    };
}
pub(super) use for_each_case_of_moving_sessions;

/// The session timeout of the clients, where a case does not need a short one.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a case waits for an event or a state: long enough on a busy machine, and for the end of
/// a simulated session, whose timeout is 20 seconds.
const PATIENCE: Duration = Duration::from_secs(40);

/// Servers with a client under test, whose connection can be held up and cut.
pub trait Servers: Sized {
    /// Starts servers without nodes, and connects the clients. The client under test asks for this
    /// session timeout.
    async fn start(session_timeout: Duration) -> Self;

    /// Returns the client under test.
    fn client(&self) -> Arc<dyn Requests>;

    /// Returns a client with another session. Its connection is never disturbed.
    fn other(&self) -> Arc<dyn Requests>;

    /// Holds the client's next request up on its way to the servers, and everything after it in
    /// both directions, also of new connections, until `cut`.
    fn hold_request(&mut self);

    /// Holds up the reply to the client's next request, or an event before it, and everything
    /// after it in both directions, also of new connections, until `cut`.
    fn hold_reply(&mut self);

    /// Waits until a packet is held up.
    async fn held(&mut self);

    /// Cuts the client's connection, and refuses new ones until `heal`. What is held up is lost.
    async fn cut(&mut self);

    /// Ends `cut`.
    async fn heal(&mut self);

    /// Cuts the connection as `cut` does, and ends the client's session at the servers.
    async fn expire(&mut self);

    /// Returns whether the servers have a watch of the data or of the creation of a node.
    async fn is_watched(&mut self, path: &str) -> bool;
}

/// The member of an ensemble to which a client connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    Leader,
    Follower,
}

/// An ensemble in which a client's session moves to another member without the client's knowledge.
pub trait MovingSession: Sized {
    /// Starts servers, and connects the client to this member only.
    async fn start(member: Member) -> Self;

    /// Returns the client.
    fn client(&self) -> Arc<dyn Requests>;

    /// Connects to another member with the client's session: to the leader if the client is
    /// connected to a follower. The servers alone may end the client's own connection.
    async fn take_over(&mut self);
}

/// Cuts the client's connection. Returns when the client knows it.
async fn disconnect(servers: &mut impl Servers) {
    servers.cut().await;
    reaches(&mut *servers.client().states(), SessionState::Disconnected).await;
}

/// Lets the client connect again. Returns when it has received the events that were due.
async fn reconnect(servers: &mut impl Servers) {
    servers.heal().await;
    // The client sets its watches again before it sends a request.
    servers.client().sync("/").await.expect("it is connected again");
}

async fn reaches(states: &mut dyn SessionStates, expected: SessionState) {
    let mut state = states.state();
    while state != expected {
        let next = timeout(PATIENCE, states.changed()).await;
        state = next.unwrap_or_else(|_| panic!("waited in vain for {expected} after {state}"));
    }
}

fn node(path: &str, mode: CreateMode) -> NewNode<'_> {
    NewNode { path, data: b"", mode, acls: Acls::anyone_all() }
}

async fn create(client: &dyn Requests, path: &str) {
    client.create(node(path, CreateMode::Persistent)).await.unwrap_or_else(|error| panic!("{path}: {error}"));
}

async fn delete(client: &dyn Requests, path: &str) {
    client.delete(path, None).await.unwrap_or_else(|error| panic!("{path}: {error}"));
}

async fn set(client: &dyn Requests, path: &str) {
    client.set_data(path, b"new", None).await.unwrap_or_else(|error| panic!("{path}: {error}"));
}

async fn count_children(client: &dyn Requests, path: &str) -> usize {
    client.children(path).await.expect("it can be listed").0.len()
}

/// Waits for the event of a one-shot watch.
async fn fired(watch: Watch) -> WatchedEvent {
    timeout(PATIENCE, watch).await.expect("it fires in time")
}

/// Waits for the event of a one-shot watch, and returns its type and path.
async fn event(watch: Watch) -> (EventType, String) {
    let event = fired(watch).await;
    (event.event_type, event.path)
}

/// Returns whether an event of a one-shot watch, or another result, is there already.
fn is_ready<F: Future + Unpin>(future: &mut F) -> bool {
    future.now_or_never().is_some()
}

fn is_session_event(event: &WatchedEvent, state: SessionState) -> bool {
    event.event_type == EventType::Session && event.session_state == state && event.path.is_empty()
}

/// Returns whether an error is that of a broken connection. The client gives the system's message
/// in an error without a name.
fn is_of_connection(error: &Error) -> bool {
    matches!(error, Error::ConnectionLoss | Error::Custom(_))
}

fn assert_lost<T: std::fmt::Debug>(reply: Result<T, Error>) {
    let error = reply.expect_err("the connection was lost");
    assert!(is_of_connection(&error), "{error:?}");
}

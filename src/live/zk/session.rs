//! Closes a session, and waits for its end.

use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::{Client, SessionState, StateWatcher};

/// The longest wait for a session to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Closes a session if this is its last client, and waits up to two seconds until it is closed.
/// Without a connection a session cannot be closed; it then expires at the servers.
pub async fn close_session(client: Client) {
    let states = client.state_watcher();
    drop(client);
    let _ = timeout(CLOSE_TIMEOUT, ended(states)).await;
}

/// Waits until a session is over, and returns its final state. Cancel safe.
pub async fn ended(mut states: StateWatcher) -> SessionState {
    let mut state = states.peek_state();
    while !state.is_terminated() {
        state = states.changed().await;
    }
    state
}

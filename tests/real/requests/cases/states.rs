//! The states of the session.

use futures::FutureExt;
use zookeeper_client::SessionState;

use super::{Servers, TIMEOUT, disconnect, is_ready, reaches, reconnect};

pub async fn the_state_follows_the_connection<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let client = servers.client();
    let (session, mut states) = (client.session(), client.states());
    for _ in 0..2 {
        assert_eq!((client.state(), states.peek()), (SessionState::SyncConnected, SessionState::SyncConnected));
        assert!(!is_ready(&mut states.changed()));
        servers.cut().await;
        assert_eq!(states.changed().await, SessionState::Disconnected);
        assert_eq!((client.state(), states.peek()), (SessionState::Disconnected, SessionState::Disconnected));
        assert!(!is_ready(&mut states.changed()));
        servers.heal().await;
        assert_eq!(states.changed().await, SessionState::SyncConnected);
        assert_eq!(client.session(), session);
    }
}

pub async fn a_late_receiver_sees_the_newest_state_only<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let client = servers.client();
    let mut late = client.states();
    disconnect(&mut servers).await;
    reconnect(&mut servers).await;
    reaches(&mut *client.states(), SessionState::SyncConnected).await;
    // The state is the one from before, but not the same: the receiver has not seen it.
    assert_eq!(late.changed().now_or_never(), Some(SessionState::SyncConnected));
    assert!(!is_ready(&mut late.changed()));
    servers.cut().await;
    assert_eq!(late.changed().await, SessionState::Disconnected);
}

//! The states of the session.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, timeout};
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

pub async fn a_client_is_connected_again_before_an_outage_has_doubled<S: Servers>() {
    const OUTAGE: Duration = Duration::from_secs(1);
    const SLACK: Duration = Duration::from_secs(1);
    let mut servers = S::start(TIMEOUT).await;
    let mut states = servers.client().states();
    let since = Instant::now();
    disconnect(&mut servers).await;
    reaches(&mut *states, SessionState::Disconnected).await;
    timeout(OUTAGE, states.changed()).await.expect_err("it is refused");
    let outage = since.elapsed();
    servers.heal().await;
    reaches(&mut *states, SessionState::SyncConnected).await;
    assert!(since.elapsed() < 2 * outage + SLACK, "{:?} of {outage:?}", since.elapsed());
}

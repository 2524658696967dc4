//! The end of the session, and of connections without messages.

use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, timeout};
use zookeeper_client::{Error, SessionState};

use super::{
    PATIENCE, Servers, TIMEOUT, assert_lost, create, disconnect, fired, is_ready, is_session_event, reaches, set,
};

/// A timeout that a case can wait for.
const SHORT: Duration = Duration::from_secs(2);

pub async fn a_client_learns_of_its_expiry_with_the_next_connection<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*client, "/node").await;
    create(&*client, "/top").await;
    let mut events = client.watch_recursively("/top").await.expect("it is connected");
    let mut watches = vec![client.watch_data("/node").await.expect("it is connected").2];
    watches.push(client.watch_children("/node").await.expect("it is connected").2);
    watches.push(client.watch_stat("/missing").await.expect("it is connected").1);
    disconnect(&mut servers).await;
    let mut states = client.states();
    let mut waiting = client.data("/node");
    servers.expire().await;
    set(&*other, "/node").await;
    assert_eq!(states.state(), SessionState::Disconnected);
    assert!(!is_ready(&mut waiting) && watches.iter_mut().all(|watch| !is_ready(watch)));
    servers.heal().await;
    assert_eq!(states.changed().await, SessionState::Expired);
    assert_eq!(waiting.await, Err(Error::SessionExpired));
    for watch in watches {
        let event = fired(watch).await;
        assert!(is_session_event(&event, SessionState::Expired), "{event:?}");
    }
    for state in [SessionState::Disconnected, SessionState::Expired] {
        let event = timeout(PATIENCE, events.next()).await.expect("it comes in time").expect("not the end");
        assert!(is_session_event(&event, state), "{event:?}");
    }
    assert_eq!(events.next().await, None);
    assert_eq!(client.data("/node").await, Err(Error::SessionExpired));
    assert_eq!(client.state(), SessionState::Expired);
    assert!(!is_ready(&mut states.changed()));
}

/// Asserts that this many fifths of a timeout have passed since an instant.
fn assert_passed(since: Instant, fifths: u32, timeout: Duration) {
    assert!(since.elapsed() >= timeout * fifths / 5, "{:?} of {timeout:?}", since.elapsed());
}

/// Asserts that fewer than this many fifths of a timeout have passed since an instant.
fn assert_not_passed(since: Instant, fifths: u32, timeout: Duration) {
    assert!(since.elapsed() < timeout * fifths / 5, "{:?} of {timeout:?}", since.elapsed());
}

pub async fn a_client_that_is_refused_gives_its_session_up_after_seven_fifths_of_the_timeout<S: Servers>() {
    let mut servers = S::start(SHORT).await;
    let client = servers.client();
    let (timeout, mut states) = (client.session_timeout(), client.states());
    // The last message comes between these two instants.
    let earliest = Instant::now();
    let (.., watch) = client.watch_children("/").await.expect("it is connected");
    disconnect(&mut servers).await;
    let latest = Instant::now();
    let waiting = client.data("/");
    reaches(&mut *states, SessionState::Expired).await;
    assert_passed(earliest, 7, timeout);
    assert_not_passed(latest, 9, timeout);
    assert_eq!(waiting.await, Err(Error::SessionExpired));
    let event = fired(watch).await;
    assert!(is_session_event(&event, SessionState::Expired), "{event:?}");
    assert_eq!(client.data("/").await, Err(Error::SessionExpired));
}

pub async fn a_client_gives_up_a_silent_connection_and_later_its_session<S: Servers>() {
    let mut servers = S::start(2 * SHORT).await;
    let client = servers.client();
    let (timeout, mut states) = (client.session_timeout(), client.states());
    let earliest = Instant::now();
    client.sync("/").await.expect("it is connected");
    servers.hold_request();
    let lost = client.data("/");
    servers.held().await;
    let latest = Instant::now();
    reaches(&mut *states, SessionState::Disconnected).await;
    assert_passed(earliest, 2, timeout);
    assert_not_passed(latest, 4, timeout);
    assert_lost(lost.await);
    let waiting = client.data("/");
    reaches(&mut *states, SessionState::Expired).await;
    // An attempt to connect, on which nothing comes either, is finished before.
    assert_passed(earliest, 7, timeout);
    assert_not_passed(latest, 11, timeout);
    assert_eq!(waiting.await, Err(Error::SessionExpired));
}

//! The end of the session, and of connections on which nothing comes.

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

/// Fractions of a session timeout.
fn fifths(timeout: Duration, number: u32) -> Duration {
    timeout * number / 5
}

pub async fn a_client_that_is_refused_gives_its_session_up_after_seven_fifths_of_the_timeout<S: Servers>() {
    let mut servers = S::start(SHORT).await;
    let client = servers.client();
    let (timeout, mut states) = (client.session_timeout(), client.states());
    let before = Instant::now();
    let (.., watch) = client.watch_children("/").await.expect("it is connected");
    disconnect(&mut servers).await;
    let after = Instant::now();
    let waiting = client.data("/");
    reaches(&mut *states, SessionState::Expired).await;
    println!("{:?} {:?}", before.elapsed(), after.elapsed());
    assert!(before.elapsed() >= fifths(timeout, 7), "{:?}", before.elapsed());
    assert!(after.elapsed() < fifths(timeout, 8), "{:?}", after.elapsed());
    assert_eq!(waiting.await, Err(Error::SessionExpired));
    let event = fired(watch).await;
    assert!(is_session_event(&event, SessionState::Expired), "{event:?}");
    assert_eq!(client.data("/").await, Err(Error::SessionExpired));
}

pub async fn a_silent_connection_is_given_up_after_two_fifths_of_the_timeout<S: Servers>() {
    let mut servers = S::start(SHORT).await;
    let client = servers.client();
    let (timeout, mut states) = (client.session_timeout(), client.states());
    states.state();
    let before = Instant::now();
    client.sync("/").await.expect("it is connected");
    servers.hold_request();
    let lost = client.data("/");
    servers.held().await;
    let after = Instant::now();
    assert_eq!(states.changed().await, SessionState::Disconnected);
    println!("{:?} {:?}", before.elapsed(), after.elapsed());
    assert!(before.elapsed() >= fifths(timeout, 2), "{:?}", before.elapsed());
    assert!(after.elapsed() < fifths(timeout, 3), "{:?}", after.elapsed());
    assert_lost(lost.await);
    reaches(&mut *states, SessionState::Expired).await;
    println!("{:?} {:?}", before.elapsed(), after.elapsed());
}

//! Sessions that have moved to another member.

use zookeeper_client::SessionState;

use super::{Member, MovingSession, assert_lost, create, delete, is_ready};

pub async fn a_write_of_a_session_that_has_moved_breaks_the_connection<S: MovingSession>() {
    let mut servers = S::start(Member::Follower).await;
    let client = servers.client();
    create(&*client, "/node").await;
    let mut states = client.states();
    servers.take_over().await;
    // The member learns from the leader's refusal only.
    client.sync("/").await.expect("the member serves it");
    client.data("/node").await.expect("the member serves it");
    assert!(!is_ready(&mut states.changed()));
    assert_lost(client.delete("/node", None).await);
    assert_eq!(states.changed().await, SessionState::Disconnected);
    assert_eq!(states.changed().await, SessionState::SyncConnected);
    // The refused deletion was not carried out. The session has moved back.
    delete(&*client, "/node").await;
}

pub async fn a_leader_closes_the_connection_of_a_session_that_moves<S: MovingSession>() {
    let mut servers = S::start(Member::Leader).await;
    let client = servers.client();
    create(&*client, "/node").await;
    let mut states = client.states();
    servers.take_over().await;
    assert_eq!(states.changed().await, SessionState::Disconnected);
    assert_eq!(states.changed().await, SessionState::SyncConnected);
    delete(&*client, "/node").await;
}

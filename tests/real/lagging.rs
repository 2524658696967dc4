//! A member that is cut off from the others still answers its clients, with an outdated state.

use std::time::Duration;

use lockscope_base::znode::Timestamp;
use lockscope_live::zk::ConnectOptions;
use lockscope_live::zk::survey::{SurveyOptions, Surveyor};
use lockscope_model::server_view::{Liveness, ServerView};
use serde_json::Value;
use tokio::time::timeout;
use zookeeper_client::CreateMode;

use crate::harness::ensemble::Ensemble;
use crate::harness::relay::Relay;
use crate::harness::terminal::Terminal;
use crate::harness::wait::PATIENCE;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope};
use crate::observe::fixture::connection;

/// The ticks for which a member continues without its leader: 30 s.
const SYNC_LIMIT: u32 = 150;

/// Reads lines until one has this event.
async fn until(watch: &mut Running, event: &str) -> Value {
    loop {
        let line: Value = serde_json::from_str(&watch.line().await.expect("it goes on")).expect("JSON");
        if line["event"] == event {
            return line;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_of_a_cut_off_member_is_not_live_and_another_member_is_tried() {
    let ensemble = Ensemble::with_links(SYNC_LIMIT);
    let (leader, cut_off) = (ensemble.leader(), ensemble.follower());
    let client = zk::connect(&ensemble.address(leader)).await;
    zk::make(&client, ["/locks/job".to_owned()]).await;
    let queue = ["alice", "bob"].map(|name| ("/locks/job/lock-".to_owned(), name.into()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, queue).await;
    // The relay opens only once both consoles have a session with the other member.
    let other = Relay::start(&ensemble.address(leader)).await;
    other.refuse().await;
    let (own, both) = (ensemble.address(cut_off), format!("{},{}", ensemble.address(cut_off), other.connect_string()));
    let [alone, moving] = [&own, &both].map(|connect| Terminal::lockscope(&["--connect", connect], 120, 24));
    let mut watch = Running::start(lockscope(&["watch", "--connect", &own, "--format", "json"]));
    alone.shows_all(&["● live", "alice"]);
    moving.shows_all(&["● live", "alice"]);
    until(&mut watch, "acquired").await;
    other.heal();

    ensemble.cut_off(cut_off);
    zk::delete_all(&client, [nodes[0].clone()]).await;
    let lags = format!("live, but {own} lags");
    alone.shows_all(&[&lags, &format!("{own} lags behind"), "name other members in --connect", "shown as of"]);
    moving.shows_all(&["● live", "bob"]);
    // The console does not wait until the member notices that it has no leader.
    alone.shows(&lags);
    alone.hides("● live");
    let line = until(&mut watch, "disconnected").await;
    assert!(line["reason"].as_str().is_some_and(|reason| reason.contains(" lags behind ")), "{line}");

    ensemble.heal();
    alone.shows_all(&["● live", "bob"]);
    until(&mut watch, "resynced").await;
}

/// Returns when the session expires according to the newest view, while nobody is connected with
/// it.
fn expiry(view: &ServerView, session: lockscope_base::znode::SessionId) -> Option<Timestamp> {
    match view.liveness(session) {
        Liveness::Disconnected { expires_at } => expires_at,
        _ => None,
    }
}

/// Returns whether the expiry has stayed the same for four seconds.
fn stands(seen: &[(Timestamp, Timestamp)]) -> bool {
    let Some((now, last)) = seen.last() else { return false };
    let same = seen.iter().rev().take_while(|(_, at)| at == last);
    same.last().is_some_and(|(first, _)| now.since(*first) >= Duration::from_secs(4))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_survey_counts_a_session_down_even_if_its_own_member_is_cut_off() {
    let ensemble = Ensemble::with_links(SYNC_LIMIT);
    let (leader, cut_off) = (ensemble.leader(), ensemble.follower());
    let relay = Relay::start(&ensemble.address(leader)).await;
    let doomed = zk::connect_within(&relay.connect_string(), Duration::from_secs(60)).await;
    let session_timeout = Duration::from_secs(30);
    let connection = ConnectOptions { session_timeout, ..connection(&ensemble.address(cut_off)) };
    let mut surveyor = Surveyor::start(SurveyOptions::new(connection)).expect("it starts");
    relay.refuse().await;
    let session = zk::session_of(&doomed);
    let mut seen: Vec<(Timestamp, Timestamp)> = Vec::new();
    let looks = async {
        while surveyor.next().await.expect("it goes on").expiry_of(session).is_none() {}
        ensemble.cut_off(cut_off);
        while !stands(&seen) {
            let view = surveyor.next().await.expect("it goes on");
            seen.extend(expiry(&view, session).map(|at| (view.at, at)));
        }
    };
    assert!(timeout(PATIENCE, looks).await.is_ok(), "the expiry moves away: {seen:?}");
    surveyor.stop().await;
}

//! The view of an ensemble of several members: where each client is connected, and what is reported
//! about an absent member.

use std::time::{Duration, Instant};

use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy};
use lockscope_model::server_view::{AskedBy, Liveness, ServerMode, ServerView};
use zookeeper_client::Client;

use super::{once, options, until};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Opens a client of each member.
async fn clients_of(ensemble: &Ensemble) -> Vec<Client> {
    let mut clients = Vec::new();
    for member in 0..MEMBERS {
        clients.push(zk::connect(&ensemble.address(member)).await);
    }
    clients
}

/// Returns the member that is known to have a client's connection.
fn home_of<'a>(view: &'a ServerView, client: &Client) -> Option<&'a str> {
    view.connection_of(zk::session_of(client)).map(|(member, _)| member.address.as_str())
}

fn error_of<'a>(view: &'a ServerView, address: &str) -> Option<&'a str> {
    view.missing().find(|(member, _)| *member == address).map(|(_, error)| error)
}

/// Waits until every AdminServer answers. Returns the options to ask the members.
pub async fn with_admin(ensemble: &Ensemble, by: ViewBy) -> SurveyOptions {
    let mut options = options(&ensemble.connect_string(), by);
    options.admin = ensemble.admin_url().parse().expect("a URL");
    eventually("every AdminServer, which start late", async || {
        let view = once(&options).await;
        if view.every_member_answered() { Ok(()) } else { Err(view) }
    })
    .await;
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_client_is_found_at_its_member_by_words_and_by_admin_server() {
    let ensemble = Ensemble::start();
    let clients = clients_of(&ensemble).await;
    for (by, asked_by) in [(ViewBy::FourLetter, AskedBy::Words), (ViewBy::Http, AskedBy::Http)] {
        let options = with_admin(&ensemble, by).await;
        let view = once(&options).await;
        let leader = ensemble.address(ensemble.leader());
        for (index, client) in clients.iter().enumerate() {
            assert_eq!(home_of(&view, client), Some(&*ensemble.address(index)));
            let expires =
                view.session(zk::session_of(client)).expect("the leader lists it").expires_at.expect("a time");
            let left = expires.since(view.at);
            assert!((Duration::from_secs(15)..Duration::from_secs(33)).contains(&left), "{left:?}");
        }
        for member in &view.members {
            assert_eq!(member.asked_by, asked_by);
            let expected = if member.address == leader { ServerMode::Leader } else { ServerMode::Follower };
            assert_eq!(member.mode, Some(expected));
            assert_eq!(member.sessions.is_some(), member.address == leader);
        }
        assert!(view.fired().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_named_only_by_the_ensembles_config_are_found() {
    let ensemble = Ensemble::start();
    let clients = clients_of(&ensemble).await;
    let view = once(&options(&ensemble.address(1), ViewBy::FourLetter)).await;
    assert_eq!(view.members.len(), MEMBERS, "{view:#?}");
    assert!(view.every_member_answered());
    assert_eq!(home_of(&view, &clients[2]), Some(&*ensemble.address(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_and_a_hung_member_are_named_and_delay_no_view() {
    let mut ensemble = Ensemble::start();
    let clients = clients_of(&ensemble).await;
    let (leader, hung) = (ensemble.leader(), ensemble.follower());
    let mut surveyor = Surveyor::start(options(&ensemble.connect_string(), ViewBy::FourLetter)).expect("it starts");
    let all =
        |view: &ServerView| view.every_member_answered() && clients.iter().all(|one| home_of(view, one).is_some());
    until(&mut surveyor, "all clients", all).await;

    ensemble.pause(hung);
    let at = ensemble.address(hung);
    let silent =
        |view: &ServerView| error_of(view, &at).is_some_and(|error| error.contains("did not answer within 2s"));
    let view = until(&mut surveyor, "the silence of one", silent).await;
    assert!(!view.every_member_answered());
    assert_eq!(home_of(&view, &clients[leader]), Some(&*ensemble.address(leader)));
    let liveness = |view: &ServerView| view.liveness(zk::session_of(&clients[hung]));
    assert!(!matches!(liveness(&view), Liveness::NoSession { .. }), "it is not said to be gone: {:?}", liveness(&view));
    // The other members may not have listed the session when the first view without the member was
    // assembled.
    let exists = |view: &ServerView| matches!(liveness(view), Liveness::Exists { .. });
    let view = until(&mut surveyor, "the session of the silent member's client", exists).await;

    // The other members are still asked as before.
    let mut last = answered_at(&view, &ensemble.address(leader));
    for _ in 0..3 {
        let next =
            until(&mut surveyor, "the next round", |view| answered_at(view, &ensemble.address(leader)) > last).await;
        last = answered_at(&next, &ensemble.address(leader));
    }

    ensemble.resume(hung);
    until(&mut surveyor, "all of them again", ServerView::every_member_answered).await;

    ensemble.stop(hung);
    let refused = |view: &ServerView| error_of(view, &at).is_some_and(|error| error.contains("refused the connection"));
    let view = until(&mut surveyor, "the end of one", refused).await;
    assert_eq!(home_of(&view, &clients[leader]), Some(&*ensemble.address(leader)));
    let out = |view: &ServerView| view.out_of_service().map(|member| member.address.clone()).eq([at.clone()]);
    let view = until(&mut surveyor, "the end of one, twice", out).await;

    // A survey that follows forgets neither the clients nor who is out of service.
    surveyor.stop().await;
    let mut surveyor =
        Surveyor::start_after(options(&ensemble.connect_string(), ViewBy::FourLetter), &view).expect("it starts");
    let first = surveyor.next().await.expect("a view");
    assert!(out(&first) && first.members_known, "{first:#?}");
    assert_eq!(home_of(&first, &clients[leader]), Some(&*ensemble.address(leader)));
    ensemble.start_again(hung);
    until(&mut surveyor, "all of them again", ServerView::every_member_answered).await;
    surveyor.stop().await;
}

fn answered_at(view: &ServerView, address: &str) -> Option<lockscope_base::znode::Timestamp> {
    view.members.iter().find(|member| member.address == address)?.answered_at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_leaders_death_its_successor_knows_the_sessions() {
    let mut ensemble = Ensemble::start();
    let client = zk::connect(&ensemble.connect_string()).await;
    let session = zk::session_of(&client);
    let mut surveyor = Surveyor::start(options(&ensemble.connect_string(), ViewBy::FourLetter)).expect("it starts");
    let listed = |view: &ServerView| view.session(session).is_some() && view.every_member_answered();
    until(&mut surveyor, "the session", listed).await;

    let killed = ensemble.kill_leader();
    let dead = ensemble.address(killed);
    let led_by_another = |view: &ServerView| {
        let leader = view.members.iter().find(|member| member.mode == Some(ServerMode::Leader));
        leader.is_some_and(|leader| leader.address != dead)
            && view.session(session).is_some()
            && view.liveness(session) == Liveness::Connected
            && error_of(view, &dead).is_some()
    };
    let view = until(&mut surveyor, "another leader", led_by_another).await;
    assert!(!view.every_member_answered());
    surveyor.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asking_once_with_a_hung_member_stays_within_its_time_limit() {
    let ensemble = Ensemble::start();
    let clients = clients_of(&ensemble).await;
    let hung = ensemble.follower();
    ensemble.pause(hung);
    let began = Instant::now();
    let view = once(&options(&ensemble.connect_string(), ViewBy::FourLetter)).await;
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    for (index, client) in clients.iter().enumerate() {
        let home = (index != hung).then(|| ensemble.address(index));
        assert_eq!(home_of(&view, client), home.as_deref());
    }
    let at = ensemble.address(hung);
    assert!(error_of(&view, &at).is_some(), "{view:#?}");
    assert_eq!(view.watches(zk::session_of(&clients[hung]), &ZnodePath::root()), None);
    ensemble.resume(hung);
}

//! The view of a standalone server, by four-letter words and by AdminServer.

use std::cell::Cell;
use std::time::Duration;

use lockscope_base::time::now;
use lockscope_base::znode::SessionId;
use lockscope_live::zk::TlsFiles;
use lockscope_live::zk::survey::{Surveyor, ViewBy, WatchersWanted};
use lockscope_model::server_view::{AskedBy, Liveness, Provenance, ServerMode, ServerView};
use zookeeper_client::{Client, CreateMode, OneshotWatcher};

use super::{once, options, until};
use crate::harness::reading::path;
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Starts a server with AdminServer, and returns the address of AdminServer too.
fn with_admin(settings: Settings) -> (Server, String) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let settings = settings.line("admin.enableServer=true").line("admin.serverAddress=127.0.0.1");
    let server = settings.line(&format!("admin.serverPort={port}")).start();
    (server, format!("http://HOST:{port}/commands"))
}

/// Opens two clients and sets their watches: the first watches a node and one that does not exist,
/// the second the children of a node.
async fn two_clients(connect: &str) -> (Client, Client, Vec<OneshotWatcher>) {
    let (one, other) = (zk::connect(connect).await, zk::connect(connect).await);
    zk::make(&one, ["/lock/a".to_owned()]).await;
    let watches = vec![
        one.get_and_watch_data("/lock/a").await.expect("it exists").2,
        one.check_and_watch_stat("/lock/none").await.expect("an answer").1,
        other.list_and_watch_children("/lock").await.expect("it exists").1,
    ];
    (one, other, watches)
}

fn check_clients(view: &ServerView, one: SessionId, other: SessionId) {
    assert!(view.every_member_answered(), "{view:#?}");
    let member = &view.members[0];
    assert_eq!((member.mode, member.error.as_deref()), (Some(ServerMode::Standalone), None));
    assert!(member.version.as_deref().is_some_and(|version| version.starts_with("3.8.0")));
    for session in [one, other] {
        assert_eq!(view.liveness(session), Liveness::Connected);
        let (_, connection) = view.connection_of(session).expect("it is connected");
        assert_eq!(connection.timeout_ms, Some(30_000));
        assert!(!connection.is_of_lockscope());
        let heard = connection.last_heard.expect("the clock is known");
        assert!(view.at.since(heard) < Duration::from_secs(15), "{heard:?} {:?}", view.at);
        let expires = view.session(session).expect("it is listed").expires_at.expect("the clock is known");
        let left = expires.since(view.at);
        assert!((Duration::from_secs(15)..Duration::from_secs(33)).contains(&left), "{left:?}");
    }
    let (_, ours) = view.own_session.and_then(|own| view.connection_of(own)).expect("our own session is listed");
    assert!(ours.is_of_lockscope(), "{ours:?}");
    assert_eq!(view.liveness(SessionId(7)), Liveness::NoSession { at: member.sessions.as_ref().expect("listed").at });
    let watchers = |text: &str| view.watchers_of(&path(text)).expect("it was answered");
    for watched in ["/lock/a", "/lock/none"] {
        assert_eq!(watchers(watched).sessions, [one]);
        assert!(watchers(watched).whole);
    }
    assert_eq!(view.watches(one, &path("/lock/a")), Some(true));
    assert_eq!(view.child_watches(), Some(1));
    assert!(view.asked.requests >= 5 && view.asked.bytes > 0, "{:?}", view.asked);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_found_with_their_watches_by_words_and_by_admin_server() {
    let (server, admin) = with_admin(Settings::default());
    let (one, other, _watches) = two_clients(&server.connect_string()).await;
    let sessions = (zk::session_of(&one), zk::session_of(&other));
    for (by, asked_by) in [(ViewBy::FourLetter, AskedBy::Words), (ViewBy::Http, AskedBy::Http)] {
        let mut options = options(&server.connect_string(), by);
        options.admin = admin.parse().expect("a URL");
        let view = eventually("AdminServer, which starts late", async || {
            let view = once(&options).await;
            if view.every_member_answered() { Ok(view) } else { Err(view) }
        })
        .await;
        assert_eq!(view.members[0].asked_by, asked_by);
        check_clients(&view, sessions.0, sessions.1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_allows_only_srvr_is_reported_with_the_setting_to_change() {
    let server = Settings::default().line("4lw.commands.whitelist=srvr,conf").start();
    let client = zk::connect(&server.connect_string()).await;
    let view = once(&options(&server.connect_string(), ViewBy::FourLetter)).await;
    let member = &view.members[0];
    assert_eq!((member.mode, member.asked_by), (Some(ServerMode::Standalone), AskedBy::Words));
    let error = member.error.as_deref().expect("a sentence");
    assert!(error.contains("4lw.commands.whitelist=cons,dump,mntr,srvr,wchp,wchs"), "{error}");
    assert!(error.contains(&server.connect_string()), "{error}");
    assert!(!view.every_member_answered());
    assert_eq!(view.liveness(zk::session_of(&client)), Liveness::Unknown);
    assert_eq!(view.watchers_of(&path("/")), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_server_is_asked_where_words_are_not_allowed() {
    let (server, admin) = with_admin(Settings::default().line("4lw.commands.whitelist=srvr,conf"));
    let mut options = options(&server.connect_string(), ViewBy::Auto);
    options.admin = admin.parse().expect("a URL");
    let client = zk::connect(&server.connect_string()).await;
    let view = eventually("AdminServer, which starts late", async || {
        let view = once(&options).await;
        if view.every_member_answered() { Ok(view) } else { Err(view) }
    })
    .await;
    assert_eq!(view.members[0].asked_by, AskedBy::Http);
    assert_eq!(view.liveness(zk::session_of(&client)), Liveness::Connected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_client_is_seen_to_expire_at_the_time_of_its_expiry() {
    let server = Server::start();
    let connector = Client::connector().with_session_timeout(Duration::from_secs(6)).with_detached();
    let client = eventually("a session", async || connector.clone().connect(&server.connect_string()).await).await;
    let session = zk::session_of(&client);
    let mut surveyor = Surveyor::start(options(&server.connect_string(), ViewBy::FourLetter)).expect("it starts");
    until(&mut surveyor, "the client", |view| view.liveness(session) == Liveness::Connected).await;
    drop(client);
    let gone = |view: &ServerView| match view.liveness(session) {
        Liveness::Disconnected { expires_at } => expires_at,
        _ => None,
    };
    let view = until(&mut surveyor, "the lost connection", |view| gone(view).is_some()).await;
    let expires = gone(&view).expect("a disconnected session");
    assert!(expires.since(view.at) < Duration::from_secs(8), "{expires:?} {:?}", view.at);
    // Words give times to the second, and servers end sessions at ticks; at the previous round, it
    // had not ended.
    let before = Cell::new(view.at);
    let view = until(&mut surveyor, "its end", |view| {
        let has_ended = matches!(view.liveness(session), Liveness::NoSession { .. });
        if !has_ended {
            before.set(view.at);
        }
        has_ended
    })
    .await;
    let (late, early) = (before.get().since(expires), expires.since(view.at));
    assert!(late < Duration::from_secs(5) && early < Duration::from_secs(2), "late {late:?}, early {early:?}");
    surveyor.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_and_watches_are_shown_as_seen_from_the_chroot() {
    let connect = zk::own_root("view").await;
    let client = zk::connect(&connect).await;
    zk::make(&client, ["/lock".to_owned()]).await;
    let _watch = client.get_and_watch_data("/lock").await.expect("it exists").2;
    let view = once(&options(&connect, ViewBy::FourLetter)).await;
    assert_eq!(view.watches(zk::session_of(&client), &path("/lock")), Some(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_on_an_unlisted_port_are_not_taken_for_gone() {
    let server = Settings::default().tls(ClientCertificate::None).start();
    let view = once(&options(&server.connect_string(), ViewBy::FourLetter)).await;
    assert!(view.every_member_answered(), "nobody uses the other port: {view:#?}");

    let authority = std::fs::read_to_string(&server.certificates().authority).expect("the harness wrote it");
    let tls = zookeeper_client::TlsOptions::new().with_pem_ca(&authority).expect("a certificate");
    let connector = Client::connector().with_session_timeout(Duration::from_secs(30)).with_tls(tls);
    let secure = connector.secure_connect(&server.secure_connect_string()).await.expect("a session");
    let view = once(&options(&server.connect_string(), ViewBy::FourLetter)).await;
    assert!(!view.every_member_answered());
    assert!(matches!(view.liveness(zk::session_of(&secure)), Liveness::Exists { expires_at: Some(_) }));
    assert!(view.members[0].error.as_deref().is_some_and(|error| error.contains("another port")), "{view:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_connected_over_tls_is_asked_over_tls() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let files = server.certificates();
    let tls =
        TlsFiles { ca: files.authority.clone(), cert: Some(files.client.clone()), key: Some(files.client_key.clone()) };
    let mut options = options(&server.secure_connect_string(), ViewBy::FourLetter);
    options.connection.tls = Some(tls);
    let view = eventually("an answer in time", async || {
        let view = once(&options).await;
        if view.every_member_answered() { Ok(view) } else { Err(view) }
    })
    .await;
    let own = view.own_session.expect("it has a session");
    assert_eq!(view.liveness(own), Liveness::Connected);
    assert!(view.session(own).is_some() && view.watchers_of(&path("/")).is_some_and(|watchers| watchers.whole));

    options.connection.tls.as_mut().expect("it was set").ca = files.stranger.clone();
    let view = once(&options).await;
    assert!(view.members[0].error.as_deref().is_some_and(|error| error.contains("cannot be trusted")), "{view:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_text_words_beside_a_tls_session_are_marked_and_prove_nothing() {
    let server = Settings::default().tls(ClientCertificate::None).start();
    let (secure, plain) = (server.secure_connect_string(), server.connect_string());
    let mut options = options(&format!("tcp+tls://{secure},tcp://{plain}"), ViewBy::FourLetter);
    options.connection.tls = Some(TlsFiles { ca: server.certificates().authority.clone(), cert: None, key: None });
    let view = once(&options).await;
    let provenance = |address: &str| {
        let member = view.members.iter().find(|member| member.address == address).expect("it was asked");
        assert_eq!(member.asked_by, AskedBy::Words, "{member:?}");
        member.provenance
    };
    assert_eq!((provenance(&secure), provenance(&plain)), (Provenance::AsSession, Provenance::PlainBesideTls));
    assert_eq!(view.liveness(SessionId(7)), Liveness::Unproven);

    // Where the session itself uses plain text, words prove as much as the session does.
    let view = once(&super::options(&plain, ViewBy::FourLetter)).await;
    assert!(view.provenance().can_prove() && matches!(view.liveness(SessionId(7)), Liveness::NoSession { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_are_queried_only_while_they_are_wanted() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    client.create("/lock", b"", &zk::open(CreateMode::Ephemeral)).await.expect("a node");
    let _watch = client.get_and_watch_data("/lock").await.expect("it exists").2;
    let session = zk::session_of(&client);
    let mut surveyor = Surveyor::start(options(&server.connect_string(), ViewBy::FourLetter)).expect("it starts");
    let reported = |view: &ServerView| view.watches(session, &path("/lock"));
    let view = until(&mut surveyor, "the client", |view| view.liveness(session) == Liveness::Connected).await;
    assert_eq!(reported(&view), None);
    surveyor.ask_for_watchers(WatchersWanted::Now);
    until(&mut surveyor, "its watch", |view| reported(view) == Some(true)).await;
    surveyor.ask_for_watchers(WatchersWanted::Never);
    until(&mut surveyor, "no more claim", |view| reported(view).is_none()).await;
    let before = now();
    let view = until(&mut surveyor, "another round", |view| view.at > before).await;
    assert!(view.members[0].watched.is_none());
}

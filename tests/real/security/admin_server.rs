//! AdminServer over HTTPS: its answers are trusted beside TLS, and a failure is reported with a
//! remedy.

use std::net::TcpListener;

use serde_json::Value;
use zookeeper_client::CreateMode;

use super::fixture::{certificate_options, secure, with};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};
use crate::observe::fixture::curator;

/// Starts a TLS server with AdminServer on all addresses of this machine. Returns it and
/// AdminServer's port.
fn server(settings: Settings) -> (Server, u16) {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let settings = settings.tls(ClientCertificate::Need).line("admin.enableServer=true");
    (settings.line("admin.serverAddress=0.0.0.0").line(&format!("admin.serverPort={port}")).start(), port)
}

/// Takes a snapshot while AdminServer is asked at this URL. Returns the report about the only
/// server.
async fn asked_at(server: &Server, url: &str) -> (Value, Value) {
    let more = ["--connect", &secure(server), "--server-view", "http", "--admin-url", url].map(str::to_owned);
    let options = [&more[..], &certificate_options(server)].concat();
    let shot = run(lockscope(&with(&["snapshot"], &options))).await.json();
    (shot["ensemble"]["servers"][0].clone(), shot)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_over_https_are_trusted_beside_tls() {
    let (server, port) = server(Settings::default().line("admin.portUnification=true"));
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/job".to_owned()]).await;
    let wish = [(format!("/locks/job/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wish).await;
    let url = format!("https://HOST:{port}/commands");
    let shot = eventually("AdminServer, which starts late", async || {
        let (asked, shot) = asked_at(&server, &url).await;
        if asked["view"] == "http" { Ok(shot) } else { Err(asked) }
    })
    .await;
    assert_eq!(shot["ensemble"]["servers"][0]["plain_beside_tls"], false, "{shot}");
    let contender = &shot["locks"][0]["contenders"][0];
    assert!(contender["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")), "{contender}");
    let (plainly, _) = asked_at(&server, &url.replace("https", "http")).await;
    assert_eq!((&plainly["view"], &plainly["plain_beside_tls"]), (&"http".into(), &true.into()), "{plainly}");

    let more = ["--connect", &secure(&server), "--server-view", "http", "--admin-url", &url].map(str::to_owned);
    let options = [&more[..], &certificate_options(&server)].concat();
    let mut console = Terminal::lockscope(&with(&[], &options), 160, 40);
    console.shows_all(&["/locks/job", "● live 1/1", contender["client"].as_str().expect("an address")]);
    console.press("q");
    assert!(console.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_for_another_host_and_a_server_without_https_are_told_apart() {
    let (secured, port) = server(Settings::default().line("admin.portUnification=true"));
    let (plain, plain_port) = server(Settings::default());
    for (server, url, parts) in [
        (&secured, format!("https://127.0.0.2:{port}/commands"), ["certificate for", "connect by one of these names"]),
        (&plain, format!("https://HOST:{plain_port}/commands"), ["does not speak TLS", "write http:// in --admin-url"]),
    ] {
        let error = eventually("AdminServer, which starts late", async || {
            let (asked, _) = asked_at(server, &url).await;
            let error = asked["error"].as_str().unwrap_or_default().to_owned();
            if error.contains("nothing listens") { Err(error) } else { Ok(error) }
        })
        .await;
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

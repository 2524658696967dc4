//! With a session over TLS, plain-text reports about an owner make no deletion easier: anybody in
//! between can forge them.

use std::path::Path;

use lockscope_base::znode::SessionId;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use zookeeper_client::CreateMode;

use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, lockscope, run};
use crate::observe::fixture::curator;

/// Forwards an AdminServer's answers without one session. Returns the port.
async fn hide(session: SessionId, admin: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(pass_on(stream, admin, session));
        }
    });
    port
}

async fn pass_on(mut client: TcpStream, admin: u16, hidden: SessionId) -> Option<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(client.read_u8().await.ok()?);
    }
    let line = String::from_utf8(request).ok()?.lines().next()?.to_owned();
    let path = line.split(' ').nth(1)?.to_owned();
    let mut server = TcpStream::connect(("127.0.0.1", admin)).await.ok()?;
    let asked = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    server.write_all(asked.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await.ok()?;
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let forged = without(serde_json::from_slice(&answer[body..]).ok()?, hidden).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", forged.len());
    client.write_all((head + &forged).as_bytes()).await.ok()
}

fn without(mut answer: Value, hidden: SessionId) -> Value {
    for list in ["connections", "secure_connections"] {
        if let Some(list) = answer[list].as_array_mut() {
            list.retain(|connection| connection["session_id"] != hidden.0);
        }
    }
    if let Some(times) = answer["expiry_time_to_session_ids"].as_object_mut() {
        for ids in times.values_mut().filter_map(Value::as_array_mut) {
            ids.retain(|id| *id != hidden.0);
        }
    }
    answer
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// Runs a command on the server over TLS, while its AdminServer is asked in plain text.
async fn over_tls(server: &Server, admin: u16, arguments: &[&str]) -> Ended {
    let certificates = server.certificates();
    let file = |path: &Path| path.to_str().expect("text").to_owned();
    let (ca, cert) = (file(&certificates.authority), file(&certificates.client));
    let (key, url) = (file(&certificates.client_key), format!("http://HOST:{admin}/commands"));
    let mut command = lockscope(arguments);
    command.args(["--connect", &server.secure_connect_string(), "--tls-ca", &ca, "--tls-cert", &cert, "--tls-key"]);
    command.args([&key, "--admin-url", &url]);
    run(command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_owner_hidden_by_forged_answers_is_no_ghost_and_needs_the_typed_number() {
    let admin = free_port();
    let server = Settings::default()
        .tls(ClientCertificate::Need)
        .line("admin.enableServer=true")
        .line("admin.serverAddress=127.0.0.1")
        .line(&format!("admin.serverPort={admin}"))
        .start();
    let owner = zk::connect(&server.connect_string()).await;
    zk::make(&owner, ["/locks/a".to_owned()]).await;
    let wish = [(format!("/locks/a/{}", curator()), Vec::new())];
    let node = zk::create_all(&owner, CreateMode::EphemeralSequential, wish).await.remove(0);
    let forger = hide(zk::session_of(&owner), admin).await;

    let plan = eventually("a list of sessions that is younger than the node", async || {
        let plan = over_tls(&server, forger, &["delete", &node, "--dry-run"]).await.json();
        let owner = plan["plan"]["nodes"][0]["evidence"].as_str().unwrap_or_default().to_owned();
        if owner.contains("every server answered") || owner.contains("plain text") { Ok(plan) } else { Err(plan) }
    })
    .await;
    let planned = &plan["plan"]["nodes"][0];
    assert_eq!((&planned["liveness"], &plan["plan"]["confirmation"]), (&"suspect".into(), &"sequence-number".into()));
    assert!(planned["evidence"].as_str().is_some_and(|says| says.contains("proves nothing beside TLS")), "{planned}");

    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("audit.jsonl");
    let arguments = ["delete", &node, "--yes", "--audit-log", log.to_str().expect("text")];
    let ended = over_tls(&server, forger, &arguments).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("--even-if-live"), "{ended:?}");
    assert!(owner.check_stat(&node).await.expect("an answer").is_some(), "it was deleted: {ended:?}");

    let shot = over_tls(&server, forger, &["snapshot", "--root", "/locks"]).await.json();
    let contender = &shot["locks"][0]["contenders"][0];
    assert_eq!((contender["liveness"].as_str(), contender["path"].as_str()), (Some("unknown"), Some(&*node)), "{shot}");
    assert_eq!(shot["ensemble"]["servers"][0]["plain_beside_tls"], true, "{shot}");
    let passed = over_tls(&server, forger, &["check", "--root", "/locks", "--for", "15s"]).await.json();
    assert!(!passed["findings"].to_string().contains("ghost"), "{passed}");
}

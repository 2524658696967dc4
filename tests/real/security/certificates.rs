//! TLS with client certificates: ours is accepted below a chroot, and every command reports a
//! refusal in one sentence.

use std::time::{Duration, Instant};

use zookeeper_client::CreateMode;

use super::fixture::{certificate_options, secure, with, word};
use crate::harness::certificates::{foreign_client, replace_server};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};
use crate::observe::fixture::curator;

/// How soon a refusal must be reported; a connection attempt gives up only after [`SESSION`].
const AT_ONCE: Duration = Duration::from_secs(30);

const SESSION: &str = "300s";

/// Asserts that every command that changes something or runs for long ends at once with a sentence
/// that has these parts, and that the console shows it on its screen.
async fn all_refuse(options: &[String], parts: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, audit) = (word(&folder.path().join("locks.db")), word(&folder.path().join("audit.jsonl")));
    let commands: [&[&str]; 3] = [
        &["record", "--store", &store],
        &["contend", "--path", "/a", "--clients", "2", "--rounds", "1"],
        &["delete", "/a", "--yes", "--audit-log", &audit],
    ];
    for command in commands {
        let began = Instant::now();
        let sentence = run(lockscope(&with(command, options))).await.refused_at_connecting();
        assert!(began.elapsed() < AT_ONCE, "{command:?} took {:?}: {sentence}", began.elapsed());
        for part in parts {
            assert!(sentence.contains(part), "{command:?}: {part:?} is not in: {sentence}");
        }
    }
    let mut console = Terminal::lockscope(&with(&[], options), 240, 40);
    console.shows_all(parts);
    console.press("q");
    console.ends();
}

fn options(connect: &str, more: &[&str]) -> Vec<String> {
    ["--connect", connect, "--session-timeout", SESSION].iter().chain(more).map(|word| (*word).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_our_certificate_every_command_works_below_a_chroot() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/app/locks/job".to_owned()]).await;
    let wish = [(format!("/app/locks/job/{}", curator()), Vec::new())];
    let node = zk::create_all(&client, CreateMode::EphemeralSequential, wish).await.remove(0);
    let folder = tempfile::tempdir().expect("a folder");
    let [store, audit] = ["locks.db", "audit.jsonl"].map(|file| word(&folder.path().join(file)));
    let connect = format!("{}/app", secure(&server));
    let options = [options(&connect, &[]), certificate_options(&server)].concat();

    let mut recorder = Running::start(lockscope(&with(&["record", "--store", &store], &options)));
    recorder.line().await.expect("it records");
    let mut console = Terminal::lockscope(&with(&[], &options), 160, 40);
    console.shows_all(&["/locks/job", "● live"]);
    let contend = ["contend", "--path", "/locks/own", "--clients", "3", "--rounds", "2", "--format", "json"];
    let outcome = run(lockscope(&with(&contend, &options))).await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let inside = node.strip_prefix("/app").expect("below the chroot");
    let in_the_store = async |what: &str, is_so: &dyn Fn(&str) -> bool| {
        eventually(what, async || {
            let shot = run(lockscope(&["snapshot", "--store", &store, "--format", "json"])).await;
            if shot.code == Some(0) && is_so(&shot.out) { Ok(()) } else { Err(shot) }
        })
        .await;
    };
    in_the_store("the contender", &|shot| shot.contains(inside)).await;
    let delete = ["delete", inside, "--yes", "--even-if-live", "--audit-log", &audit];
    let ended = run(lockscope(&with(&delete, &options))).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(client.check_stat(&node).await.expect("an answer").is_none(), "{ended:?}");
    console.shows("0 contenders");
    console.press("q");
    assert!(console.ends().success());
    in_the_store("the deletion", &|shot| !shot.contains(inside)).await;
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_certificate_or_with_a_foreign_one_every_command_is_refused_with_a_remedy() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let (connect, certificates) = (secure(&server), server.certificates());
    let [ca, stranger] = [&certificates.authority, &certificates.stranger].map(|file| word(file));
    all_refuse(&options(&connect, &["--tls-ca", &ca]), &["asks for a client certificate", "--tls-cert"]).await;
    let [cert, key] = foreign_client(server.folder()).map(|file| word(&file));
    let foreign = options(&connect, &["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key]);
    all_refuse(&foreign, &["refused our client certificate", "an authority that the server trusts"]).await;
    all_refuse(&options(&connect, &["--tls-ca", &stranger]), &["the given authority did not sign", "--tls-ca"]).await;
    all_refuse(&options(&connect, &[]), &["wants TLS", "--tls-ca"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_an_expired_certificate_or_another_name_is_not_trusted() {
    let mut server = Settings::default().tls(ClientCertificate::None).start();
    let refuses = async |server: &Server, parts: &[&str]| {
        let ca = word(&server.certificates().authority);
        all_refuse(&options(&secure(server), &["--tls-ca", &ca]), parts).await;
    };
    replace_server(server.folder(), "20200101", "20210203", "DNS:localhost");
    tokio::task::block_in_place(|| server.restart());
    refuses(&server, &["expired at 2021-02-03", "renewed"]).await;
    replace_server(server.folder(), "20200101", "20990203", "DNS:zk1.example.com");
    tokio::task::block_in_place(|| server.restart());
    refuses(&server, &["a certificate for zk1.example.com only", "connect by one of these names"]).await;
}

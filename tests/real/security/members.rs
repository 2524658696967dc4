//! Three members that require a login; one is killed while the console and a recorder run.

use std::fs;

use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission, SaslOptions};

use super::fixture::{auth_file, with, word};
use crate::harness::ensemble::Ensemble;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};
use crate::observe::fixture::curator;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_member_was_killed_console_and_recorder_keep_their_identity() {
    let folder = tempfile::tempdir().expect("a folder");
    let jaas = folder.path().join("jaas.conf");
    let users = "Server {\n org.apache.zookeeper.server.auth.DigestLoginModule required user_alice=\"secret\";\n};\n";
    fs::write(&jaas, users).expect("written");
    let properties = [
        format!("java.security.auth.login.config={}", jaas.display()),
        "zookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider".to_owned(),
    ];
    let all = [(); 3].map(|()| properties.to_vec());
    let mut ensemble = tokio::task::block_in_place(|| Ensemble::with_properties(all));
    let connector = Client::connector().with_sasl(SaslOptions::digest_md5("alice", "secret"));
    let client = connector.connect(&ensemble.connect_string()).await.expect("a session");
    zk::make(&client, ["/app/locks/job".to_owned()]).await;
    let acl = [Acl::new(Permission::ALL, AuthId::new("auth", ""))];
    client.set_acl("/app/locks", &acl, None).await.expect("closed");

    let connect = format!("{}/app", ensemble.connect_string());
    let options = [&["--connect".to_owned(), connect][..], &auth_file(folder.path(), "sasl:alice:secret\n")].concat();
    let store = word(&folder.path().join("locks.db"));
    let mut recorder = Running::start(lockscope(&with(&["record", "--store", &store], &options)));
    recorder.line().await.expect("it records");
    let mut console = Terminal::lockscope(&with(&[], &options), 160, 40);
    console.shows_all(&["● live 3/3"]);
    // Every session is cut when the leader goes.
    tokio::task::block_in_place(|| ensemble.kill_leader());
    console.shows_all(&["● live", "2/3 servers"]);
    eventually("a contender after the cut", async || {
        let wish = format!("/app/locks/job/{}", curator());
        let create = client.create(&wish, b"", &zk::open(CreateMode::EphemeralSequential)).await;
        create.map(drop).map_err(|error| error.to_string())
    })
    .await;
    console.shows_all(&["/locks/job", "1 contender"]);
    eventually("the contender in the recording", async || {
        let shot = run(lockscope(&["snapshot", "--store", &store, "--format", "json"])).await;
        if shot.out.contains("/locks/job/") { Ok(()) } else { Err(shot) }
    })
    .await;
    console.press("q");
    assert!(console.ends().success());
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0));
}

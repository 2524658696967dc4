//! Nodes that only the right identity may read or delete, by digest and by SASL login, for every
//! command.

use std::path::Path;

use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use super::fixture::{auth_file, paths, with, word};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};
use crate::observe::fixture::curator;

const SECRET: &str = "w0nderland";
const WRONG: &str = "l00king-glass";

/// Creates a lock below `/closed` with one contender, accessible only to this session's identity.
/// Returns the contender.
async fn closed_lock(client: &Client) -> String {
    zk::make(client, ["/closed/job".to_owned()]).await;
    let wish = [(format!("/closed/job/{}", curator()), Vec::new())];
    let node = zk::create_all(client, CreateMode::EphemeralSequential, wish).await.remove(0);
    let acl = [Acl::new(Permission::ALL, AuthId::new("auth", ""))];
    for path in [node.as_str(), "/closed/job", "/closed"] {
        client.set_acl(path, &acl, None).await.expect("closed");
    }
    node
}

/// Asserts that no file of a folder contains a password, except for the auth file.
fn no_secret_in(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let bytes = std::fs::read(entry.path()).expect("a file");
        let holds = |secret: &str| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(entry.file_name() == "auth" || !(holds(SECRET) || holds(WRONG)), "{}", entry.path().display());
    }
}

/// Asserts that every command works on the closed lock with the right identity, and none without
/// it.
async fn opens(server: &Server, client: &Client, right: &str, wrong: Option<&str>) {
    let node = closed_lock(client).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| word(&folder.path().join(name));
    let (store, log, audit) = (file("locks.db"), file("log"), file("audit.jsonl"));
    let connect = ["--connect".to_owned(), server.connect_string()];
    let logged = |mut command: std::process::Command| {
        command.args(["--log-file", &log]).env("LOCKSCOPE_LOG", "trace");
        command
    };
    let delete = ["delete", &node, "--yes", "--even-if-live", "--audit-log", &audit];
    let contend = ["contend", "--path", "/closed/own", "--clients", "3", "--rounds", "2"];
    for identity in [None, wrong].into_iter().filter(|identity| identity.is_none() || wrong.is_some()) {
        let mut options = connect.to_vec();
        options.extend(identity.map(|lines| auth_file(folder.path(), lines)).into_iter().flatten());
        let shot = run(logged(lockscope(&with(&["snapshot"], &options)))).await.json();
        assert_eq!((paths(&shot), &shot["unreadable"][0]["path"]), (vec![], &"/closed".into()), "{shot}");
        for command in [&delete[..], &contend[..]] {
            let ended = run(logged(lockscope(&with(command, &options)))).await;
            assert_eq!(ended.code, Some(2), "{ended:?}");
            assert!(ended.stderr.contains("--auth-file") && ended.stderr.lines().count() == 1, "{ended:?}");
        }
        assert!(client.check_stat(&node).await.expect("an answer").is_some());
    }

    let options = [&connect[..], &auth_file(folder.path(), right)].concat();
    let mut recorder = Running::start(logged(lockscope(&with(&["record", "--store", &store], &options))));
    recorder.line().await.expect("it records");
    let outcome = run(logged(lockscope(&with(&contend, &options)))).await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let mut console = Terminal::lockscope(&with(&[], &options), 160, 40);
    console.shows_all(&["/closed/job", "● live 1/1"]);
    let ended = run(logged(lockscope(&with(&delete, &options)))).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    console.shows("0 contenders");
    console.press("q");
    assert!(console.ends().success());
    eventually("the closed lock in the recording", async || {
        let watched = run(lockscope(&["watch", "--store", &store, "--from", "-5m"])).await;
        if watched.out.contains("/closed/job") { Ok(()) } else { Err(watched) }
    })
    .await;
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0));
    no_secret_in(folder.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_digest_identity_opens_its_nodes_to_every_command_and_no_other_does() {
    let server = Server::start();
    let connector = Client::connector().with_auth("digest", format!("alice:{SECRET}").as_bytes());
    let client = connector.connect(&server.connect_string()).await.expect("a session");
    opens(&server, &client, &format!("digest:alice:{SECRET}\n"), Some(&format!("digest:alice:{WRONG}\n"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sasl_login_opens_its_nodes_to_every_command_and_a_wrong_one_is_refused_by_each() {
    let server = Settings::default().sasl_user("alice", SECRET).start();
    let connector = Client::connector().with_sasl(zookeeper_client::SaslOptions::digest_md5("alice", SECRET));
    let client = connector.connect(&server.connect_string()).await.expect("a session");
    opens(&server, &client, &format!("sasl:alice:{SECRET}\n"), None).await;

    let folder = tempfile::tempdir().expect("a folder");
    let connect = ["--connect".to_owned(), server.connect_string()];
    let options = [&connect[..], &auth_file(folder.path(), &format!("sasl:alice:{WRONG}\n"))].concat();
    let (store, audit) = (word(&folder.path().join("locks.db")), word(&folder.path().join("audit.jsonl")));
    let commands: [&[&str]; 3] = [
        &["record", "--store", &store],
        &["contend", "--path", "/a", "--clients", "2", "--rounds", "1"],
        &["delete", "/closed/job", "--yes", "--audit-log", &audit],
    ];
    for command in commands {
        let sentence = run(lockscope(&with(command, &options))).await.refused_at_connecting();
        assert!(sentence.contains("refused the sasl credentials: check user and password"), "{command:?}: {sentence}");
    }
    let mut console = Terminal::lockscope(&with(&[], &options), 160, 40);
    console.shows_all(&["refused the sasl credentials", "check user and password"]);
    console.press("q");
    console.ends();
}

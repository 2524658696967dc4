//! Checks that the servers accepted our identity, even where they would also admit us without one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::program::{Ended, lockscope, run};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::terminal::Terminal;

const SECRET: &str = "w0nderland";
const WRONG: &str = "l00king-glass";

/// Starts a server that admits clients without an identity after a failed login.
fn lenient() -> Server {
    Settings::default().sasl_user("alice", SECRET).property("zookeeper.allowSaslFailedClients=true").start()
}

/// Takes a snapshot with these identities and a full log. Asserts that no password appears
/// anywhere.
async fn snapshot(connect: &str, identities: &str) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let (auth, log) = (folder.path().join("auth"), folder.path().join("log"));
    fs::write(&auth, identities).expect("written");
    fs::set_permissions(&auth, Permissions::from_mode(0o600)).expect("its owner's alone");
    let mut command = lockscope(&["snapshot", "--connect", connect, "--timeout", "20s"]);
    command.arg("--auth-file").arg(&auth).arg("--log-file").arg(&log).env("LOCKSCOPE_LOG", "trace");
    let ended = run(command).await;
    let log = fs::read_to_string(log).expect("a log");
    for text in [&log, &ended.out, &ended.stderr] {
        assert!(!text.contains(SECRET) && !text.contains(WRONG), "a password is in {text}");
    }
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_sasl_password_is_an_error_even_if_the_server_admits_the_client() {
    let server = lenient();
    let reported = snapshot(&server.connect_string(), &format!("sasl:alice:{WRONG}\n")).await.refused();
    assert!(
        reported.contains("refused the sasl credentials") && reported.contains("check user and password"),
        "{reported}"
    );
    let reported = snapshot(&server.connect_string(), &format!("digest:bob:x\nsasl:bob:{WRONG}\n")).await.refused();
    assert!(reported.contains("refused the sasl credentials"), "{reported}");
    snapshot(&server.connect_string(), &format!("digest:bob:{WRONG}\nsasl:alice:{SECRET}\n")).await.json();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_at_a_server_without_sasl_is_refused() {
    let server = Server::start();
    let reported = snapshot(&server.connect_string(), &format!("sasl:alice:{SECRET}\n")).await.refused();
    assert!(reported.contains("sasl credentials") && reported.contains("know the scheme"), "{reported}");
    snapshot(&server.connect_string(), &format!("digest:alice:{SECRET}\n")).await.json();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_too_old_to_confirm_the_identity_is_used_and_noted_once() {
    let server = lenient();
    let relay = Relay::start(&server.connect_string()).await;
    relay.rewrite_op(op::WHO_AM_I, op::UNKNOWN);
    let ended = snapshot(&relay.connect_string(), &format!("sasl:alice:{SECRET}\n")).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches("could not be verified").count(), 1, "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    let shot: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert!(shot["ensemble"]["session"].is_string(), "{shot}");

    let folder = tempfile::tempdir().expect("a folder");
    let auth = folder.path().join("auth");
    fs::write(&auth, format!("sasl:alice:{SECRET}\n")).expect("written");
    fs::set_permissions(&auth, Permissions::from_mode(0o600)).expect("its owner's alone");
    let arguments = ["--connect", &relay.connect_string(), "--auth-file", auth.to_str().expect("text")];
    let mut terminal = Terminal::lockscope(&arguments, 160, 40);
    terminal.shows_all(&["the sasl login could not be verified"]);
    terminal.press("q");
    assert_eq!(terminal.ends().exit_code(), 0);

    // Without a login, or with one whose acceptance every server confirms, there is no such note.
    snapshot(&relay.connect_string(), &format!("digest:alice:{SECRET}\n")).await.json();
}

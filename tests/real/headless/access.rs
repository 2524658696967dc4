//! Which credentials open which nodes, and that no secret leaks.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use super::program::{Ended, lockscope, run};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::zk;
use crate::observe::fixture::curator;

const SECRET: &str = "w0nderland";

/// Creates a lock below `/open`, and one below `/closed` that only `alice` may read.
async fn half_closed(server: &Server) -> Client {
    let connector = Client::connector().with_auth("digest", format!("alice:{SECRET}").as_bytes());
    let client = connector.connect(&server.connect_string()).await.expect("a session");
    zk::make(&client, ["/open/a".to_owned(), "/closed/a".to_owned()]).await;
    for parent in ["/open/a", "/closed/a"] {
        let wishes = [(format!("{parent}/{}", curator()), Vec::new())];
        zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    }
    let acl = [Acl::new(Permission::ALL, AuthId::new("auth", ""))];
    client.set_acl("/closed", &acl, None).await.expect("closed");
    client
}

fn paths(shot: &Value) -> Vec<&str> {
    let locks = shot["locks"].as_array().expect("locks");
    locks.iter().map(|lock| lock["path"].as_str().expect("a path")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_subtree_is_named_and_the_rest_is_shown() {
    let server = Server::start();
    let _client = half_closed(&server).await;
    let connect = server.connect_string();
    let shot = run(lockscope(&["snapshot", "--connect", &connect])).await.json();
    assert_eq!(paths(&shot), ["/open/a"]);
    let unreadable = shot["unreadable"].as_array().expect("a list");
    assert_eq!(unreadable.len(), 1, "{shot}");
    assert_eq!(unreadable[0]["path"], "/closed");
    assert!(unreadable[0]["reason"].as_str().is_some_and(|reason| reason.contains("READ")), "{shot}");

    let out = run(lockscope(&["snapshot", "--connect", &connect, "--format", "table"])).await.done();
    assert!(out.contains("/open/a ") && out.contains("Not readable: /closed: "), "{out}");

    // A missing root is an error only if no other root is given.
    let arguments = ["snapshot", "--connect", &connect, "--root", "/open", "--root", "/nowhere"];
    let shot = run(lockscope(&arguments)).await.json();
    assert_eq!(paths(&shot), ["/open/a"]);
    assert_eq!(shot["unreadable"][0]["path"], "/nowhere");
    for format in ["json", "table"] {
        let roots = ["--root", "/nowhere", "--root", "/no/where", "--root", "/closed"];
        let arguments = [&["snapshot", "--connect", &connect, "--format", format], &roots[..]].concat();
        let reported = run(lockscope(&arguments)).await.refused();
        for part in ["/nowhere (", "/no/where (", "/closed (", "--root", "--auth-file"] {
            assert!(reported.contains(part), "{reported}");
        }
    }
}

/// Returns the exit code, JSON output and stderr of `check`.
async fn checked(connect: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let ended = run(lockscope(&[&["check", "--connect", connect, "--for", "1s"], more].concat())).await;
    let reported = serde_json::from_str(&ended.out).unwrap_or_default();
    (ended.code, reported, ended.stderr)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_with_unreadable_nodes_does_not_pass() {
    let server = Server::start();
    let _client = half_closed(&server).await;
    let connect = server.connect_string();
    let (code, reported, stderr) = checked(&connect, &[]).await;
    assert_eq!((code, &reported["passed"], stderr.as_str()), (Some(1), &false.into(), ""), "{reported}");
    assert_eq!(reported["unreadable"].as_array().map(Vec::len), Some(1), "{reported}");
    assert_eq!(reported["unreadable"][0]["path"], "/closed", "{reported}");
    assert!(reported["unreadable"][0]["reason"].as_str().is_some_and(|reason| reason.contains("READ")), "{reported}");
    let table = run(lockscope(&["check", "--connect", &connect, "--for", "1s", "--format", "table"])).await;
    assert_eq!(table.code, Some(1), "{table:?}");
    assert!(table.out.contains("Not readable: /closed: "), "{table:?}");

    let mut open = lockscope(&["check", "--connect", &connect, "--for", "1s"]);
    open.env("LOCKSCOPE_AUTH", format!("digest:alice:{SECRET}"));
    let reported = run(open).await.json();
    assert_eq!(
        (&reported["passed"], &reported["unreadable"], &reported["locks"]),
        (&true.into(), &json!([]), &2.into()),
        "{reported}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_of_an_unreadable_root_fails() {
    let server = Server::start();
    let _client = half_closed(&server).await;
    let connect = server.connect_string();
    // The readable roots are shown beside the unreadable one.
    for root in ["/closed", "/nowhere"] {
        let (code, reported, stderr) = checked(&connect, &["--root", "/open", "--root", root]).await;
        assert_eq!((code, &reported["passed"], &reported["locks"]), (Some(2), &false.into(), &1.into()), "{reported}");
        assert_eq!(reported["unreadable"][0]["path"], root, "{reported}");
        assert!(stderr.contains(&format!("{root} (")) && stderr.contains("--auth-file"), "{stderr}");
        assert!(!stderr.contains("/open"), "{stderr}");
        let refused = run(lockscope(&["check", "--connect", &connect, "--root", root])).await.refused();
        assert!(refused.contains(&format!("{root} (")) && refused.contains("--auth-file"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_with_an_unreadable_contender_does_not_pass() {
    let server = Server::start();
    let client = half_closed(&server).await;
    let connect = server.connect_string();
    let wishes = [(format!("/open/a/{}", curator()), Vec::new())];
    let hidden = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await.remove(0);
    let acl = [Acl::new(Permission::ALL, AuthId::new("auth", ""))];
    client.set_acl(&hidden, &acl, None).await.expect("closed");
    let (code, reported, _) = checked(&connect, &["--root", "/open"]).await;
    assert_eq!((code, &reported["passed"]), (Some(1), &false.into()), "{reported}");
    assert_eq!(reported["unreadable"][0]["path"], hidden.as_str(), "{reported}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_reports_unreadable_nodes_and_ends_if_a_root_is_unreadable() {
    let server = Server::start();
    let _client = half_closed(&server).await;
    let connect = server.connect_string();
    for root in ["/closed", "/nowhere"] {
        let reported = run(lockscope(&["watch", "--connect", &connect, "--root", root])).await.refused();
        assert!(reported.contains(&format!("{root} (")) && reported.contains("--auth-file"), "{reported}");
        let several = ["watch", "--connect", &connect, "--root", "/open", "--root", root, "--format", "json"];
        let ended = run(lockscope(&several)).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(&format!("{root} (")), "{ended:?}");
        assert!(ended.out.contains("lock-found") && ended.out.contains("/open/a"), "{ended:?}");
    }
    // An unreadable part of a root is reported once, and the rest is watched.
    let ended = run(lockscope(&["watch", "--connect", &connect, "--for", "2s"])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches("/closed").count(), 1, "{ended:?}");
    assert!(
        ended.stderr.starts_with("lockscope: /closed cannot be read: ") && ended.out.contains("/open/a"),
        "{ended:?}"
    );
}

/// Asserts that the command saw everything, and that neither its output nor its log contains the
/// secret.
fn opened(ended: Ended, log: &std::path::Path, secret: &str) {
    let log = fs::read_to_string(log).expect("a log");
    assert!(!log.is_empty());
    for text in [&log, &ended.out, &ended.stderr] {
        assert!(!text.contains(secret), "the secret is in {text}");
    }
    let shot = ended.json();
    assert_eq!((paths(&shot), &shot["unreadable"]), (vec!["/closed/a", "/open/a"], &json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_open_closed_nodes_and_are_never_shown() {
    let server = Server::start();
    let _client = half_closed(&server).await;
    let connect = server.connect_string();
    let folder = tempfile::tempdir().expect("a folder");
    let auth = folder.path().join("auth");
    fs::write(&auth, format!("# who we are\ndigest:alice:{SECRET}\n")).expect("written");
    fs::set_permissions(&auth, Permissions::from_mode(0o600)).expect("its owner's alone");
    let auth = auth.to_str().expect("text");

    let lines = format!("digest:alice:{SECRET}");
    let option = ["--auth-file", auth];
    let by_file = (&option[..], ("HOME", "/nonexistent"));
    let by_lines = (&[][..], ("LOCKSCOPE_AUTH", lines.as_str()));
    let by_variable = (&[][..], ("LOCKSCOPE_AUTH_FILE", auth));
    for (way, (arguments, (name, value))) in [by_file, by_lines, by_variable].into_iter().enumerate() {
        let log = folder.path().join(way.to_string());
        let mut command = lockscope(&["snapshot", "--connect", &connect, "--log-file", log.to_str().expect("text")]);
        command.args(arguments).env(name, value).env("LOCKSCOPE_LOG", "trace");
        opened(run(command).await, &log, SECRET);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_needs_the_right_authority_and_says_so() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    zk::create_all(&client, CreateMode::EphemeralSequential, [(format!("/locks/a/{}", curator()), Vec::new())]).await;
    let (secure, certificates) = (server.secure_connect_string(), server.certificates());
    let file = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let (ca, stranger) = (file(&certificates.authority), file(&certificates.stranger));
    let (cert, key) = (file(&certificates.client), file(&certificates.client_key));
    let with = |options: &[&str]| {
        let mut command = lockscope(&["snapshot", "--connect", &secure, "--timeout", "8s"]);
        command.args(options);
        command
    };

    let shot = run(with(&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key])).await.json();
    assert_eq!(paths(&shot), ["/locks/a"]);
    let (strange, nobody, plain) = tokio::join!(
        run(with(&["--tls-ca", &stranger, "--tls-cert", &cert, "--tls-key", &key])),
        run(with(&["--tls-ca", &ca])),
        run(with(&[])),
    );
    let reported = strange.refused();
    assert!(
        reported.contains(&format!("{secure} shows a certificate that the given authority did not sign")),
        "{reported}"
    );
    let reported = nobody.refused();
    assert!(
        reported.contains(&format!("{secure} asks for a client certificate")) && reported.contains("--tls-cert"),
        "{reported}"
    );
    let reported = plain.refused();
    assert!(reported.contains(&format!("{secure} wants TLS")) && reported.contains("--tls-ca"), "{reported}");
}

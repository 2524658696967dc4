//! `lockscope doctor`: what may be seen, and that the lines that it names help.

use std::fs::{self, Permissions};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;

use lockscope_sandbox::ServerBehaviour;
use serde_json::{Value, json};
use zookeeper_client::{Acl, AuthId, Client, Permission};

use super::program::{Running, lockscope, run};
use crate::harness::ensemble::Ensemble;
use crate::harness::server::{Server, ports_free_on};
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::zk;
use crate::played::played;

/// An address of AdminServer where nothing listens.
const NO_ADMIN_SERVER: &str = "http://127.0.0.1:1/commands";

async fn doctor(at: &str, more: &[&str]) -> (Option<i32>, Value) {
    doctor_by(NO_ADMIN_SERVER, at, more).await
}

async fn doctor_by(admin: &str, at: &str, more: &[&str]) -> (Option<i32>, Value) {
    let arguments = [&["doctor", "--connect", at, "--json", "--admin-url", admin], more].concat();
    let ended = run(lockscope(&arguments)).await;
    let report = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
    (ended.code, report)
}

fn checks<'a>(report: &'a Value, what: &str) -> Vec<&'a Value> {
    report.as_array().expect("checks").iter().filter(|check| check["what"] == what).collect()
}

fn only<'a>(report: &'a Value, what: &str) -> &'a Value {
    let [check] = checks(report, what)[..] else { panic!("not one {what} in {report}") };
    check
}

fn line(check: &Value) -> &str {
    check["needs"][0].as_str().unwrap_or_else(|| panic!("{check} needs nothing"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_everything_and_the_sandbox_lack_nothing() {
    let server = Server::start();
    let mut sandbox = Running::start(lockscope(&["sandbox", "--port", "0"]));
    let first: Value = serde_json::from_str(&sandbox.line().await.expect("a line")).expect("JSON");
    for at in [server.connect_string(), first["address"].as_str().expect("an address").to_owned()] {
        let (code, report) = doctor(&at, &[]).await;
        assert_eq!(code, Some(0), "{report}");
        for what in ["session", "persistent-watches", "members", "member", "words", "clients", "watches", "nodes"] {
            assert_eq!(only(&report, what)["seen"], true, "{report}");
        }
        let admin = only(&report, "admin-server");
        assert_eq!((&admin["seen"], &admin["optional"]), (&false.into(), &true.into()), "{admin}");
        let table = run(lockscope(&["doctor", "--connect", &at, "--format", "table"])).await.done();
        assert!(table.contains("standalone, ZooKeeper 3.") && table.ends_with("Nothing is lacking.\n"), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_are_off_are_named_with_the_line_that_allows_them() {
    let server = Settings::default().line("4lw.commands.whitelist=srvr,conf").start();
    let (code, report) = doctor(&server.connect_string(), &[]).await;
    assert_eq!(code, Some(1), "{report}");
    assert_eq!((&only(&report, "member")["seen"], &only(&report, "nodes")["seen"]), (&true.into(), &true.into()));
    for what in ["words", "admin-server", "clients", "sessions", "watches", "figures"] {
        let check = only(&report, what);
        assert_eq!((&check["seen"], &check["optional"]), (&false.into(), &false.into()), "{check}");
    }
    assert_eq!(
        only(&report, "admin-server")["needs"],
        serde_json::json!(["admin.enableServer=true", "admin.serverPort=1"])
    );
    let watches = only(&report, "watches");
    assert_eq!(watches["needs_in"], "zoo.cfg");

    let port = ports_free_on(&[Ipv4Addr::LOCALHOST]).next().expect("a port");
    let by_admin = Settings::default().line("4lw.commands.whitelist=srvr,conf").line("admin.enableServer=true");
    let by_admin = by_admin.line("admin.serverAddress=127.0.0.1").line(&format!("admin.serverPort={port}")).start();
    let url = format!("http://HOST:{port}/commands");
    let (code, report) = doctor_by(&url, &by_admin.connect_string(), &[]).await;
    assert_eq!((code, &only(&report, "words")["optional"]), (Some(0), &true.into()), "{report}");
    assert_eq!(only(&report, "watches")["found"], "by AdminServer", "{report}");

    let corrected = Settings::default().line(line(watches)).start();
    let (code, report) = doctor(&corrected.connect_string(), &[]).await;
    assert_eq!(code, Some(0), "{report}");

    let (code, report) = doctor(&server.connect_string(), &["--server-view", "off"]).await;
    assert_eq!((code, &only(&report, "member")["seen"]), (Some(1), &Value::Null), "nobody looked: {report}");
}

/// Returns the ACL of a `setAcl` line of ZooKeeper's shell.
fn acl_of(line: &str) -> Vec<Acl> {
    let entries = line.rsplit_once(' ').expect("three words").1;
    let acl = |entry: &str| {
        let (identity, letters) = entry.rsplit_once(':').expect("permissions");
        let (scheme, id) = identity.split_once(':').expect("a scheme");
        let letter = |letter| match letter {
            'r' => Permission::READ,
            'a' => Permission::ADMIN,
            other => panic!("{other} in {line}"),
        };
        let all = letters.chars().map(letter).reduce(|all, one| all | one).expect("a permission");
        Acl::new(all, AuthId::new(scheme, id))
    };
    entries.split(',').map(acl).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acl_that_refuses_is_named_with_the_line_that_opens_the_node() {
    let server = Server::start();
    let at = server.connect_string();
    let alice = Client::connector().with_auth("digest", b"alice:w0nderland").connect(&at).await.expect("a session");
    zk::make(&alice, ["/app/locks/a".to_owned(), "/private/a".to_owned()]).await;
    let admin = [Acl::new(Permission::ADMIN, AuthId::new("world", "anyone"))];
    alice.set_acl("/app/locks", &admin, None).await.expect("closed");
    alice.set_acl("/private", &[Acl::new(Permission::ALL, AuthId::new("auth", ""))], None).await.expect("closed");

    let (code, report) = doctor(&at, &["--root", "/app", "--root", "/private"]).await;
    assert_eq!(code, Some(1), "{report}");
    let [app, ours, private] = checks(&report, "nodes")[..] else { panic!("{report}") };
    assert_eq!(app["found"], "everything below is read, but for 1 node: 0 locks", "{report}");
    assert_eq!((&ours["path"], line(ours)), (&"/app/locks".into(), "setAcl /app/locks world:anyone:ra"), "{ours}");
    assert_eq!(line(private), "setAcl /private ENTRIES,world:anyone:r", "what else is allowed may not be seen");
    // The line works, also where a chroot hides a part of the path.
    let (_, below) = doctor(&format!("{at}/app"), &[]).await;
    assert_eq!(line(checks(&below, "nodes")[1]), line(ours));
    alice.set_acl("/app/locks", &acl_of(line(ours)), None).await.expect("opened");
    let (code, report) = doctor(&at, &["--root", "/app"]).await;
    assert_eq!(code, Some(0), "{report}");

    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("auth");
    for (identity, opens) in [("digest:bob:s3cret", false), ("digest:alice:w0nderland", true)] {
        fs::write(&file, identity).expect("an auth file");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("private");
        let (_, report) = doctor(&at, &["--root", "/private", "--auth-file", file.to_str().expect("text")]).await;
        let check = only(&report, "nodes");
        assert_eq!(check["seen"], opens, "{report}");
        assert!(opens || line(check) == "setAcl /private ENTRIES,digest:bob:HASH:r", "{check}");
        assert!(!report.to_string().contains("s3cret") && !report.to_string().contains("w0nderland"), "{report}");
    }

    // ZooKeeper's shell would take the second word of the path for the ACL.
    let odd = "/private2 world:anyone:cdrwa";
    zk::make(&alice, [odd.to_owned()]).await;
    alice.set_acl(odd, &admin, None).await.expect("closed");
    let (code, report) = doctor(&at, &["--root", odd]).await;
    let check = only(&report, "nodes");
    assert_eq!((code, &check["seen"], &check["needs"]), (Some(1), &false.into(), &json!([])), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_member_is_looked_at_and_one_that_is_away_is_named() {
    let mut ensemble = Ensemble::start();
    let at = ensemble.connect_string();
    let (code, report) = doctor_by(&ensemble.admin_url(), &at, &[]).await;
    assert!(checks(&report, "admin-server").iter().all(|check| check["seen"] == true), "{report}");
    let modes: Vec<&str> = checks(&report, "member").iter().filter_map(|check| check["found"].as_str()).collect();
    assert_eq!((code, modes.len()), (Some(0), 3), "{report}");
    assert!(modes.iter().any(|found| found.starts_with("leader, ZooKeeper 3.")), "{modes:?}");
    let away = ensemble.follower();
    ensemble.stop(away);
    let (code, report) = doctor(&at, &[]).await;
    let seen = checks(&report, "member").iter().filter(|check| check["seen"] == true).count();
    assert_eq!((code, seen), (Some(1), 2), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_session_what_is_known_is_printed_and_the_command_fails() {
    let (code, report) = doctor("127.0.0.1:1", &[]).await;
    assert_eq!((code, &only(&report, "session")["seen"]), (Some(2), &false.into()), "{report}");
    assert_eq!((&only(&report, "nodes")["seen"], &only(&report, "member")["seen"]), (&Value::Null, &false.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeper_and_an_old_server_are_named_with_what_they_lack() {
    let keeper = played(ServerBehaviour::Keeper).await;
    let (code, report) = doctor(&keeper.connect_string(), &[]).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(only(&report, "member")["found"].as_str().is_some_and(|found| found.contains("Keeper")), "{report}");
    let watches = only(&report, "watches");
    let allowed = line(watches).strip_prefix("<four_letter_word_white_list>").expect("Keeper's own option");
    assert!(allowed.contains("wchp") && watches["needs_in"] == "the keeper_server part of the config", "{watches}");
    assert_eq!(only(&report, "clients")["seen"], true, "{report}");
    assert_eq!(only(&report, "admin-server")["found"], "Keeper has none");
    assert_eq!(only(&report, "persistent-watches")["seen"], false, "its events name the wrong node: {report}");

    let old = played(ServerBehaviour::ZooKeeper35).await;
    let (code, report) = doctor(&old.connect_string(), &[]).await;
    let watches = only(&report, "persistent-watches");
    assert_eq!((code, &watches["seen"]), (Some(1), &false.into()), "{report}");
    assert!(watches["found"].as_str().is_some_and(|found| found.contains("3.6")), "{watches}");
    assert_eq!(only(&report, "words")["seen"], true, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_plain_text_beside_tls_counts_as_nothing_seen() {
    let port = ports_free_on(&[Ipv4Addr::LOCALHOST]).next().expect("a port");
    let settings = Settings::default().tls(ClientCertificate::None).line("admin.enableServer=true");
    let server = settings.line("admin.serverAddress=127.0.0.1").line(&format!("admin.serverPort={port}")).start();
    let (url, at) = (format!("http://HOST:{port}/commands"), server.secure_connect_string());
    let authority = server.certificates().authority.to_str().expect("text");
    let (code, report) = doctor_by(&url, &at, &["--tls-ca", authority]).await;
    assert_eq!(
        (code, &only(&report, "tls")["seen"]),
        (Some(0), &true.into()),
        "the words are asked over TLS: {report}"
    );
    let (code, report) = doctor_by(&url, &at, &["--tls-ca", authority, "--server-view", "http"]).await;
    let admin = only(&report, "admin-server");
    assert_eq!((code, &admin["seen"]), (Some(1), &false.into()), "{report}");
    assert_eq!(
        (line(admin), &admin["needs_in"]),
        ("--admin-url https://HOST:8080/commands", &"the command line".into())
    );
    assert_eq!(only(&report, "watches")["seen"], false, "{report}");
}

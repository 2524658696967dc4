//! The error messages of failed logins, and the recovery by a new ticket.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::fixture::{Realm, closed_lock, named};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::program::run;

/// The time limit of a refusal. A connection attempt is given up only after 15 seconds.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Returns the only sentence printed by a command that is refused at once.
async fn refusal(command: Command) -> String {
    let began = Instant::now();
    let sentence = run(command).await.refused_at_connecting();
    assert!(began.elapsed() < AT_ONCE, "{:?}: {sentence}", began.elapsed());
    sentence
}

fn contains(sentence: &str, parts: &[&str]) {
    for part in parts {
        assert!(sentence.contains(part), "{part:?} is not in: {sentence}");
    }
}

/// Returns the command for a snapshot with the tickets of a credential cache.
fn snapshot(realm: &Realm, cache: &str, server: &Server, more: &[&str]) -> Command {
    let connect = named(server);
    realm.lockscope(cache, &[&["snapshot", "--connect", &connect, "--kerberos"], more].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_ticket_every_command_ends_at_once_and_the_console_waits_for_one() {
    let realm = Realm::start();
    let server = realm.server();
    let client = zk::connect(&server.connect_string()).await;
    closed_lock(&client).await;
    let connect = named(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db").display().to_string();
    let commands: [&[&str]; 5] = [
        &["snapshot"],
        &["watch"],
        &["record", "--store", &store],
        &["contend", "--path", "/a", "--clients", "2", "--rounds", "1"],
        &["delete", "/closed/job", "--dry-run"],
    ];
    for command in commands {
        let arguments = [command, &["--connect", &connect, "--kerberos"]].concat();
        let sentence = refusal(realm.lockscope("none", &arguments)).await;
        contains(&sentence, &["there is no ticket", "kinit", "KRB5_CLIENT_KTNAME"]);
    }
    let mut console = realm.console("later", &["--connect", &connect, "--kerberos"]);
    console.shows("there is no ticket");
    realm.kinit("later");
    console.shows("/closed/job");
    console.press("q");
    assert!(console.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_tickets_wrong_principals_clocks_and_a_kdc_that_is_away_are_told_apart() {
    let realm = Realm::start();
    let server = realm.server();
    realm.kinit("ticket");
    realm.kdc.kinit("old", "operator", &realm.keytab, 1);
    // A ticket is valid until the end of its last second.
    eventually("a ticket that has expired", async || {
        let ended = run(snapshot(&realm, "old", &server, &[])).await;
        if ended.code == Some(0) { Err(ended) } else { Ok(()) }
    })
    .await;
    contains(&refusal(snapshot(&realm, "old", &server, &[])).await, &["the ticket has expired", "kinit"]);

    let stranger = snapshot(&realm, "ticket", &server, &["--kerberos-server", "solr/_HOST"]);
    contains(&refusal(stranger).await, &["the KDC knows no server solr/localhost", "--kerberos-server"]);

    let mut away = snapshot(&realm, "ticket", &server, &["--timeout", "5s"]);
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    realm.kdc.configure("away.conf", port);
    away.env("KRB5_CONFIG", realm.kdc.file("away.conf"));
    contains(&refusal(away).await, &["no KDC answers", "krb5.conf"]);

    let mut late = Command::new("faketime");
    late.args(["-f", "+20m"]).arg(crate::program::PROGRAM).args(["snapshot", "--kerberos", "--connect"]);
    late.arg(named(&server)).env_clear().envs(realm.kdc.client("ticket"));
    late.env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent").env("LANG", "C.UTF-8");
    contains(&refusal(late).await, &["the clocks of this machine and of the KDC differ too much"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_know_another_key_or_no_kerberos_are_told_apart() {
    let realm = Realm::start();
    let (plain, digest) = (Server::start(), Settings::default().sasl_user("alice", "secret").start());
    let with_another_key = realm.server();
    realm.kdc.change_key("zookeeper/localhost");
    realm.kinit("ticket");
    contains(
        &refusal(snapshot(&realm, "ticket", &with_another_key, &[])).await,
        &["it does not accept our ticket for zookeeper/localhost", "its log"],
    );
    contains(&refusal(snapshot(&realm, "ticket", &plain, &[])).await, &["it does not take logins by Kerberos"]);
    contains(&refusal(snapshot(&realm, "ticket", &digest, &[])).await, &["it does not take logins by Kerberos"]);

    // A session has one login, so the program must not choose between the two.
    let mut both = snapshot(&realm, "ticket", &plain, &[]);
    both.env("LOCKSCOPE_AUTH", "sasl:alice:secret");
    contains(&refusal(both).await, &["a session has one login"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_gives_no_login_where_one_is_required_is_told_how() {
    let realm = Realm::start();
    let properties = realm.kdc.server("localhost");
    let settings = Settings::default().property("zookeeper.sessionRequireClientSASLAuth=true");
    let server = properties.iter().fold(settings, |settings, one| settings.property(one)).start();
    let connect = named(&server);
    let sentence = refusal(realm.lockscope("none", &["snapshot", "--connect", &connect])).await;
    contains(&sentence, &["requires a login, and none was given", "--kerberos"]);
    realm.kinit("ticket");
    run(snapshot(&realm, "ticket", &server, &[])).await.json();
}

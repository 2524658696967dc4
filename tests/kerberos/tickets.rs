//! With a ticket or a keytab, the program does what only its owner may do, in the console and in
//! commands.

use std::path::Path;

use serde_json::Value;

use crate::fixture::{Realm, closed_lock, contender, named};
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::program::{Running, run};

fn paths(shot: &Value) -> Vec<&str> {
    shot["locks"].as_array().expect("locks").iter().filter_map(|lock| lock["path"].as_str()).collect()
}

fn word(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshot_record_contend_delete_and_the_console_log_in_with_a_ticket() {
    let (realm, folder) = (Realm::start(), tempfile::tempdir().expect("a folder"));
    let server = realm.server();
    let client = zk::connect(&server.connect_string()).await;
    let node = closed_lock(&client).await;
    let connect = named(&server);
    realm.kinit("ticket");
    let with =
        |arguments: &[&str]| realm.lockscope("ticket", &[arguments, &["--connect", &connect, "--kerberos"]].concat());

    assert_eq!(paths(&run(with(&["snapshot"])).await.json()), ["/closed/job"]);

    let (store, log) = (folder.path().join("locks.db"), folder.path().join("log"));
    let mut recorder = with(&["record", "--store", word(&store), "--log-file", word(&log)]);
    recorder.env("LOCKSCOPE_LOG", "trace");
    let mut recorder = Running::start(recorder);
    recorder.line().await.expect("it records");
    eventually("the closed lock in the recording", async || {
        let shot = run(realm.lockscope("ticket", &["snapshot", "--store", word(&store)])).await;
        if shot.out.contains("/closed/job") { Ok(()) } else { Err(shot) }
    })
    .await;
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0));

    // Each test client logs in on its own. Only a logged-in client may read the nodes it created.
    let contended = run(with(&["contend", "--path", "/closed/contended", "--clients", "3", "--rounds", "2"])).await;
    let outcome: Value = serde_json::from_str(&contended.out).unwrap_or_else(|error| panic!("{error}: {contended:?}"));
    assert_eq!((&outcome["acquisitions"], &outcome["violations"]), (&6.into(), &0.into()), "{outcome}");

    let mut console = realm.console("ticket", &["--connect", &connect, "--kerberos"]);
    console.shows_all(&["/closed/job", "● live 1/1"]);
    contender(&client).await;
    console.shows("2 contenders");
    console.press("q");
    assert!(console.ends().success());

    let audit = folder.path().join("audit.jsonl");
    let ended = run(with(&["delete", &node, "--yes", "--even-if-live", "--audit-log", word(&audit)])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let audited = std::fs::read_to_string(audit).expect("an audit log");
    assert!(audited.contains("operator@LOCKSCOPE.TEST"), "it says as whom: {audited}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keytab_is_enough_and_a_principal_chooses_among_several() {
    let realm = Realm::start();
    let server = realm.server();
    let client = zk::connect(&server.connect_string()).await;
    closed_lock(&client).await;
    let connect = named(&server);
    let mut by_keytab = realm.lockscope("fresh", &["snapshot", "--connect", &connect, "--kerberos"]);
    by_keytab.env("KRB5_CLIENT_KTNAME", &realm.keytab);
    assert_eq!(paths(&run(by_keytab).await.json()), ["/closed/job"]);

    let guest = realm.kdc.add("guest");
    realm.kdc.kinit("guest", "guest", &guest, 3600);
    let as_guest = realm.lockscope("guest", &["snapshot", "--connect", &connect, "--kerberos"]);
    let refused = run(as_guest).await.json();
    assert_eq!((paths(&refused), &refused["unreadable"][0]["path"]), (vec![], &"/closed".into()), "{refused}");
    let arguments = ["snapshot", "--connect", &connect, "--kerberos-principal", "operator@LOCKSCOPE.TEST"];
    let mut as_operator = realm.lockscope("guest", &arguments);
    as_operator
        .env("KRB5CCNAME", format!("DIR:{}", realm.kdc.file("").display()))
        .env("KRB5_CLIENT_KTNAME", &realm.keytab);
    assert_eq!(paths(&run(as_operator).await.json()), ["/closed/job"]);
}

//! Attempts in vain at locks that are single nodes.

use std::path::Path;

use zookeeper_client::{Client, CreateMode, Error};

use super::fixture::{Import, files_of};
use super::lives::hex;
use crate::harness::server::Server;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};

async fn takes(client: &Client, path: &str, data: &[u8]) -> Result<(), Error> {
    client.create(path, data, &CreateMode::Ephemeral.with_acls(zookeeper_client::Acls::anyone_all())).await.map(drop)
}

/// Tries so often to take a lock that is taken.
async fn tries(client: &Client, path: &str, times: usize) {
    for _ in 0..times {
        assert!(matches!(takes(client, path, b"").await, Err(Error::NodeExists)), "{path}");
    }
}

/// Returns what the history says: lock, session, client's name, and how often.
fn told(import: &Import) -> Vec<(Option<String>, String, Option<String>, u64)> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let rows = import.history["attempts"].as_array().expect("a list").iter();
    rows.map(|row| {
        let session = text(&row["session"]).expect("a session");
        (text(&row["lock"]), session, text(&row["client_name"]), row["count"].as_u64().expect("a number"))
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_at_a_taken_lock_are_counted_and_named() {
    let server = tokio::task::spawn_blocking(Server::start).await.expect("it starts");
    let at = server.connect_string();
    let (holder, second, third) = (zk::connect(&at).await, zk::connect(&at).await, zk::connect(&at).await);
    zk::make(&holder, ["/app".to_owned()]).await;
    takes(&holder, "/app/leader", b"host-1").await.expect("it is free");
    tries(&second, "/app/leader", 7).await;
    tries(&third, "/app/leader", 120).await;
    holder.delete("/app/leader", None).await.expect("its own");
    takes(&second, "/app/leader", b"host-2").await.expect("it is free");
    tries(&holder, "/app/leader", 3).await;
    // Two locks are taken now: a session that had none of them can mean either.
    takes(&holder, "/app/other-lock", b"host-1").await.expect("it is free");
    tries(&third, "/app/leader", 2).await;
    zk::make(&holder, ["/the-end".to_owned()]).await;

    let id = |client: &Client| hex(zk::session_of(client));
    let leader = Some("/app/leader".to_owned());
    let name = |name: &str| Some(name.to_owned());
    let files = files_of(&server);
    let import = Import::of(&[&files]).await;
    let expected = [
        (leader.clone(), id(&third), None, 120),
        (leader.clone(), id(&second), name("host-2"), 7),
        (leader, id(&holder), name("host-1"), 3),
        (None, id(&third), None, 2),
    ];
    assert_eq!(told(&import), expected);
    assert_eq!(import.said["written"]["attempts"], 132);
    assert_eq!(import.history["storms"][0]["lock"], "/app/leader", "{}", import.history["storms"]);

    // Where only a part of the nodes is read, another lock may be meant.
    let part = Import::with(&[&files], &["--root", "/app"]).await;
    let known: Vec<_> = told(&part).into_iter().filter(|(lock, ..)| lock.is_some()).collect();
    assert_eq!(known, [expected[2].clone()]);
    report_tells(&files).await;
    a_cut_keeps(&files, &expected).await;
}

async fn a_cut_keeps(files: &Path, expected: &[(Option<String>, String, Option<String>, u64)]) {
    let (done, folder) = Import::attempt(&[files], &[]).await;
    done.done();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (store, excerpt) = (path("history.db"), path("excerpt.db"));
    run(lockscope(&["cut", "--store", &store, "--output", &excerpt])).await.done();
    // The same once more changes nothing.
    run(lockscope(&["import", files.to_str().expect("text"), "--store", &store])).await.done();
    for file in [excerpt, store] {
        let history = run(lockscope(&["history", "--store", &file, "--format", "json"])).await.json();
        let counts: Vec<_> = history["attempts"].as_array().expect("a list").iter().map(|row| &row["count"]).collect();
        assert_eq!(counts, expected.iter().map(|(.., count)| count).collect::<Vec<_>>());
    }
}

async fn report_tells(files: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let (files, output) = (files.to_str().expect("text"), page.to_str().expect("text"));
    run(lockscope(&["report", "--from-logs", files, "--output", output])).await.done();
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("tried-in-vain") && page.contains("120 times"), "{page}");
}

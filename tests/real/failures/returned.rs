//! A member brings back what the ensemble had deleted, because it lost its last writes and
//! continues from an older state.

use std::fs;
use std::path::Path;

use lockscope_model::diagnose::{Code, Severity};
use serde_json::Value;
use zookeeper_client::CreateMode;

use super::fixture::{ConsoleFixture, hasty};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope};

const LOCK: &str = "/locks/billing";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// Returns the program's lines about [`LOCK`] and the connection as `EVENT NODE`, up to a line with
/// this event. Leaves out the finding that one session both holds and waits, which appears only on
/// slow machines.
async fn until(running: &mut Running, event: &str) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let line = running.line().await.expect("it goes on");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        println!("watch: {line}");
        if (line["lock"] == LOCK || line["lock"].is_null()) && line["code"] != "self-blocked" {
            let word = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
            lines.push(format!("{} {}", word("event"), word("node")).trim().to_owned());
            if word("event") == event {
                return lines;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_returns_after_its_deletion_is_the_servers_fault_and_no_new_contender() {
    let mut server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, [LOCK.to_owned()]).await;
    let name = |number: u32| format!("{LOCK}/_c_{number:08x}-0000-4000-8000-000000000000-lock-");
    let wishes = [1, 2].map(|number| (name(number), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut fixture = ConsoleFixture::start(&at, hasty()).await;
    fixture.until_contenders(2).await;
    let arguments = ["watch", "--connect", &at, "--format", "json", "--session-timeout", "30s", "--server-view", "off"];
    let mut running = Running::start(lockscope(&arguments));
    until(&mut running, "lock-found").await;

    let (data, kept) = (server.folder().join("data"), server.folder().join("kept"));
    server.stop();
    copy(&data, &kept);
    server.restart();
    fixture
        .until("the first reconnect", |fixture| fixture.table.is_live() && fixture.table.contender_count() == 2)
        .await;
    until(&mut running, "resynced").await;
    eventually("the deletion", async || client.delete(&nodes[0], None).await).await;
    fixture.until_contenders(1).await;
    let reported = until(&mut running, "acquired").await;
    assert_eq!(reported.len(), 2, "{reported:?}");

    let before = fixture.raised.len();
    server.stop();
    fs::remove_dir_all(&data).expect("it was there");
    copy(&kept, &data);
    server.restart();
    // Clients that have seen more than the server has are refused until it has caught up.
    let other = zk::connect(&at).await;
    for number in 0..100 {
        zk::make(&other, [format!("/later/{number}")]).await;
    }
    fixture.until("the deleted node", |fixture| fixture.table.is_live() && fixture.table.contender_count() == 2).await;
    let reported = until(&mut running, "resynced").await;
    assert!(!reported.iter().any(|line| line.contains("-lock-")), "{reported:?}");
    let (finding, _) = fixture.finds(Code::MemberDisagrees, Severity::Critical).await;
    assert_eq!(finding.node.as_deref(), nodes[0].rsplit('/').next());
    let address = format!("the member {at},");
    fixture
        .until("the member's address", |fixture| {
            fixture.diagnosis.findings().any(|found| found.summary.contains(&address))
        })
        .await;
    // Findings about clients that have not reconnected are allowed, but none about the returned
    // node.
    let accused = fixture.raised[before..].iter().filter(|raised| raised.node == finding.node);
    let codes: Vec<Code> = accused.map(|raised| raised.code).collect();
    assert!(codes.iter().all(|code| *code == Code::MemberDisagrees), "{:?}", fixture.raised);

    zk::delete_all(&other, [nodes[0].clone()]).await;
    fixture.clears(Code::MemberDisagrees).await;
    zk::delete_all(&other, [nodes[1].clone()]).await;
    let reported = until(&mut running, "released").await;
    let second = nodes[1].rsplit('/').next().expect("a name");
    assert_eq!(reported, [format!("released {second}")], "nothing is said of the first again");
}

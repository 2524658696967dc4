//! `lockscope members`: what the members of an ensemble have and have not.

use std::time::{Duration, Instant};

use serde_json::Value;
use zookeeper_client::CreateMode;

use super::program::{Ended, lockscope, run};
use crate::harness::ensemble::Ensemble;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The ticks for which a member continues without its leader: 30 s.
const SYNC_LIMIT: u32 = 150;

/// The time within which a difference must be named.
const MAX_TIME: Duration = Duration::from_secs(10);

async fn members(at: &str) -> (Ended, Value) {
    let began = Instant::now();
    let ended = run(lockscope(&["members", "--connect", at, "--format", "json"])).await;
    let took = began.elapsed();
    let told = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
    println!("members took {took:?}");
    assert!(took < MAX_TIME, "{took:?}: {told}");
    (ended, told)
}

fn of<'a>(told: &'a Value, address: &str) -> &'a Value {
    let members = told["members"].as_array().expect("members");
    members.iter().find(|member| member["address"] == address).unwrap_or_else(|| panic!("no {address} in {told}"))
}

async fn with_locks(ensemble: &Ensemble) -> zookeeper_client::Client {
    let client = zk::connect(&ensemble.connect_string()).await;
    zk::make(&client, ["/locks/job".to_owned()]).await;
    let queue = ["alice", "bob"].map(|name| ("/locks/job/lock-".to_owned(), name.into()));
    zk::create_all(&client, CreateMode::EphemeralSequential, queue).await;
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_agree_pass_and_a_node_that_one_has_alone_is_named() {
    let mut ensemble = Ensemble::start();
    let _client = with_locks(&ensemble).await;
    let at = ensemble.connect_string();
    let (sound, told) = members(&at).await;
    assert_eq!((sound.code, &told["differences"]), (Some(0), &Value::Array(Vec::new())), "{told}");
    for member in told["members"].as_array().expect("members") {
        assert!(member["synced"] == true && member["version"].as_str().is_some_and(|version| version.starts_with('3')));
        assert!(member["health"]["latency_avg_ms"].is_number() && member["zxid"].is_number(), "{member}");
        assert!(member["lag"].as_i64().is_some_and(|lag| lag < 100), "{member}");
    }
    let leader = of(&told, &ensemble.address(ensemble.leader()));
    assert_eq!((&leader["mode"], &leader["health"]["synced_followers"]), (&"leader".into(), &2.into()), "{leader}");

    let follower = ensemble.follower();
    ensemble.stop(follower);
    ensemble.put_node(follower, "/locks/job/lock-0000000077");
    ensemble.start_again(follower);
    let (differ, told) = members(&at).await;
    let found = &told["differences"];
    assert_eq!((differ.code, found.as_array().map(Vec::len)), (Some(1), Some(1)), "{told}");
    let expected = ("/locks/job/lock-0000000077", ensemble.address(follower), true);
    let named = (found[0]["path"].as_str(), found[0]["member"].as_str(), found[0]["has"].as_bool());
    assert_eq!(named, (Some(expected.0), Some(&*expected.1), Some(expected.2)), "{told}");
    assert!(found[0]["czxid"].is_number(), "{told}");
    let line = format!("{} has a node that most others have not: /locks/job/lock-0000000077", expected.1);
    eventually("answers of all members in time", async || {
        let table = run(lockscope(&["members", "--connect", &at, "--format", "table"])).await;
        if table.code == Some(1) && table.out.contains(&line) { Ok(()) } else { Err(table) }
    })
    .await;

    let mut terminal = Terminal::lockscope(&["--connect", &at], 120, 30);
    terminal.shows("● live");
    terminal.press("v");
    terminal.shows_all(&["1 difference in the children of", "has /locks/job/lock-0000000077", "most do not have it"]);
    terminal.press("1");
    terminal.shows_all(&["1 critical", "stale member"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_cut_off_from_the_others_is_named() {
    let ensemble = Ensemble::with_links(SYNC_LIMIT);
    let _client = with_locks(&ensemble).await;
    let cut_off = ensemble.follower();
    ensemble.cut_off(cut_off);
    let others: Vec<String> =
        (0..3).filter(|member| *member != cut_off).map(|member| ensemble.address(member)).collect();
    let at = format!("{},{}", others.join(","), ensemble.address(cut_off));
    let (ended, told) = members(&at).await;
    assert_eq!(ended.code, Some(1), "{told}");
    let lost = of(&told, &ensemble.address(cut_off));
    assert_eq!(lost["synced"], false, "{told}");
    assert!(lost["error"].as_str().is_some_and(|error| error.contains("its nodes were not read")), "{told}");
    for address in others {
        assert_eq!(of(&told, &address)["synced"], true, "{told}");
    }
}

//! An ensemble of which servers do not serve: what `check` and `members` say.

use serde_json::Value;
use zookeeper_client::{Client, CreateMode};

use super::program::{Ended, lockscope, run};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::zk;

/// Holds a lock for as long as the client lives.
async fn holder(ensemble: &Ensemble) -> Client {
    let client = zk::connect(&ensemble.connect_string()).await;
    zk::make(&client, ["/locks/job".to_owned()]).await;
    let node = ("/locks/job/_c_00000000-0000-4000-8000-000000000001-lock-".to_owned(), b"holder".to_vec());
    zk::create_all(&client, CreateMode::EphemeralSequential, [node]).await;
    client
}

async fn check(ensemble: &Ensemble, more: &[&str]) -> Ended {
    let at = ensemble.connect_string();
    run(lockscope(&[&["check", "--connect", &at, "--timeout", "4s"], more].concat())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_warns_of_a_server_that_does_not_answer_and_not_of_one_that_refuses_words() {
    let mut ensemble = Ensemble::start();
    let _client = holder(&ensemble).await;
    let well = check(&ensemble, &["--nagios"]).await;
    assert!(well.code == Some(0) && well.out.starts_with("LOCKSCOPE OK - "), "{well:?}");
    let follower = ensemble.follower();
    ensemble.stop(follower);
    let silent = format!("1 of 3 servers does not answer: {}", ensemble.address(follower));
    let warned = check(&ensemble, &["--nagios"]).await;
    assert_eq!(warned.code, Some(1), "{warned:?}");
    assert!(warned.out.starts_with(&format!("LOCKSCOPE WARNING - {silent}; no finding at 1 lock")), "{warned:?}");
    assert!(!warned.out.contains("no answer from"), "it is told once: {warned:?}");
    let told = check(&ensemble, &["--format", "json"]).await;
    let json: Value = serde_json::from_str(&told.out).expect("JSON");
    let verdict = ["verdict", "trouble_because", "passed"].map(|field| json[field].clone());
    assert_eq!((told.code, verdict), (Some(1), ["trouble".into(), silent.clone().into(), false.into()]), "{json}");
    let table = check(&ensemble, &["--format", "table"]).await;
    assert!(table.code == Some(1) && table.out.starts_with(&format!("warning   {silent}\n")), "{table:?}");
    let only_critical = check(&ensemble, &["--nagios", "--fail-on", "critical"]).await;
    assert!(
        only_critical.code == Some(0) && only_critical.out.contains("no answer from 1 server"),
        "{only_critical:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_majority_check_is_critical_and_members_prints_what_the_servers_say() {
    let mut ensemble = Ensemble::start();
    let _client = holder(&ensemble).await;
    let alone = ensemble.follower();
    (0..MEMBERS).filter(|member| *member != alone).for_each(|member| ensemble.stop(member));
    let critical = check(&ensemble, &["--nagios"]).await;
    assert_eq!(critical.code, Some(2), "{critical:?}");
    let leaderless = format!("{} has no leader", ensemble.address(alone));
    assert!(critical.out.starts_with("LOCKSCOPE CRITICAL - no server serves clients: "), "{critical:?}");
    assert!(critical.out.contains(&leaderless), "{critical:?}");

    let at = ensemble.connect_string();
    let table = run(lockscope(&["members", "--connect", &at, "--format", "table"])).await;
    assert_eq!(table.code, Some(1), "{table:?}");
    assert!((0..MEMBERS).all(|member| table.out.contains(&ensemble.address(member))), "{table:?}");
    assert!(table.out.contains("serves no clients now") && table.out.contains("refused the connection"), "{table:?}");
    assert!(table.out.contains("\nthe nodes were not compared: "), "{table:?}");
    let told = run(lockscope(&["members", "--connect", &at, "--format", "json"])).await;
    let json: Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(
        (told.code, &json["agree"], &json["compared"]["parents"]),
        (Some(1), &false.into(), &0.into()),
        "{json}"
    );
    assert!(json["not_compared_because"].is_string(), "{json}");
    assert_eq!(json["members"].as_array().map(Vec::len), Some(MEMBERS), "{json}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_an_address_where_nothing_answers_fails_with_the_reason() {
    let nobody = run(lockscope(&["members", "--connect", "127.0.0.1:1"])).await;
    assert!(nobody.code == Some(2) && nobody.out.is_empty() && nobody.stderr.contains("127.0.0.1:1"), "{nobody:?}");
}

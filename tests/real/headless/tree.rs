//! `lockscope tree`: any node and its children.

use std::time::{Duration, Instant};

use serde_json::Value;
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use super::program::{lockscope, run};
use crate::harness::server::Server;
use crate::harness::zk;

async fn tree(at: &str, path: &str, more: &[&str]) -> Value {
    run(lockscope(&[&["tree", path, "--connect", at, "--format", "json"], more].concat())).await.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_printed_with_its_data_and_the_owners_and_ages_of_its_children() {
    let server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/app/kept/below".to_owned()]).await;
    client.set_data("/app", b"\xac\xed\0\x05", None).await.expect("data");
    zk::create_all(&client, CreateMode::Ephemeral, [("/app/\u{202e}gpj".to_owned(), "mine".into())]).await;

    let told = tree(&at, "/app", &[]).await;
    assert_eq!((&told["data"], &told["data_encoding"]), (&"rO0ABQ==".into(), &"base64".into()), "{told}");
    assert_eq!((&told["stat"]["children"], &told["left_out"]), (&2.into(), &0.into()), "{told}");
    let [kept, mine] = told["children"].as_array().expect("children").as_slice() else { panic!("{told}") };
    assert_eq!((&kept["name"], &kept["children"], &kept["owner"]), (&"kept".into(), &1.into(), &Value::Null), "{told}");
    let session = zk::session_of(&client).to_string();
    assert_eq!((&mine["owner"], &mine["data_length"]), (&session.into(), &4.into()), "{told}");
    assert!(mine["age_ms"].as_u64().is_some_and(|age| age < 60_000), "{told}");

    let table = run(lockscope(&["tree", "/app", "--connect", &at, "--format", "table"])).await.done();
    assert!(table.contains("kept") && table.contains("base64: rO0ABQ=="), "{table}");
    assert!(!table.contains('\u{202e}'), "{table:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_not_there_or_may_not_be_read_is_one_sentence() {
    let server = Server::start();
    let at = server.connect_string();
    let connector = Client::connector().with_auth("digest", b"alice:w0nderland");
    let client = connector.connect(&at).await.expect("a session");
    zk::make(&client, ["/closed/a".to_owned()]).await;
    client.set_acl("/closed", &[Acl::new(Permission::ALL, AuthId::new("auth", ""))], None).await.expect("closed");

    let missing = run(lockscope(&["tree", "/closed/no", "--connect", &at])).await.refused();
    assert!(missing.contains("there is no node /closed/no") && missing.contains("/closed"), "{missing}");
    let closed = run(lockscope(&["tree", "/closed", "--connect", &at])).await.refused();
    assert!(closed.contains("READ") && closed.contains("--auth-file"), "{closed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_children_the_first_are_read_and_the_others_counted() {
    let server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/many".to_owned()]).await;
    let wishes = (0..3_000).map(|number| (format!("/many/{number:05}"), Vec::new()));
    zk::create_all(&client, CreateMode::Persistent, wishes).await;

    let began = Instant::now();
    let told = tree(&at, "/many", &["--limit", "300"]).await;
    let took = began.elapsed();
    println!("300 of 3,000 children took {took:?}");
    let children = told["children"].as_array().expect("children");
    let names: Vec<&str> = children.iter().filter_map(|child| child["name"].as_str()).collect();
    assert_eq!((names.len(), names.first(), names.last()), (300, Some(&"00000"), Some(&"00299")));
    assert_eq!(told["left_out"], 2_700);
    assert!(took >= Duration::from_millis(400), "five slices are paced: {took:?}");
}

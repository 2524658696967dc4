//! Checks who is inside of a lock, with nodes that are not the lock's own: `PATH-inside` has the
//! present holders, `PATH-record` all holders in order. The foreign clients do the same
//! (`tests/foreign/Inside.java`).

use zookeeper_client::{Client, CreateMode};

use super::ours::Held;
use crate::harness::zk;

/// One hold, as its holder recorded it while it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub node: String,
    pub token: i64,
}

impl Record {
    /// Returns the number at the end of the node's name.
    pub fn sequence(&self) -> i64 {
        self.node[self.node.len() - 10..].parse().expect("it ends with its number")
    }

    pub fn is_read(&self) -> bool {
        self.node.contains("__READ__") || self.node.contains("__rlock__")
    }
}

/// Creates a lock's path and the nodes with which its holders check each other.
pub async fn prepare(client: &Client, path: &str) {
    zk::make(client, ["", "-inside", "-record"].map(|end| format!("{path}{end}"))).await;
}

/// Asserts that no excluded holder is inside, and records this holder.
pub async fn pass_through(client: &Client, path: &str, held: &Held, reads: bool) {
    let kind = if reads { "r-" } else { "w-" };
    let name = format!("{kind}{}", held.token());
    let own = format!("{path}-inside/{name}");
    client.create(&own, &[], &zk::open(CreateMode::Ephemeral)).await.expect("nobody is called the same");
    let inside = client.list_children(&format!("{path}-inside")).await.expect("it is there");
    let intruder = inside.iter().find(|other| **other != name && (!reads || other.starts_with("w-")));
    assert_eq!(intruder, None, "{} is not alone: {inside:?}", held.name());
    let stat = client.check_stat(&held.path()).await.expect("it answers").expect("a holder has a node");
    assert_eq!(stat.czxid, held.token());
    let record = format!("{} {}", held.name(), held.token());
    let options = zk::open(CreateMode::PersistentSequential);
    client.create(&format!("{path}-record/"), record.as_bytes(), &options).await.expect("the parent is there");
    client.delete(&own, None).await.expect("it is one's own");
}

/// Returns all holds in order.
pub async fn records(client: &Client, path: &str) -> Vec<Record> {
    let nodes = zk::tree(client, &format!("{path}-record")).await.into_iter();
    nodes
        .map(|node| {
            let text = String::from_utf8(node.data).expect("text");
            let (node, token) = text.split_once(' ').expect("a node and a token");
            Record { node: node.to_owned(), token: token.parse().expect("a number") }
        })
        .collect()
}

//! The truth: the nodes as one server lists them, read by the rules of the recipes, without any
//! code of lockscope.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::Client;

use crate::harness::zk::{Node, tree};
use crate::knowledge::{Contender, Knowledge};
use crate::locks::{LEASES, LOCKS, Rule, SoakLock};

/// The time limit of one listing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Digits of the sequence number that a server appends to a name.
const NUMBER: usize = 10;

/// Lists all nodes of a server, after the server has applied every transaction that was answered.
pub async fn read(server: &str) -> Result<Knowledge, String> {
    let asked = async {
        let client = Client::connect(server).await?;
        client.sync("/soak").await?;
        Ok::<_, zookeeper_client::Error>(tree(&client, "/soak").await)
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(nodes)) => Ok(knowledge(&nodes)),
        Ok(Err(error)) => Err(format!("{server}: {error}")),
        Err(_) => Err(format!("{server} does not list its nodes in {PATIENCE:?}")),
    }
}

fn knowledge(nodes: &[Node]) -> Knowledge {
    let locks: BTreeMap<_, _> = LOCKS.iter().map(|lock| (lock.key(), contenders(lock, nodes))).collect();
    Knowledge(locks.into_iter().filter(|(_, contenders)| !contenders.is_empty()).collect())
}

fn contenders(lock: &SoakLock, nodes: &[Node]) -> Vec<Contender> {
    let path = lock.path;
    match lock.rule {
        Rule::Single => nodes.iter().filter(|node| node.path == path && owner(node) != 0).map(holder).collect(),
        Rule::CuratorLeases => {
            leases(&children(nodes, &format!("{path}/leases")), &children(nodes, &format!("{path}/locks")))
        }
        Rule::KazooLeases => leases(&children(nodes, path), &children(nodes, &format!("{path}-__lock__"))),
        Rule::Exclusive | Rule::Shared => {
            let prefix = lock.name.map(|name| format!("{path}/{name}_lock_"));
            let mut queue = children(nodes, path);
            queue.retain(|node| prefix.as_ref().is_none_or(|prefix| node.path.starts_with(prefix)));
            queue.sort_by_key(|node| number(node));
            let readers = queue.iter().take_while(|node| reads(node)).count();
            let holders = if lock.rule == Rule::Shared { readers.max(1) } else { 1 };
            queue.iter().zip(0..).map(|(node, place)| contender(node, place < holders)).collect()
        }
    }
}

/// Returns the holders of leases, then the queue. Curator's client at the head of the queue creates
/// its lease first and then waits: that lease is not held yet, and replaces the client's queue
/// node.
fn leases(leases: &[&Node], queue: &[&Node]) -> Vec<Contender> {
    let mut queue = queue.to_vec();
    queue.sort_by_key(|node| number(node));
    let head = queue.first().copied();
    let is_pending = |lease: &&Node| head.is_some_and(|head| owner(head) == owner(lease));
    let (mut pending, mut owned): (Vec<&Node>, Vec<&Node>) = leases.iter().partition(|lease| is_pending(lease));
    owned.sort_by_key(|lease| lease.stat.czxid);
    let mut contenders: Vec<_> =
        owned.into_iter().zip(0..).map(|(lease, place)| contender(lease, place < LEASES)).collect();
    if let (Some(lease), Some(head)) = (pending.pop(), head) {
        contenders.push(Contender { queued_as: Some(contender(head, false).node), ..contender(lease, false) });
        queue.remove(0);
    }
    contenders.extend(queue.iter().map(|node| contender(node, false)));
    contenders
}

/// Returns the ephemeral children of a path.
fn children<'a>(nodes: &'a [Node], path: &str) -> Vec<&'a Node> {
    let below = |node: &Node| node.path.rsplit_once('/').is_some_and(|(parent, _)| parent == path);
    nodes.iter().filter(|node| owner(node) != 0 && below(node)).collect()
}

fn owner(node: &Node) -> i64 {
    node.stat.ephemeral_owner
}

fn number(node: &Node) -> u64 {
    let from = node.path.len().saturating_sub(NUMBER);
    node.path.get(from..).and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

fn reads(node: &Node) -> bool {
    ["-__READ__", "__rlock__"].iter().any(|mark| node.path.contains(mark))
}

fn holder(node: &Node) -> Contender {
    contender(node, true)
}

fn contender(node: &Node, holds: bool) -> Contender {
    let name = node.path.rsplit_once('/').expect("it is absolute").1;
    Contender { node: name.to_owned(), queued_as: None, session: format!("{:#x}", owner(node)), holds }
}

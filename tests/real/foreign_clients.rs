//! Tests of the harness: foreign clients acquire, queue, release, give up and die.

use std::time::Duration;

use zookeeper_client::Client;

use crate::harness::foreign::Foreign;
use crate::harness::wait::eventually;
use crate::harness::{server::Server, zk};

/// Waits until `count` ephemeral nodes exist below a path. The last name of the path may be a
/// prefix, since kazoo's semaphore has a sibling.
pub async fn queued(client: &Client, path: &str, count: usize) {
    eventually("the contenders' nodes", async || {
        let nodes = zk::tree(client, "/").await;
        let of_lock = nodes.iter().filter(|node| node.path.starts_with(path) && node.stat.ephemeral_owner != 0);
        let seen: Vec<&str> = of_lock.map(|node| node.path.as_str()).collect();
        if seen.len() == count { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;
}

/// Recipes whose library does not expose the holder's node.
const HIDES_NODE: [&str; 3] = ["semaphore-mutex", "multi", "selector"];

/// Checks a hand-over between two sessions of a library: one holds, the other waits and takes over.
async fn hand_over(foreign: &mut Foreign, client: &Client, recipe: &str, nodes: usize) {
    let path = format!("/{recipe}/lock");
    zk::make(client, [format!("/{recipe}")]).await;
    let (first, second) = (format!("{recipe}-first"), format!("{recipe}-second"));
    foreign.start("a", &first, recipe, &path).await;
    foreign.held(&first).await;
    foreign.start("b", &second, recipe, &path).await;
    queued(client, &path, nodes).await;
    assert!(foreign.holds(&first).await, "{recipe}");
    assert!(!foreign.holds(&second).await, "{recipe}");
    let order = foreign.order(&first).await;

    foreign.release(&first).await;
    let node = foreign.held(&second).await;
    assert!(foreign.holds(&second).await, "{recipe}");
    let left = foreign.order(&second).await;
    assert_eq!(left.len(), 1, "{recipe}: {left:?}");
    assert!(order.contains(&left[0]) || recipe == "semaphore", "{recipe}: {order:?} became {left:?}");
    if node == "-" {
        assert!(HIDES_NODE.contains(&recipe), "{recipe} shows its node");
    } else {
        let tree = zk::tree(client, "/").await;
        let is_node = |found: &str| found.starts_with(&path) && found.ends_with(&format!("/{node}"));
        assert!(tree.iter().any(|found| is_node(&found.path)), "{recipe}: {node} is not below {path}");
        // kazoo lists the contenders' identifiers, the other libraries the nodes.
        assert!(left[0] == second || left[0] == node, "{recipe}: {node} of {left:?}");
    }
    foreign.release(&second).await;
    queued(client, &path, 0).await;
}

/// With how many nodes there are while one holds and one waits.
pub const JAVA_RECIPES: [(&str, usize); 8] = [
    ("mutex", 2),
    ("write", 2),
    // A lease and, until it got one, a place in the queue: the waiter has both.
    ("semaphore", 3),
    ("semaphore-mutex", 3),
    ("multi", 2),
    ("latch", 2),
    ("selector", 2),
    ("write-lock", 2),
];
pub const KAZOO_RECIPES: [(&str, usize); 4] = [("lock", 2), ("write", 2), ("semaphore", 2), ("election", 2)];

/// Checks a hand-over between two sessions for each recipe.
pub async fn hand_overs(mut foreign: Foreign, connect: &str, recipes: &[(&str, usize)]) {
    let client = zk::connect(connect).await;
    assert_ne!(foreign.connect("a").await, foreign.connect("b").await);
    for (recipe, nodes) in recipes {
        hand_over(&mut foreign, &client, recipe, *nodes).await;
    }
    foreign.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curator_and_write_lock_hand_over() {
    let at = zk::own_root("java").await;
    hand_overs(Foreign::java(&at), &at, &JAVA_RECIPES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kazoo_hands_over() {
    let at = zk::own_root("kazoo").await;
    hand_overs(Foreign::kazoo(&at), &at, &KAZOO_RECIPES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_hold_together_in_both_libraries() {
    let at = zk::own_root("readers").await;
    for (mut foreign, path) in [(Foreign::java(&at), "/java"), (Foreign::kazoo(&at), "/kazoo")] {
        foreign.connect("a").await;
        foreign.connect("b").await;
        for (client, id) in [("a", "first"), ("b", "second")] {
            foreign.start(client, id, "read", path).await;
            foreign.held(id).await;
        }
        assert!(foreign.holds("first").await && foreign.holds("second").await);
        assert_eq!(foreign.order("first").await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_in_curator_holds_a_read_behind_its_own_write() {
    let at = zk::own_root("downgrade").await;
    let mut foreign = Foreign::java(&at);
    foreign.connect("a").await;
    foreign.start("a", "both", "downgrade", "/lock").await;
    foreign.held("both").await;
    let order = foreign.order("both").await;
    assert!(order.len() == 2 && order[0].contains("__WRIT__") && order[1].contains("__READ__"), "{order:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_gives_up_leaves_the_queue() {
    let at = zk::own_root("abandon").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/write-lock".to_owned()]).await;
    let libraries =
        [(Foreign::java(&at), ["mutex", "latch", "write-lock"].as_slice()), (Foreign::kazoo(&at), &["lock"])];
    for (mut foreign, recipes) in libraries {
        foreign.connect("a").await;
        foreign.connect("b").await;
        for recipe in recipes {
            let path = format!("/{recipe}/lock");
            let (holder, waiter) = (format!("{recipe}-holder"), format!("{recipe}-waiter"));
            foreign.start("a", &holder, recipe, &path).await;
            foreign.held(&holder).await;
            foreign.start("b", &waiter, recipe, &path).await;
            queued(&client, &path, 2).await;
            foreign.abandon(&waiter).await;
            queued(&client, &path, 1).await;
            foreign.release(&holder).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_client_holds_until_its_session_expires() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let mut foreign = Foreign::kazoo(&server.connect_string());
    let session = foreign.connect_within("a", Duration::from_secs(2)).await;
    foreign.start("a", "holder", "lock", "/lock").await;
    let node = foreign.held("holder").await;
    let stat = client.check_stat(&format!("/lock/{node}")).await.expect("it answers").expect("it holds");
    assert_eq!(stat.ephemeral_owner, session.0);
    drop(foreign);
    queued(&client, "/lock", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_a_session_removes_its_nodes() {
    let at = zk::own_root("closed").await;
    let client = zk::connect(&at).await;
    for (mut foreign, recipe) in [(Foreign::java(&at), "mutex"), (Foreign::kazoo(&at), "lock")] {
        foreign.connect("a").await;
        foreign.start("a", "holder", recipe, "/lock").await;
        foreign.held("holder").await;
        foreign.close("a").await;
        queued(&client, "/lock", 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn churn_counts_its_acquisitions() {
    let at = zk::own_root("churn").await;
    let (mut java, mut kazoo) = (Foreign::java(&at), Foreign::kazoo(&at));
    java.churn("mutexes", "mutex", "/mutex", 4, 10).await;
    java.churn("write-locks", "write-lock", "/write-lock", 4, 10).await;
    kazoo.churn("locks", "lock", "/lock", 4, 10).await;
    assert_eq!(java.churned("mutexes").await, 40);
    assert_eq!(java.churned("write-locks").await, 40);
    assert_eq!(kazoo.churned("locks").await, 40);
}

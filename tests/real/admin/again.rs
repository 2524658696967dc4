//! Each node of a confirmed plan is checked again right before its deletion.

use std::time::Duration;

use lockscope_base::time::now;
use lockscope_base::znode::ZnodePath;
use lockscope_live::admin::examine::{Examiner, survey};
use lockscope_live::admin::{DeletePlan, Ending, NodeOutcome, Permission, Who, execute, find_guards};
use lockscope_live::zk::stat_of;
use lockscope_live::zk::survey::SurveyOptions;
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::Change;
use zookeeper_client::{Client, CreateMode};

use super::plans::{NODE_TIMEOUT, confirmed, log, path, place};
use crate::harness::reading::{seen, table};
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::{connection, curator, observing};

/// The maximum number of nodes in one plan.
const TAGGED: usize = 100;

/// Returns the plan to delete these nodes of a queue, with the servers' reports of their owners.
async fn plan(client: &Client, at: &str, lock: &str, nodes: &[String]) -> DeletePlan {
    let mut found = Vec::new();
    for name in client.list_children(lock).await.expect("it is there") {
        let name = format!("{lock}/{name}");
        let (data, stat) = client.get_data(&name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        found.push(seen(&name, stat_of(&stat), &data));
    }
    let view = survey(&SurveyOptions::new(connection(at))).await;
    let mut table = table(found, now());
    table.apply(Change::Surveyed { view: view.into() }, now());
    let targets: Vec<ZnodePath> = nodes.iter().map(|node| path(node)).collect();
    let plan = DeletePlan::of(&TableAt::new(&table, now()), &targets).expect("a plan");
    find_guards(client, plan).await.expect("answers")
}

/// Carries a plan out as the screen does.
async fn carry_out(at: &str, plan: DeletePlan) -> Vec<NodeOutcome> {
    let (_folder, audit) = log();
    let (permission, who) = (Permission::unchecked(), Who::here("test"));
    let observe = observing(connection(at));
    let nodes: Vec<ZnodePath> = plan.nodes().iter().map(|node| node.path.clone()).collect();
    let mut examiner = Examiner::start(observe, SurveyOptions::new(connection(at)), &nodes);
    let session = zk::connect(at).await;
    let outcomes = execute(session, &permission, confirmed(plan), &audit, &who, NODE_TIMEOUT, &mut examiner).await;
    examiner.stop().await;
    outcomes
}

async fn is_there(client: &Client, node: &str) -> bool {
    client.check_stat(node).await.expect("an answer").is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_acquired_after_the_confirmation_is_not_touched() {
    let (client, root) = place("again-acquired").await;
    let at = Server::shared().connect_string();
    for name in ["lock-".to_owned(), curator()] {
        let wishes = (0..3).map(|_| (format!("{root}/{name}"), Vec::new()));
        let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
        let plan = plan(&client, &at, &root, &nodes[1..]).await;
        zk::delete_all(&client, [nodes[0].clone()]).await;
        let outcomes = carry_out(&at, plan).await;
        assert!(
            matches!(&outcomes[0].ending, Ending::Changed { what } if what.contains("acquired") && what.contains("live")),
            "{outcomes:?}"
        );
        assert_eq!(outcomes[1].ending, Ending::Deleted { window: false }, "who still waits goes");
        assert!(is_there(&client, &nodes[1]).await);
        zk::delete_all(&client, nodes).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_came_back_to_life_after_the_confirmation_is_not_touched() {
    let server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/lock".to_owned()]).await;
    let relay = Relay::start(&at).await;
    let owner = zk::connect(&relay.connect_string()).await;
    let wish = ("/lock/lock-".to_owned(), Vec::new());
    let node = zk::create_all(&owner, CreateMode::EphemeralSequential, [wish]).await;
    relay.refuse().await;
    let plan = eventually("an owner that is seen to be away", async || {
        let plan = plan(&client, &at, "/lock", &node).await;
        if plan.nodes()[0].liveness.id() == "expiring" { Ok(plan) } else { Err(plan) }
    })
    .await;
    relay.heal();
    eventually("an owner that is back", async || is_there(&owner, &node[0]).await.then_some(()).ok_or("away")).await;
    let outcomes = carry_out(&at, plan).await;
    assert!(matches!(&outcomes[0].ending, Ending::Changed { what } if what.contains("live")), "{outcomes:?}");
    assert!(is_there(&client, &node[0]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tagged_nodes_are_deleted_despite_slow_servers_but_a_new_holder_stays() {
    let (client, root) = place("again-many").await;
    let relay = Relay::start(&Server::shared().connect_string()).await;
    relay.delay(Duration::from_millis(5));
    let at = relay.connect_string();
    let wishes = (0..=TAGGED).map(|_| (format!("{root}/lock-"), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let plan = plan(&client, &Server::shared().connect_string(), &root, &nodes[1..]).await;
    let holder_leaves = async {
        eventually("half of them gone", async || match client.list_children(&root).await.expect("it is there").len() {
            left if left <= TAGGED / 2 => Ok(()),
            left => Err(left),
        })
        .await;
        zk::delete_all(&client, [nodes[0].clone()]).await;
    };
    let (outcomes, ()) = tokio::join!(carry_out(&at, plan), holder_leaves);
    let changed: Vec<_> =
        outcomes.iter().filter(|outcome| outcome.ending != Ending::Deleted { window: false }).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].path.as_str() == nodes[1] && matches!(changed[0].ending, Ending::Changed { .. }), "{changed:?}");
    assert!(is_there(&client, &nodes[1]).await);
}

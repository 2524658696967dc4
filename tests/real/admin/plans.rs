//! Nodes to delete, and plans to delete them.

use std::time::Duration;

use lockscope_base::time::now;
use lockscope_base::znode::ZnodePath;
use lockscope_live::admin::{
    Action, Audit, Confirmed, DeletePlan, Ending, Examine, NodeOutcome, Permission, PlannedNode, Who, confirm, execute,
    find_guards,
};
use lockscope_live::zk::stat_of;
use lockscope_model::diagnose::TableAt;
use tempfile::TempDir;
use tokio::time::timeout;
use zookeeper_client::Client;

pub use crate::harness::reading::path;
use crate::harness::reading::{seen, table};
use crate::harness::server::Server;
use crate::harness::wait::PATIENCE;
use crate::harness::zk;

/// The time limit for each node.
pub const NODE_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns a session on the shared server, and the path of a test's own node there.
pub async fn place(subject: &str) -> (Client, String) {
    let server = Server::shared().connect_string();
    let root = zk::own_root(subject).await.split_off(server.len());
    (zk::connect(&server).await, root)
}

/// Opens an audit log in a folder of its own.
pub fn log() -> (TempDir, Audit) {
    let folder = tempfile::tempdir().expect("a folder");
    let audit = Audit::open(&folder.path().join("state/audit.jsonl")).expect("it can be written");
    (folder, audit)
}

/// Returns the plan to delete these nodes in their present state.
pub async fn plan(client: &Client, nodes: &[&str]) -> DeletePlan {
    let mut found = Vec::new();
    for name in nodes {
        let (data, stat) = client.get_data(name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        found.push(seen(name, stat_of(&stat), &data));
    }
    let now = now();
    let table = table(found, now);
    let targets: Vec<ZnodePath> = nodes.iter().map(|node| path(node)).collect();
    DeletePlan::of(&TableAt::new(&table, now), &targets).expect("a plan")
}

/// Returns such a plan with guards, as the screen and the command find them before they ask.
pub async fn guarded(client: &Client, nodes: &[&str]) -> DeletePlan {
    find_guards(client, plan(client, nodes).await).await.expect("answers")
}

/// Returns such a plan for a lock parent without contenders.
pub async fn guarded_parent(client: &Client, node: &str) -> DeletePlan {
    let stat = client.check_stat(node).await.expect("an answer").expect("it is there");
    let now = now();
    let plan = DeletePlan::of_empty_node(&path(node), &stat_of(&stat), now).expect("a plan");
    find_guards(client, plan).await.expect("answers")
}

/// Assumes that nothing changes before a node is deleted.
#[derive(Debug)]
pub struct Unchanged;

impl Examine for Unchanged {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        Ok(Some(node.clone()))
    }
}

/// Confirms a plan in the way that it demands.
pub fn confirmed(plan: DeletePlan) -> Confirmed<DeletePlan> {
    let answer = plan.confirmation().typed().unwrap_or_else(|| "y".to_owned());
    confirm(plan, &answer).expect("that is the answer")
}

/// Confirms a plan and carries it out on a session, which ends afterwards.
pub async fn carry_out(session: Client, plan: DeletePlan, audit: &Audit) -> Vec<NodeOutcome> {
    carry_out_within(NODE_TIMEOUT, session, plan, audit).await
}

/// Carries a plan out with another time limit for each node.
pub async fn carry_out_within(
    patience: Duration,
    session: Client,
    plan: DeletePlan,
    audit: &Audit,
) -> Vec<NodeOutcome> {
    let (permission, who) = (Permission::unchecked(), Who::here("test"));
    let mut examine = Unchanged;
    let executed = execute(session, &permission, confirmed(plan), audit, &who, patience, &mut examine);
    timeout(PATIENCE, executed).await.expect("it ends in time")
}

/// Carries out a plan for one node on the shared server. Returns its ending.
pub async fn end_of(plan: DeletePlan, audit: &Audit) -> Ending {
    assert_eq!((plan.nodes().len(), plan.action()), (1, Action::Delete));
    let session = zk::connect(&Server::shared().connect_string()).await;
    carry_out(session, plan, audit).await.remove(0).ending
}

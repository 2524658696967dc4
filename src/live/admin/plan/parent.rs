//! An empty lock parent as part of a plan.

use std::time::Duration;

use super::{Action, Confirmation, DeletePlan, NoPlan, OwnerLiveness, PlannedNode, TargetKind, free_lock, sentences};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::ParentNode;

/// What a stat tells of a node without children. Whatever comes and goes there changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptiness {
    pzxid: Zxid,
    cversion: i32,
    num_children: i32,
    data_length: i32,
}

impl From<&ZnodeStat> for Emptiness {
    fn from(stat: &ZnodeStat) -> Self {
        let ZnodeStat { pzxid, cversion, num_children, data_length, .. } = *stat;
        Self { pzxid, cversion, num_children, data_length }
    }
}

pub(super) fn planned(table_at: &TableAt<'_>, path: &ZnodePath) -> Result<PlannedNode, NoPlan> {
    let lock = free_lock(table_at.table(), path)?;
    let (Some(lock), Some(node)) = (lock, table_at.table().parent(path)) else {
        return Err(NoPlan::NotFound(path.clone()));
    };
    let age = table_at.table().server_time(table_at.now()).since(node.created_at);
    empty(path, node, 0, Some(lock.recipe()), age, lock.next_sequence())
}

impl DeletePlan {
    /// Creates the plan to delete an empty node whose locks are no longer known, from one read of
    /// it. A node that has data and never had children is not a lock parent.
    pub fn of_empty_node(path: &ZnodePath, stat: &ZnodeStat, now: Timestamp) -> Result<Self, NoPlan> {
        if stat.num_children > 0 {
            return Err(NoPlan::NotEmpty(path.clone()));
        }
        if stat.cversion == 0 && stat.data_length > 0 {
            return Err(NoPlan::NoParent(path.clone(), "it holds data and never had children"));
        }
        let node = ParentNode { czxid: stat.czxid, created_at: stat.ctime, ephemeral: stat.ephemeral_owner.is_some() };
        let next = stat.next_sequence();
        let planned = empty(path, node, stat.version, None, now.since(stat.ctime), next)?;
        let planned = PlannedNode { emptiness: Some(stat.into()), ..planned };
        Ok(Self { action: Action::Delete, nodes: vec![planned], production: None, by_count: false })
    }

    /// Joins plans of empty nodes into one that the number of nodes confirms. A person reads only the
    /// first of so many.
    #[must_use]
    pub(in crate::admin) fn joined(plans: Vec<Self>) -> Self {
        let nodes = plans.into_iter().flat_map(|plan| plan.nodes).collect();
        Self { action: Action::Delete, nodes, production: None, by_count: true }
    }
}

fn empty(
    path: &ZnodePath,
    node: ParentNode,
    version: i32,
    recipe: Option<Recipe>,
    age: Duration,
    next_sequence: Option<i64>,
) -> Result<PlannedNode, NoPlan> {
    if node.ephemeral {
        return Err(NoPlan::NoParent(path.clone(), "a session owns it"));
    }
    let of_keeper = path.as_str().strip_prefix("/keeper").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if path.is_root() || path.as_str() == "/zookeeper" || path.is_servers_own() || of_keeper {
        return Err(NoPlan::NoParent(path.clone(), "the ensemble keeps it"));
    }
    Ok(PlannedNode {
        path: path.clone(),
        kind: TargetKind::EmptyParent,
        lock: path.clone(),
        lock_name: None,
        recipe,
        sequence: None,
        session: None,
        czxid: node.czxid,
        version,
        state: None,
        liveness: OwnerLiveness::Ownerless,
        unaware: None,
        client: None,
        evidence: sentences::of_empty(age, next_sequence),
        acquires_next: Vec::new(),
        then: "nobody contends there, so nobody acquires".to_owned(),
        risks: sentences::risks_of_empty(),
        confirmation: Confirmation::Yes,
        guard: None,
        lacks: None,
        revocable: false,
        position: 0,
        emptiness: None,
    })
}

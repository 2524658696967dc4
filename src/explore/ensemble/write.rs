//! Writes, as the leader carries them out.

use std::sync::Arc;

use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::{Change as TreeChange, Owner, Stat, Tree, TreeMode, Wish, anyone, permission};

use super::request::{Answer, Change, Create, WriteOp};

/// The time of all changes, in milliseconds since 1970. No lock decides by it.
const TIME: i64 = 1_700_000_000_000;

/// The index of the write that the leader refuses, and the reason.
pub(super) type Refused = (usize, ErrorCode);

/// Carries out all writes of a session on a copy of a tree.
pub(super) fn carry_out(
    tree: &Tree,
    session: i64,
    zxid: i64,
    writes: &[WriteOp],
) -> Result<(Vec<Answer>, Vec<Change>, Tree), Refused> {
    let mut tree = tree.clone();
    let (mut answers, mut changes) = (Vec::new(), Vec::new());
    for (index, write) in writes.iter().enumerate() {
        let (answer, change) = write_one(&mut tree, session, zxid, write).map_err(|code| (index, code))?;
        answers.push(answer);
        changes.extend(change);
    }
    Ok((answers, changes, tree))
}

/// Deletes the ephemeral nodes of a session that has ended from a copy of a tree.
pub(super) fn without_ephemerals(tree: &Tree, session: i64, zxid: i64) -> (Vec<Change>, Tree) {
    let mut tree = tree.clone();
    let nodes: Vec<Arc<str>> = tree.ephemerals_of(session).cloned().collect();
    let mut changes = Vec::new();
    for path in nodes {
        let (czxid, version) = tree.node(&path).map_or((0, 0), |node| (node.czxid, node.version));
        if tree.delete(&path, -1, zxid).is_ok() {
            changes.push(Change::Deleted { path, czxid, version, owner: Some(session) });
        }
    }
    (changes, tree)
}

fn write_one(tree: &mut Tree, session: i64, zxid: i64, write: &WriteOp) -> Result<(Answer, Option<Change>), ErrorCode> {
    match write {
        WriteOp::Create(create) => {
            let owner = create.ephemeral.then_some(session);
            let (path, stat) = make(tree, create, owner, zxid)?;
            Ok((Answer::Created { path: Arc::clone(&path), stat }, Some(Change::Created { path, owner })))
        }
        WriteOp::Delete { path, version } => {
            tree.deletable(path)?;
            let (czxid, owner) = owner_of(tree, path)?;
            let of_node = tree.node(path)?.version;
            tree.delete(path, version.unwrap_or(-1), zxid)?;
            Ok((Answer::Done, Some(Change::Deleted { path: Arc::clone(path), czxid, version: of_node, owner })))
        }
        WriteOp::SetData { path, data, version } => {
            let (czxid, owner) = owner_of(tree, path)?;
            tree.set_data(path, Some(data), version.unwrap_or(-1), zxid, TIME)?;
            let stat = tree.node(path)?.stat();
            let (path, data) = (Arc::clone(path), Arc::clone(data));
            Ok((Answer::Stat(Some(stat)), Some(Change::DataChanged { path, czxid, owner, data })))
        }
        WriteOp::Check { path, version } => {
            if tree.node(path)?.version == *version {
                Ok((Answer::Done, None))
            } else {
                Err(ErrorCode::BadVersion)
            }
        }
    }
}

fn owner_of(tree: &Tree, path: &str) -> Result<(i64, Option<i64>), ErrorCode> {
    let node = tree.node(path)?;
    let owner = if let Owner::Session(session) = node.owner { Some(session) } else { None };
    Ok((node.czxid, owner))
}

/// Creates a node in a tree and returns its path and stat.
fn make(tree: &mut Tree, create: &Create, owner: Option<i64>, zxid: i64) -> Result<(Arc<str>, Stat), ErrorCode> {
    let wish = Wish {
        path: &create.path,
        data: Some(&create.data),
        acls: anyone(permission::ALL),
        mode: TreeMode { sequential: create.sequential, ephemeral: create.ephemeral, ttl: false },
        owner: match owner {
            Some(session) => Owner::Session(session),
            None if create.container => Owner::Container,
            None => Owner::Nobody,
        },
    };
    match tree.create(wish, zxid, TIME)?.0 {
        TreeChange::Created { path, stat, .. } => Ok((path, stat)),
        other => unreachable!("a create makes a node: {other:?}"),
    }
}

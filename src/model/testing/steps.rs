//! Random steps in a tree of every recipe, with the changes that the observer would send.

use proptest::prelude::*;

use super::fixture::{TableFixture, session_runs_out};
use super::{deleted, path, uuid};
use crate::queue::Change;
use lockscope_base::recipe::Classifier;
use lockscope_base::znode::{Sequence, SessionId, ZnodePath};

#[derive(Clone, Debug)]
pub enum Step {
    Create { place: usize, session: i64 },
    Delete { which: usize },
    Rewrite { which: usize },
    Expire { session: i64 },
    Repeat { which: usize },
    DropParent { which: usize },
    Miss(Vec<Step>),
}

pub fn step() -> impl Strategy<Value = Step> {
    let simple = prop_oneof![
        8 => (0..14_usize, 1..6_i64).prop_map(|(place, session)| Step::Create { place, session }),
        6 => any::<prop::sample::Index>().prop_map(|which| Step::Delete { which: which.index(1 << 16) }),
        1 => any::<prop::sample::Index>().prop_map(|which| Step::Rewrite { which: which.index(1 << 16) }),
        1 => (1..6_i64).prop_map(|session| Step::Expire { session }),
        1 => any::<prop::sample::Index>().prop_map(|which| Step::Repeat { which: which.index(1 << 16) }),
        1 => any::<prop::sample::Index>().prop_map(|which| Step::DropParent { which: which.index(1 << 16) }),
    ];
    let missed = prop::collection::vec(simple.clone(), 0..12).prop_map(Step::Miss);
    prop_oneof![20 => simple, 1 => missed]
}

/// Takes one step in the tree. Returns the changes that the observer would send.
pub fn apply_step(fixture: &mut TableFixture, step: &Step, serial: u32) -> Vec<Change> {
    match step {
        Step::Create { place, session } => {
            let at = make(fixture, *place, *session, serial);
            vec![fixture.observed(&at)]
        }
        Step::Delete { which } => nth(fixture, *which).map_or(Vec::new(), |at| take_out(fixture, &at)),
        Step::Rewrite { which } => nth(fixture, *which).map_or(Vec::new(), |at| {
            fixture.write(&at, &serial.to_be_bytes());
            vec![fixture.observed(&at)]
        }),
        Step::Expire { session } => {
            let owner = Some(SessionId(*session));
            let theirs = fixture.tree.iter().filter(|(_, node)| node.stat.ephemeral_owner == owner);
            let theirs: Vec<_> = theirs.map(|(at, _)| at.clone()).collect();
            let gone = theirs.iter().flat_map(|at| take_out(fixture, at)).collect::<Vec<_>>();
            [vec![session_runs_out(*session, fixture.now)], gone].concat()
        }
        Step::Repeat { which } => nth(fixture, *which).map_or(Vec::new(), |at| vec![fixture.observed(&at)]),
        Step::DropParent { which } => {
            let parent = nth(fixture, *which).and_then(|at| at.parent()).filter(|parent| !parent.is_root());
            parent.map_or(Vec::new(), |parent| drop_parent(fixture, &parent))
        }
        Step::Miss(_) => Vec::new(),
    }
}

fn nth(fixture: &TableFixture, which: usize) -> Option<ZnodePath> {
    let count = fixture.tree.len();
    fixture.tree.keys().nth(which.checked_rem(count)?).cloned()
}

fn take_out(fixture: &mut TableFixture, at: &ZnodePath) -> Vec<Change> {
    let below: Vec<_> = fixture.tree.keys().filter(|other| other.is_within(at)).cloned().collect();
    let gone = below.iter().rev();
    gone.map(|path| {
        fixture.tree.remove(path);
        deleted(path)
    })
    .collect()
}

/// Deletes a parent with all its children. The deletions of its contenders are not reported.
fn drop_parent(fixture: &mut TableFixture, parent: &ZnodePath) -> Vec<Change> {
    let below = fixture.tree.keys().filter(|at| at.is_within(parent));
    let hints = below.clone().filter(|at| Classifier::is_hint(at)).cloned();
    let mut parents: Vec<_> = below
        .filter_map(ZnodePath::parent)
        .chain(hints)
        .chain([parent.clone()])
        .filter(|at| at.is_within(parent))
        .collect();
    parents.sort();
    parents.dedup();
    fixture.tree.retain(|at, _| !at.is_within(parent));
    parents.iter().rev().map(deleted).collect()
}

fn make(fixture: &mut TableFixture, place: usize, session: i64, serial: u32) -> ZnodePath {
    let (hex, uuid) = (format!("{serial:032x}"), uuid(serial));
    // Only history tells which of two threads of one session owns a lease, so each has its own
    // session here.
    let session = match place {
        7 => 1_000 + i64::from(serial),
        8 => without_lease(fixture).unwrap_or_default(),
        _ => session,
    };
    let prefix = match place {
        0 => format!("/c/_c_{uuid}-lock-"),
        1 => format!("/rw/_c_{uuid}-__READ__"),
        2 => format!("/rw/_c_{uuid}-__WRIT__"),
        3 => format!("/k/{hex}__lock__"),
        4 => format!("/k/{hex}__rlock__"),
        5 => "/t/read-".to_owned(),
        6 => "/t/write-".to_owned(),
        7 => format!("/s/locks/_c_{uuid}-lock-"),
        8 if without_lease(fixture).is_none() => return plain(fixture, "/s/leases", 0),
        8 if !fixture.tree.contains_key(&path("/s/leases")) => return plain(fixture, "/s/leases", 0),
        8 => format!("/s/leases/_c_{uuid}-lease-"),
        9 => format!("/n/{}_lock_", ["red", "blue"][serial as usize % 2]),
        10 => return plain(fixture, "/x/lock", session),
        11 => return plain(fixture, "/s/leases", 0),
        12 => format!("/k2-__lock__/{hex}__lock__"),
        _ => return plain(fixture, "/k2-__lock__", 0),
    };
    fixture.put_numbered(&prefix, session)
}

/// Returns the session at the head of the semaphore's queue, unless it has a lease.
fn without_lease(fixture: &TableFixture) -> Option<i64> {
    let below = |parent: &'static str| fixture.tree.iter().filter(move |(at, _)| at.parent_str() == Some(parent));
    let number = |at: &ZnodePath| Sequence::split(at.name()).map(|(_, number)| number);
    let (_, head) = below("/s/locks").min_by_key(|(at, _)| number(at))?;
    let owner = head.stat.ephemeral_owner?;
    let has_one = below("/s/leases").any(|(_, lease)| lease.stat.ephemeral_owner == Some(owner));
    (!has_one).then_some(owner.0)
}

fn plain(fixture: &mut TableFixture, at: &str, session: i64) -> ZnodePath {
    if fixture.tree.contains_key(&path(at)) {
        return path(at);
    }
    fixture.put(at, (session != 0).then_some(session))
}

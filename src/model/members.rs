//! Compares what the members of an ensemble have: the children of chosen nodes, as each member
//! shows them.
//!
//! A member that lags shows less, and nodes come and go while the members are read one after the
//! other. So a difference counts only if a second reading, after another sync, shows it again. All
//! members have applied the same transactions by then, up to those of the last moment.
//!
//! The module is pure: the readings are arguments.

use std::collections::{BTreeMap, BTreeSet};

use crate::queue::LockTable;
use crate::server_view::{Difference, MemberView, ServerMode, ServerView};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{ZnodePath, Zxid};

/// Maximum number of differences that are reported.
pub const MAX_DIFFERENCES: usize = 1_000;

/// The children of nodes, as one member shows them.
pub type ChildrenSeen = BTreeMap<ZnodePath, BTreeSet<String>>;

/// The czxids of nodes, as one member shows them; `None` for a node that it does not have.
pub type NodesSeen = BTreeMap<ZnodePath, Option<Zxid>>;

/// What one member showed, or why it was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberReading<T> {
    /// The member's address.
    pub member: String,
    /// What it showed, or a sentence that says why it was not read.
    pub seen: Result<T, String>,
}

/// Returns the nodes that not all members show, at most [`MAX_DIFFERENCES`]. These are to be read
/// again.
pub fn suspects(readings: &[MemberReading<ChildrenSeen>]) -> BTreeSet<ZnodePath> {
    let seen: Vec<&ChildrenSeen> = readings.iter().filter_map(|reading| reading.seen.as_ref().ok()).collect();
    let parents: BTreeSet<&ZnodePath> = seen.iter().flat_map(|seen| seen.keys()).collect();
    let none = BTreeSet::new();
    let mut suspects = BTreeSet::new();
    for parent in parents {
        let children: Vec<&BTreeSet<String>> = seen.iter().map(|seen| seen.get(parent).unwrap_or(&none)).collect();
        let all: BTreeSet<&String> = children.iter().copied().flatten().collect();
        let differs = all.into_iter().filter(|name| !children.iter().all(|seen| seen.contains(*name)));
        suspects.extend(differs.take(MAX_DIFFERENCES.saturating_sub(suspects.len())).map(|name| parent.child(name)));
    }
    suspects
}

/// Returns the differences that a reading shows: for each node, the members whose state is that of
/// fewer members than another state. Where as many members show each state, the first member's is
/// taken for the ensemble's: pass the leader first.
pub fn differences(readings: &[MemberReading<NodesSeen>]) -> Vec<Difference> {
    let seen: Vec<(&String, &NodesSeen)> =
        readings.iter().filter_map(|reading| Some((&reading.member, reading.seen.as_ref().ok()?))).collect();
    let paths: BTreeSet<&ZnodePath> = seen.iter().flat_map(|(_, seen)| seen.keys()).collect();
    let mut found = Vec::new();
    for path in paths {
        let states: Vec<(&String, Option<Zxid>)> =
            seen.iter().filter_map(|(member, seen)| Some((*member, *seen.get(path)?))).collect();
        let common = most_common(&states);
        let odd = states.iter().filter(|(_, state)| *state != common);
        found.extend(odd.map(|(member, state)| Difference {
            path: path.clone(),
            member: (*member).clone(),
            has: state.is_some(),
            czxid: state.or(common),
        }));
    }
    found.truncate(MAX_DIFFERENCES);
    found
}

/// Returns the state that most members show; the first of several.
fn most_common(states: &[(&String, Option<Zxid>)]) -> Option<Zxid> {
    let count = |of: Option<Zxid>| states.iter().filter(|(_, state)| *state == of).count();
    // `max_by_key` returns the last of several, so the first comes last.
    states.iter().rev().map(|(_, state)| *state).max_by_key(|state| count(*state)).flatten()
}

/// Keeps the differences that two readings share.
pub fn lasting(first: &BTreeSet<ZnodePath>, second: Vec<Difference>) -> Vec<Difference> {
    second.into_iter().filter(|difference| first.contains(&difference.path)).collect()
}

/// Maximum number of nodes whose children are compared.
const MAX_PARENTS: usize = 2_000;

/// Maximum number of single-node locks that are compared.
const MAX_SINGLE_NODES: usize = 1_000;

/// The nodes in which the members are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedNodes {
    /// The nodes whose children are compared.
    pub parents: BTreeSet<ZnodePath>,
    /// The nodes that are compared by themselves.
    pub single_nodes: BTreeSet<ZnodePath>,
    /// The number of nodes that are left out, because there are too many.
    pub left_out: usize,
    /// The address of the leader, or of the standalone server, where it is known.
    pub leader: Option<String>,
}

impl ComparedNodes {
    /// Chooses the parents of the locks, the nodes above them, and the roots: a lock whose parent
    /// one member lacks shows above it. Without roots, the whole chroot is one. Linear in the number
    /// of locks.
    pub fn of(table: &LockTable, view: &ServerView, roots: &[ZnodePath]) -> Self {
        let whole = [ZnodePath::root()];
        let roots = if roots.is_empty() { &whole } else { roots };
        let leads = |member: &&MemberView| member.mode.is_some_and(ServerMode::keeps_sessions);
        let leader = view.members.iter().find(leads).map(|member| member.address.clone());
        let mut chosen = Self { parents: roots.iter().cloned().collect(), leader, ..Self::default() };
        for lock in table.locks() {
            if lock.kind() == LockKind::SingleNode {
                chosen.add_single_node(lock.path());
            }
            for parent in lock.parents() {
                chosen.add_parent(parent, roots);
            }
        }
        chosen
    }

    fn add_single_node(&mut self, path: &ZnodePath) {
        if self.single_nodes.len() < MAX_SINGLE_NODES {
            self.single_nodes.insert(path.clone());
        } else {
            self.left_out += 1;
        }
    }

    fn add_parent(&mut self, parent: ZnodePath, roots: &[ZnodePath]) {
        if self.parents.len() >= MAX_PARENTS && !self.parents.contains(&parent) {
            self.left_out += 1;
            return;
        }
        let above = parent.parent().filter(|above| roots.iter().any(|root| above.is_within(root)));
        self.parents.extend(above);
        self.parents.insert(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, reading, seen};
    use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

    fn children(member: &str, names: &[&str]) -> MemberReading<ChildrenSeen> {
        let names = names.iter().map(ToString::to_string).collect();
        MemberReading { member: member.to_owned(), seen: Ok(BTreeMap::from([(path("/l"), names)])) }
    }

    fn nodes(member: &str, states: &[(&str, Option<i64>)]) -> MemberReading<NodesSeen> {
        let seen = states.iter().map(|(at, czxid)| (path(at), czxid.map(Zxid))).collect();
        MemberReading { member: member.to_owned(), seen: Ok(seen) }
    }

    #[test]
    fn a_node_that_one_member_lacks_or_has_alone_is_a_suspect() {
        let readings = [children("a", &["x", "y"]), children("b", &["x", "y", "z"]), children("c", &["x"])];
        assert_eq!(suspects(&readings).into_iter().collect::<Vec<_>>(), [path("/l/y"), path("/l/z")]);
        let silent = MemberReading { member: "d".to_owned(), seen: Err("no answer".to_owned()) };
        assert_eq!(suspects(&[children("a", &["x"]), silent]), BTreeSet::new(), "silence is no difference");
        let missing = MemberReading { member: "e".to_owned(), seen: Ok(BTreeMap::new()) };
        assert_eq!(suspects(&[children("a", &["x"]), missing]).len(), 1, "a missing parent has no children");
    }

    #[test]
    fn the_member_that_differs_from_most_is_named_with_its_node() {
        let readings = [
            nodes("a", &[("/l/y", None), ("/l/z", Some(7)), ("/m", Some(3))]),
            nodes("b", &[("/l/y", Some(5)), ("/l/z", Some(7)), ("/m", Some(4))]),
            nodes("c", &[("/l/y", None), ("/l/z", None), ("/m", Some(3))]),
        ];
        let told: Vec<_> = differences(&readings)
            .into_iter()
            .map(|found| (found.path.to_string(), found.member, found.has, found.czxid.map(|czxid| czxid.0)))
            .collect();
        let expected = [("/l/y", "b", true, Some(5)), ("/l/z", "c", false, Some(7)), ("/m", "b", true, Some(4))];
        assert_eq!(told, expected.map(|(path, member, has, czxid)| (path.to_owned(), member.to_owned(), has, czxid)));
    }

    #[test]
    fn of_two_members_the_first_is_right() {
        let found = differences(&[nodes("leader", &[("/l/x", None)]), nodes("b", &[("/l/x", Some(9))])]);
        assert_eq!((found[0].member.as_str(), found[0].has), ("b", true));
    }

    #[test]
    fn only_what_was_different_before_lasts() {
        let second = differences(&[
            nodes("a", &[("/l/x", None), ("/l/y", None)]),
            nodes("b", &[("/l/x", Some(9)), ("/l/y", Some(8))]),
        ]);
        let lasting = lasting(&BTreeSet::from([path("/l/x")]), second);
        assert_eq!(lasting.len(), 1);
    }

    #[test]
    fn the_parents_of_locks_what_is_above_them_and_single_nodes_are_compared() {
        let node = |at: &str, zxid| seen(at, ZnodeStat::of_new(Zxid(zxid), Timestamp(0), Some(SessionId(1))), b"");
        let found = [node("/app/l/lock-0000000001", 5), node("/app/m/lock-0000000001", 6), node("/app/single", 7)];
        let mut table = LockTable::new([path("/app/single")]);
        reading(found).for_each(|change| drop(table.apply(change, Timestamp(0))));
        let chosen = ComparedNodes::of(&table, table.view(), &[path("/app")]);
        assert_eq!(chosen.parents.iter().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/app", "/app/l", "/app/m"]);
        assert_eq!(chosen.single_nodes.iter().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/app/single"]);
        let all = ComparedNodes::of(&table, table.view(), &[]);
        assert_eq!(all.parents.iter().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/", "/app", "/app/l", "/app/m"]);
        assert_eq!((all.left_out, all.leader), (0, None));
    }
}

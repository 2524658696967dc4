//! A member whose nodes are not those of the others: our member shows a node that the ensemble has
//! deleted, or a comparison of the members found a difference.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::finding::AmongReturned;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity, TableAt};
use crate::queue::{ConnectionState, Contender, ContenderRow, ContenderState, LockQueue};
use crate::server_view::{Difference, MemberComparison};
use lockscope_base::znode::{ZnodePath, Zxid, escaped};

const REMEDY: &str =
    "connect to each member alone and compare; restart the member that shows the node, and delete nothing";

/// How long a comparison counts. While it shows a difference, the next one follows within a minute.
const MAX_COMPARISON_AGE: Duration = Duration::from_secs(300);

/// A returned node is a finding only if it lasts: a member that merely lags catches up, or its
/// leader drops it. A comparison has already read a difference again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MemberDisagrees;

impl Check for MemberDisagrees {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        let compared = context.table_at.table().compared();
        let compared = compared.filter(|compared| context.now().since(compared.at) <= MAX_COMPARISON_AGE);
        if let Some(compared) = compared {
            let differences = differences(compared, lock);
            let same = differences.chunk_by(|one, other| key(one) == key(other));
            found.extend(same.take(MAX_SUSPICIONS).map(|same| {
                let state = same[0].czxid.map_or(0, |czxid| czxid.0);
                Suspicion::proved(describe_difference(context, same), compared.at).of_state(state)
            }));
        }
        if lock.returned() == 0 {
            return;
        }
        let is_compared = |row: &ContenderRow<'_>| {
            let of_path = |compared: &MemberComparison| {
                let differences = compared.of(&lock.path_of(row.contender));
                differences.iter().any(|difference| difference.czxid == Some(row.contender.czxid))
            };
            compared.is_some_and(of_path)
        };
        let returned = lock.rows(0..lock.len()).filter(|row| row.contender.returned && !is_compared(row));
        found.extend(returned.take(MAX_SUSPICIONS).map(|row| {
            let lasts = context.thresholds.ghost_after;
            Suspicion::new(describe(context, &row), context.now(), lasts).of_state(row.contender.czxid.0)
        }));
    }
}

/// Returns the differences in the nodes of a lock and in those above it, by path.
fn differences<'a>(compared: &'a MemberComparison, lock: &LockQueue) -> Vec<&'a Difference> {
    if compared.differences.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = Some(lock.path().clone());
    while let Some(path) = at {
        found.extend(compared.of(&path));
        at = path.parent();
    }
    for parent in lock.parents() {
        found.extend(compared.below(&parent));
    }
    found.sort_by_key(|difference| key(difference));
    found
}

/// Differences with the same key are one, which several members show.
fn key(difference: &Difference) -> (&ZnodePath, bool, Option<Zxid>) {
    (&difference.path, difference.has, difference.czxid)
}

/// Describes a difference that one or more members show.
fn describe_difference(context: &LockContext<'_>, same: &[&Difference]) -> Finding {
    let (lock, difference) = (context.lock, same[0]);
    let is_child = difference.path.parent().is_some_and(|above| lock.parents().contains(&above));
    let position = context.table_at.table().position(&difference.path).filter(|(id, _)| *id == lock.id());
    // A node of another transaction has another owner.
    let row = position.and_then(|(_, position)| lock.row(position));
    let row = row.filter(|row| difference.czxid == Some(row.contender.czxid));
    let node = match &row {
        Some(row) => of_whom(context.table_at, row.contender),
        None if is_child => short_node(difference.path.name()),
        None => escaped(difference.path.as_str()).to_string(),
    };
    let czxid = difference.czxid.map_or_else(String::new, |czxid| format!(", czxid {czxid}"));
    let (has, others) = match (difference.has, same.len()) {
        (true, 1) => ("has", "do not have"),
        (true, _) => ("have", "do not have"),
        (false, 1) => ("lacks", "have"),
        (false, _) => ("lack", "have"),
    };
    let members: Vec<_> = same.iter().map(|difference| escaped(&difference.member).to_string()).collect();
    let members = members.join(" and ");
    let summary =
        format!("{members} {has} {node}{czxid}, which most members {others}: clients there see another queue");
    let remedy = format!(
        "while most members run, stop {}, move its data folder away and start it again: it takes the tree of the \
         others; delete nothing",
        escaped(&difference.member)
    );
    let found = if let Some(row) = row {
        of_contender(Code::MemberDisagrees, Severity::Critical, context, row.contender)
    } else {
        let node = is_child.then(|| Arc::from(difference.path.name()));
        finding(Code::MemberDisagrees, Severity::Critical, lock, node.as_ref())
    };
    found.because(summary, remedy)
}

fn describe(context: &LockContext<'_>, row: &ContenderRow<'_>) -> Finding {
    let severity = if row.state == ContenderState::Holds { Severity::Critical } else { Severity::Warning };
    let summary = format!(
        "{} was deleted and is back with the same czxid {}, though no czxid is reused: {} shows a node that the ensemble has deleted",
        of_whom(context.table_at, row.contender),
        row.contender.czxid,
        member(context.table_at)
    );
    of_contender(Code::MemberDisagrees, severity, context, row.contender).because(summary, REMEDY)
}

fn of_whom(table_at: TableAt<'_>, contender: &Contender) -> String {
    format!("{} of {}", short_node(&contender.node), table_at.who(contender))
}

/// Names the member that the table is read from.
fn member(table_at: TableAt<'_>) -> String {
    let session = match table_at.table().connection() {
        ConnectionState::Connected { session, .. } => Some(*session),
        _ => None,
    };
    let here = session.and_then(|session| table_at.view().connection_of(session));
    match here.filter(|(member, _)| member.provenance.can_prove()) {
        Some((member, _)) => format!("the member {}, which this console is connected to,", escaped(&member.address)),
        None => "the member that this console is connected to".to_owned(),
    }
}

/// Returns whether a finding stands in a lock with returned nodes.
///
/// The order of such a queue is not the ensemble's, and the owner of a returned node may have done
/// nothing wrong.
pub fn stands(table_at: TableAt<'_>, finding: &Finding) -> bool {
    let Some(lock) = table_at.table().lock(finding.lock.id).filter(|lock| lock.returned() > 0) else { return true };
    match finding.code.traits().among_returned {
        AmongReturned::Stands => true,
        AmongReturned::StandsOfOthers => !names_returned(lock, finding),
        AmongReturned::Falls => false,
    }
}

fn names_returned(lock: &LockQueue, finding: &Finding) -> bool {
    let mut returned = lock.rows(0..lock.len()).filter(|row| row.contender.returned);
    returned.any(|row| finding.node.as_ref() == Some(&row.contender.node))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};
    use crate::queue::Change;

    pub fn examples() -> Vec<Example> {
        let returned = [(0, true), (1, true), (0, false)].map(|(at, answers)| member_disagrees(at, answers));
        let lacks: &[_] = &[("zk3:2181", 0, false)];
        let compared =
            [lacks, &[("zk2:2181", 0, false), ("zk3:2181", 0, false)], &[("zk3:2181", 7, true)]].map(compared);
        returned.into_iter().chain(compared).map(|world| (Code::MemberDisagrees, world)).collect()
    }

    /// Compares the members of a queue of two. Each difference has a member, the position of the
    /// node, and whether the member has it.
    fn compared(differences: &[(&str, usize, bool)]) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let nodes = [1, 2].map(|session| world.create(&curator("/l", session), i64::from(session)));
        let lock = world.lock("/l");
        let czxid = |position| lock.contender_at(position).map_or(Zxid(7), |contender| contender.czxid);
        let differences = differences.iter().map(|(member, position, has)| Difference {
            path: nodes.get(*position).cloned().unwrap_or_else(|| path("/l/lock-0000000077")),
            member: (*member).to_owned(),
            has: *has,
            czxid: Some(czxid(*position)),
        });
        let differences = differences.collect();
        show(&mut world, differences);
        world
    }

    fn show(world: &mut DiagnosisFixture, differences: Vec<Difference>) {
        let comparison = MemberComparison { at: world.now, members: Vec::new(), differences, parents: 2, left_out: 0 };
        world.apply(Change::Compared { comparison: Arc::new(comparison) });
        world.pass(1);
    }

    #[test]
    fn a_difference_between_the_members_is_reported_at_once_until_a_comparison_shows_none() {
        let mut world = compared(&[("zk3:2181", 1, false)]);
        let finding = world.found(Code::MemberDisagrees).expect("it is found");
        assert!(finding.severity == Severity::Critical && finding.summary.starts_with("zk3:2181 lacks "));
        show(&mut world, Vec::new());
        assert_eq!(world.found(Code::MemberDisagrees), None);
        let mut old = compared(&[("zk3:2181", 1, false)]);
        old.pass(400);
        assert_eq!(old.found(Code::MemberDisagrees), None, "an old comparison proves nothing about now");
    }

    #[test]
    fn another_node_of_the_same_path_is_not_taken_for_the_contenders() {
        let mut world = compared(&[]);
        let path = world.lock("/l").path_of(world.lock("/l").contender_at(0).expect("a contender"));
        let other = Difference { path, member: "zk3:2181".to_owned(), has: true, czxid: Some(Zxid(7)) };
        show(&mut world, vec![other]);
        let finding = world.found(Code::MemberDisagrees).expect("it is found");
        assert!(
            finding.client.is_none() && finding.summary.starts_with("zk3:2181 has node 0, czxid 7"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn a_missing_parent_is_reported_with_each_lock_below_it_and_other_locks_are_left_alone() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/app/l", 1), 1);
        world.create(&curator("/other", 2), 2);
        let missing = Difference { path: path("/app"), member: "zk3:2181".to_owned(), has: false, czxid: None };
        show(&mut world, vec![missing]);
        let of = |lock: &str| world.diagnosis.of(world.id(lock)).map(|finding| finding.code).collect::<Vec<_>>();
        assert_eq!(of("/app/l"), [Code::MemberDisagrees]);
        assert_eq!(of("/other"), []);
    }

    /// Deletes the node at this position in the queue and lets it return.
    fn member_disagrees(position: usize, answers: bool) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let nodes = [1, 2].map(|session| world.create(&curator("/l", session), i64::from(session)));
        world.answers = answers;
        world.return_deleted(&nodes[position]);
        world.pass(12);
        world
    }

    #[test]
    fn a_deleted_node_that_a_member_shows_again_is_reported_until_it_disappears() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(2);
        world.return_deleted(&head);
        assert_eq!(world.pass(10), (vec![], vec![]), "a member may be behind for a moment");
        assert_eq!(world.pass(2).0, [Code::MemberDisagrees]);
        let finding = world.found(Code::MemberDisagrees).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(head.name())));
        assert!(finding.summary.contains("the member zk1:2181"), "{}", finding.summary);
        world.delete(&head);
        assert_eq!(world.pass(1).1, [Code::MemberDisagrees]);
    }

    #[test]
    fn a_member_that_hides_its_clients_is_named_by_the_connection() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        let waiter = world.create(&curator("/l", 2), 2);
        world.answers = false;
        world.return_deleted(&waiter);
        world.pass(12);
        let finding = world.found(Code::MemberDisagrees).expect("the finding stands");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.summary.contains("the member that this console is connected to"), "{}", finding.summary);
    }

    #[test]
    fn no_finding_asks_for_the_deletion_of_a_returned_node() {
        let mut world = DiagnosisFixture::new();
        let first = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/m", 3), 3);
        world.create(&curator("/l", 4), 3);
        world.create(&curator("/m", 5), 1);
        world.create(&curator("/l", 6), 2);
        world.client(2).sound = false;
        world.return_deleted(&first);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        let (raised, _) = world.pass(120);
        let others: Vec<Code> = world.diagnosis.of(world.id("/l")).map(|finding| finding.code).collect();
        assert_eq!(world.diagnosis.worst(world.id("/l")).map(|finding| finding.code), Some(Code::MemberDisagrees));
        let of_order = [Code::Orphan, Code::SelfBlocked, Code::LostWakeUp, Code::Deadlock, Code::Stuck];
        assert!(others.iter().all(|code| !of_order.contains(code)), "{others:?}");
        assert!(!raised.contains(&Code::Deadlock), "not at the other lock of the circle either");
        let returned = world.diagnosis.findings().filter(|finding| finding.node.as_deref() == Some(first.name()));
        assert_eq!(returned.map(|finding| finding.code).collect::<Vec<_>>(), [Code::MemberDisagrees]);
    }
}

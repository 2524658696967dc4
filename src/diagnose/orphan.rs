//! Two nodes of one attempt: the reply to the first create was lost, and its maker waits behind it.

use std::time::Duration;

use super::checks::{MOST_OF_A_KIND, Scene};
use super::facts::attempt;
use super::suspicion::{Suspicion, finding};
use super::{Code, Severity};
use crate::queue::State;
use crate::znode::escaped;

const REMEDY: &str = "ask the owner to restart that client, or delete the earlier node: its maker does not know of it";

/// Names carry an id that is made for one attempt; an attempt needs one node.
pub(super) fn check(scene: &Scene<'_>, found: &mut Vec<Suspicion>) {
    let lock = scene.lock;
    let mut left = MOST_OF_A_KIND;
    for positions in scene.repeated.values() {
        let rows: Vec<_> = positions.iter().filter_map(|position| lock.row(*position)).collect();
        for (at, earlier) in rows.iter().enumerate() {
            let Some(id) = attempt(&earlier.contender.node) else { continue };
            let Some(later) = rows[at + 1..].iter().find(|later| attempt(&later.contender.node) == Some(id)) else {
                continue;
            };
            if left == 0 {
                return;
            }
            left -= 1;
            let blocks = earlier.state == State::Holds && lock.waiting() > 0;
            let severity = if blocks { Severity::Critical } else { Severity::Warning };
            let [first, second] = [&earlier.contender.node, &later.contender.node].map(|node| escaped(node));
            let summary = format!(
                "{first} and {second} are of one attempt of session {}: the reply to the first create was lost",
                session(earlier.contender.session)
            );
            let finding = finding(Code::Orphan, severity, lock, Some(&earlier.contender.node)).because(summary, REMEDY);
            found.push(Suspicion::new(finding, scene.now(), Duration::ZERO).of_state(earlier.contender.czxid.0));
        }
    }
}

fn session(session: Option<crate::znode::SessionId>) -> String {
    session.map(|session| session.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{World, curator};

    #[test]
    fn two_nodes_with_one_id_are_an_orphan_and_its_successor() {
        let mut world = World::new();
        let first = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 1), 1);
        assert_eq!(world.pass(2).0, [Code::Orphan]);
        let finding = world.found(Code::Orphan).expect("it stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(first.name())));
        world.delete(&first);
        assert_eq!(world.pass(1).1, [Code::Orphan]);
    }

    #[test]
    fn threads_of_one_session_and_names_with_the_sessions_id_are_no_proof() {
        let mut world = World::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        world.create("/w/x-72057594037927936-", 1);
        world.create("/w/x-72057594037927936-", 1);
        world.pass(10);
        assert!(world.found(Code::Orphan).is_none());
        assert_eq!(world.codes(Severity::Warning), []);
    }
}

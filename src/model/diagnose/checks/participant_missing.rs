//! A candidate has gone and not come back, or there are fewer candidates than expected.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::process::FormerSession;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::{Departure, DepartureEnd};
use crate::text::human;

const REMEDY: &str =
    "look at that process: it lost its node and did not queue again; restart it if it does not by itself";

/// A candidate counts as missing if its process is still there, as far as the servers' lists show,
/// or if the user expects more candidates. One that left by itself is not missing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ParticipantMissing;

impl Check for ParticipantMissing {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        if context.election.is_none() {
            return;
        }
        found.extend(fewer_than_expected(context));
        // An empty election has no leader, which is worse.
        if !context.lock.is_empty() {
            found.extend(context.absent().filter_map(|departure| gone(context, departure)));
        }
    }
}

fn fewer_than_expected(context: &LockContext<'_>) -> Option<Suspicion> {
    let expected = context.table_at.table().expectation(context.lock)?.candidates? as usize;
    let here = context.lock.len();
    if here >= expected {
        return None;
    }
    let last = context.absent().next_back();
    let last =
        last.map(|departure| format!("; last went {}: {}", who(context, departure), departure.end.in_sentence()));
    let summary = format!(
        "{} of {} expected candidates {} here{}",
        human::count(here),
        human::count(expected),
        if here == 1 { "is" } else { "are" },
        last.unwrap_or_default()
    );
    let finding = finding(Code::ParticipantMissing, Severity::Warning, context.lock, None)
        .because(summary, "start the missing candidates, or correct the number in the config file");
    Some(Suspicion::new(finding, context.now(), context.leader_within()))
}

/// Returns the suspicion about a candidate whose node went, though its process seems to live.
fn gone(context: &LockContext<'_>, departure: &Departure) -> Option<Suspicion> {
    let gathered = context.table_at.view().connections_as_of()?;
    let process = process(context, departure)?;
    let summary =
        format!("{} was a candidate: {}, and {process}", who(context, departure), departure.end.in_sentence());
    let severity = context.severity_here(Severity::Warning);
    let finding = finding(Code::ParticipantMissing, severity, context.lock, Some(&departure.node))
        .of_client(departure.client.clone())
        .because(summary, REMEDY);
    let lasted = context.now().since(departure.at);
    let suspicion = Suspicion::new(finding, gathered, context.leader_within()).of_state(departure.at.0);
    // The servers' lists are evidence only if they are from after the wait.
    (lasted > Duration::ZERO).then_some(suspicion)
}

/// Describes the process of a candidate that has gone; `None` if nothing shows that it lives.
fn process(context: &LockContext<'_>, departure: &Departure) -> Option<String> {
    let session = departure.session?;
    if let Some((_, connection)) = context.table_at.view().connection_of(session) {
        let is_silent = departure.last_request.is_some() && connection.last_cxid == departure.last_request;
        return is_silent.then(|| "its session is connected and has asked for nothing since".to_owned());
    }
    if !matches!(departure.end, DepartureEnd::Expired | DepartureEnd::Unknown) {
        return None;
    }
    let host = departure.host()?;
    let newer = context.table_at.successor(FormerSession { session, host, since: departure.last_heard() })?;
    Some(format!("{host} is connected with the newer session {}, which queues nowhere", newer.session))
}

fn who(context: &LockContext<'_>, departure: &Departure) -> String {
    departure.client.in_sentence(context.now())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, latch};
    use crate::queue::Expectation;
    use lockscope_base::recipe::PathPattern;

    pub fn examples() -> Vec<Example> {
        let mut deleted = election();
        let node = deleted.1.pop().expect("a candidate");
        deleted.0.delete(&node);
        deleted.0.pass(63);
        [deleted.0, came_back("10.0.0.2:5000", 63), too_few()].map(|world| (Code::ParticipantMissing, world)).into()
    }

    fn election() -> (DiagnosisFixture, Vec<lockscope_base::znode::ZnodePath>) {
        let mut world = DiagnosisFixture::new();
        let nodes =
            (1..=2).map(|number| world.create_named(&latch("/e", 1), number, &format!("worker-{number}"))).collect();
        world.pass(30);
        (world, nodes)
    }

    /// Plays that the second candidate's session expires. Then session 7 connects from `address`.
    fn came_back(address: &str, seconds: u32) -> DiagnosisFixture {
        let (mut world, nodes) = election();
        world.let_expire(2, &[&nodes[1]]);
        let made = world.now;
        let newer = world.client(7);
        (newer.address, newer.established) = (address.to_owned(), made);
        world.pass(seconds);
        world
    }

    fn too_few() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let expected = Expectation {
            path: PathPattern::new("/e").expect("a pattern"),
            candidates: Some(3),
            leader_within: None,
            held_at_most: None,
        };
        world.table = world.table.clone().with_expectations(&[expected]);
        world.create_named(&latch("/e", 1), 1, "worker-1");
        let second = world.create_named(&latch("/e", 2), 2, "worker-2");
        world.pass(30);
        world.let_expire(2, &[&second]);
        world.pass(63);
        world
    }

    #[test]
    fn a_candidate_whose_host_goes_on_without_it_is_missing_until_it_comes_back() {
        assert_eq!(came_back("10.0.0.2:5000", 50).found(Code::ParticipantMissing), None, "it may start again");
        let mut world = came_back("10.0.0.2:5000", 63);
        assert_eq!(world.severity(Code::ParticipantMissing), Some(Severity::Warning));
        world.create_named(&latch("/e", 2), 7, "worker-2");
        assert!(world.pass(1).1.contains(&Code::ParticipantMissing));
        assert_eq!(came_back("10.0.0.9:5000", 100).found(Code::ParticipantMissing), None, "another host");
    }

    #[test]
    fn a_word_that_candidates_of_several_hosts_bear_is_the_name_of_none() {
        let mut world = DiagnosisFixture::new();
        let nodes: Vec<_> =
            (1..=3).map(|number| world.create_named(&latch("/e", number), number.into(), "candidate")).collect();
        world.pass(30);
        world.let_expire(3, &[&nodes[2]]);
        let made = world.now;
        let newer = world.client(7);
        (newer.address, newer.established) = ("10.0.0.3:5000".to_owned(), made);
        world.pass(63);
        assert_eq!(world.severity(Code::ParticipantMissing), Some(Severity::Warning), "the others do not stand for it");
    }

    /// Returns an election whose second candidate queued with session 7 before its old session 2
    /// expired. Another process of its host connects, as any successor would.
    fn queued_before_it_went() -> DiagnosisFixture {
        let (mut world, nodes) = election();
        world.client(7).address = "10.0.0.2:5001".to_owned();
        world.create_named(&latch("/e", 3), 7, "worker-2");
        world.let_expire(2, &[&nodes[1]]);
        let made = world.now;
        let other = world.client(8);
        (other.address, other.established) = ("10.0.0.2:5002".to_owned(), made);
        world
    }

    #[test]
    fn a_candidate_that_queued_again_before_its_old_node_went_is_not_missing() {
        let mut world = queued_before_it_went();
        world.pass(100);
        assert_eq!(world.found(Code::ParticipantMissing), None);
    }

    #[test]
    fn a_candidate_that_queued_again_and_then_gave_up_is_not_missing() {
        let mut world = queued_before_it_went();
        world.client(7).cxid += 1;
        let node = world.lock("/e").rows(0..9).last().map(|row| row.contender.node.clone()).expect("a candidate");
        world.delete(&crate::diagnose::testing::path("/e").child(&node));
        world.pass(100);
        assert_eq!(world.found(Code::ParticipantMissing), None);
    }

    #[test]
    fn another_lockscope_on_the_host_is_not_the_candidate_that_is_missing() {
        let mut world = came_back("10.0.0.2:5000", 0);
        world.client(7).timeout_ms = 30_739;
        world.pass(100);
        assert_eq!(world.found(Code::ParticipantMissing), None);
    }

    #[test]
    fn a_candidate_that_gave_up_by_itself_is_not_missing() {
        let (mut world, nodes) = election();
        world.client(2).cxid += 1;
        world.delete(&nodes[1]);
        world.pass(100);
        assert_eq!(world.found(Code::ParticipantMissing), None);
    }

    #[test]
    fn fewer_candidates_than_expected_are_reported_with_the_last_that_went() {
        let mut world = too_few();
        let found = world.found(Code::ParticipantMissing).expect("the finding stands");
        assert!(
            found.summary.starts_with("1 of 3 expected candidates is here; last went worker-2"),
            "{}",
            found.summary
        );
        for session in 3..=4 {
            world.create(&latch("/e", 3), session);
        }
        assert_eq!(world.pass(1).1, [Code::ParticipantMissing]);
    }
}

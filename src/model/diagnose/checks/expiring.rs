//! A holder whose client is gone. The lock becomes free when the session expires.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{ContenderRow, is_registry};
use crate::server_view::Liveness;
use crate::text::human;

const REMEDY: &str = "wait: the servers delete the node when the session expires, unless its client comes back before";

/// A client that moves between servers looks the same until all servers were asked again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ExpiringHolder;

impl Check for ExpiringHolder {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(gathered) = context.table_at.view().connections_as_of() else { return };
        for row in context.lock.rows(0..context.lock.holding().min(MAX_SUSPICIONS)) {
            let Some(session) = row.contender.session() else { continue };
            let liveness = context.table_at.view().liveness(session);
            if matches!(liveness, Liveness::Disconnected { .. }) {
                let finding = describe(context, &row, liveness.expires_in(context.now()));
                found.push(Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0));
            }
        }
    }
}

fn describe(context: &LockContext<'_>, row: &ContenderRow<'_>, left: Option<Duration>) -> Finding {
    let severity = if context.waiting() > 0 && !is_registry(context.lock) { Severity::Warning } else { Severity::Info };
    let when = left.map_or_else(String::new, |left| format!(" and expires in {}", human::countdown(left)));
    let who = context.table_at.who(row.contender);
    let summary = format!("{who} holds, but has no connection to any server{when}");
    of_contender(Code::ExpiringHolder, severity, context, row.contender).because(summary, REMEDY)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};
    use lockscope_base::znode::Timestamp;

    pub fn examples() -> Vec<Example> {
        [None, Some(20_000)].map(|millis| (Code::ExpiringHolder, expiring(millis))).into()
    }

    fn expiring(millis: Option<i64>) -> DiagnosisFixture {
        let mut world = queue(&[1, 2]);
        world.pass(2);
        let expires = millis.map(|millis| Timestamp(world.now.0 + millis));
        let client = world.client(1);
        (client.connected, client.expires_at) = (false, expires);
        world.pass(2);
        world
    }

    #[test]
    fn a_holder_without_a_connection_is_reported_with_a_countdown_until_it_comes_back() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(5);
        let expires = Timestamp(world.now.0 + 20_000);
        let client = world.client(1);
        (client.connected, client.expires_at) = (false, Some(expires));
        assert_eq!(world.pass(2).0, [Code::ExpiringHolder]);
        let finding = world.found(Code::ExpiringHolder).expect("the finding stands");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.summary.ends_with("expires in 18s"), "{}", finding.summary);
        world.client(1).connected = true;
        assert_eq!(world.pass(1).1, [Code::ExpiringHolder]);
    }

    #[test]
    fn a_client_that_is_on_no_server_for_one_round_is_not_reported() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        for _ in 0..5 {
            world.client(1).connected = false;
            assert_eq!(world.pass(1).0, []);
            world.client(1).connected = true;
            assert_eq!(world.pass(1).0, []);
        }
    }

    #[test]
    fn without_waiters_the_finding_is_only_information() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.client(1).connected = false;
        world.pass(3);
        assert_eq!(world.severity(Code::ExpiringHolder), Some(Severity::Info));
    }
}

//! A holder whose client is connected but missed its heartbeats.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{ContenderRow, is_registry};
use crate::server_view::Silence;
use crate::text::human;

const REMEDY: &str = "look at that process and its network: it may be paused or cut off; if it stays silent, the servers delete the node when the session expires";

/// Reported from half of the session timeout on, while the connection exists. Without a connection
/// the holder is [expiring](super::expiring). A pause that ends before the next view is not
/// reported.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SilentHolder;

impl Check for SilentHolder {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let view = context.table_at.view();
        for row in context.lock.rows(0..context.lock.holding().min(MAX_SUSPICIONS)) {
            if let Some(silence) = row.contender.session().and_then(|session| view.silence_of(session)) {
                let finding = describe(context, &row, silence);
                let suspicion = Suspicion::new(finding, silence.as_of, Duration::ZERO);
                found.push(suspicion.of_state(row.contender.czxid.0));
            }
        }
    }
}

fn describe(context: &LockContext<'_>, row: &ContenderRow<'_>, silence: Silence) -> Finding {
    let severity = if context.waiting() > 0 && !is_registry(context.lock) { Severity::Warning } else { Severity::Info };
    let summary = format!(
        "{} holds, and its client has sent no heartbeat for {}: unless it is heard, its session expires in {}",
        context.table_at.who(row.contender),
        human::duration(silence.lasted(context.now())),
        human::countdown(silence.left(context.now()))
    );
    of_contender(Code::SilentHolder, severity, context, row.contender).because(summary, REMEDY)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::OwnerState;
    use crate::diagnose::testing::{DiagnosisFixture, Example, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::SilentHolder, silent(17))]
    }

    /// Returns a lock whose holder, with a session timeout of 30 s, was last heard `seconds` ago.
    fn silent(seconds: u32) -> DiagnosisFixture {
        let mut world = queue(&[1, 2]);
        world.pass(2);
        world.client(1).heard = Some(world.now);
        world.pass(seconds);
        world
    }

    fn owner(world: &DiagnosisFixture) -> OwnerState {
        let holder = world.lock("/l").first_holder().expect("the lock has a holder");
        crate::diagnose::TableAt::new(&world.table, world.now).owner_of(holder).0
    }

    #[test]
    fn a_holder_that_missed_its_heartbeats_is_reported_until_it_is_heard() {
        let mut world = silent(14);
        assert_eq!((owner(&world), world.found(Code::SilentHolder)), (OwnerState::Live, None));
        assert_eq!(world.pass(3).0, [Code::SilentHolder]);
        assert_eq!(owner(&world), OwnerState::Silent);
        let finding = world.found(Code::SilentHolder).expect("the finding stands");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.summary.contains("no heartbeat for 17s"), "{}", finding.summary);
        assert!(finding.summary.ends_with("expires in 13s"), "{}", finding.summary);
        world.client(1).heard = None;
        assert_eq!(world.pass(1).1, [Code::SilentHolder]);
        assert_eq!(owner(&world), OwnerState::Live);
    }

    #[test]
    fn a_heartbeat_in_each_third_of_the_timeout_is_enough() {
        let mut world = queue(&[1, 2]);
        for _ in 0..10 {
            world.client(1).heard = Some(world.now);
            assert!(!world.pass(11).0.contains(&Code::SilentHolder));
            assert_eq!(owner(&world), OwnerState::Live);
        }
    }

    #[test]
    fn a_client_without_a_connection_is_expiring_and_not_silent() {
        let mut world = silent(17);
        world.client(1).connected = false;
        world.pass(2);
        assert_eq!(world.codes(Severity::Info), [Code::ExpiringHolder]);
        assert_eq!(owner(&world), OwnerState::Expiring);
    }
}

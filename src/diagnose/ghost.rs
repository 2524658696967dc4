//! A node whose session no longer exists.

use super::checks::{Check, Look};
use super::suspicion::{Suspicion, finding};
use super::{Code, Finding, Life, Severity};
use crate::queue::{LockQueue, Row, State};
use crate::znode::escaped;

pub(super) struct Ghost;

impl Check for Ghost {
    fn check(look: Look<'_>, lock: &LockQueue, found: &mut Vec<Suspicion>) {
        let Some(gathered) = look.sight.view().sessions_as_of() else { return };
        for row in lock.rows(0..lock.len()) {
            if look.sight.life(row.contender).0 == Life::Ghost {
                found.push(
                    Suspicion::new(describe(lock, &row), gathered, look.thresholds.ghost_after)
                        .of_state(row.contender.czxid.0),
                );
            }
        }
    }
}

fn describe(lock: &LockQueue, row: &Row<'_>) -> Finding {
    let blocks = row.state == State::Holds && lock.waiting() > 0;
    let severity = if blocks { Severity::Critical } else { Severity::Warning };
    let session = row.contender.session.map(|session| session.to_string()).unwrap_or_default();
    let summary = format!("{} belongs to session {session}, which no server knows", escaped(&row.contender.node));
    finding(Code::Ghost, severity, lock, Some(&row.contender.node))
        .because(summary, "compare the node on each server, then delete it, guarded by its czxid")
}

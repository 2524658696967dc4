//! A contender as part of a plan.

use std::collections::HashSet;

use super::next::outlook;
use super::{Confirmation, NoPlan, OwnerLiveness, PlannedNode, TargetKind, sentences};
use lockscope_base::recipe::{Recipe, Role};
use lockscope_model::diagnose::{self, TableAt, Unaware};
use lockscope_model::queue::{Contender, ContenderRow, ContenderState, LockId, LockQueue};
use lockscope_model::server_view::Liveness;

pub(super) fn planned<'a>(
    table_at: &TableAt<'a>,
    id: LockId,
    position: usize,
    to_delete: &HashSet<(LockId, usize)>,
    unaware: impl Fn(&LockQueue, &ContenderRow<'a>) -> Option<Unaware>,
) -> Result<PlannedNode, NoPlan> {
    let lock = table_at.table().lock(id).ok_or(NoPlan::Nothing)?;
    let row = lock.row(position).ok_or(NoPlan::Nothing)?;
    let contender = row.contender;
    if !contender.is_read() {
        return Err(NoPlan::Unread(lock.path_of(contender)));
    }
    let liveness = owner_liveness(table_at, contender);
    let unaware = unaware(lock, &row);
    let outlook = outlook(lock, to_delete);
    let connection = contender.session().and_then(|session| table_at.view().connection_of(session));
    Ok(PlannedNode {
        path: lock.path_of(contender),
        kind: TargetKind::Contender,
        lock: lock.path().clone(),
        lock_name: lock.name().map(str::to_owned),
        recipe: Some(lock.recipe()),
        sequence: contender.sequence,
        session: contender.session(),
        czxid: contender.czxid,
        version: contender.version,
        state: Some(row.state),
        liveness,
        unaware,
        client: connection.map(|(_, connection)| connection.client.clone()),
        evidence: sentences::evidence(table_at, lock, &row, liveness),
        then: sentences::then(table_at, lock, &row, &outlook),
        acquires_next: outlook.acquires,
        risks: sentences::risks(lock, &row, liveness, unaware),
        confirmation: confirmation(&row, liveness),
        guard: None,
        lacks: None,
        revocable: is_revocable(lock, &row, liveness) && !unaware.is_some_and(Unaware::ignores_requests),
        position,
        emptiness: None,
    })
}

/// Returns the owner's state as [`TableAt::owner_of`] does. If that is unknown, checks for evidence
/// that the owner is gone.
fn owner_liveness(table_at: &TableAt<'_>, contender: &Contender) -> OwnerLiveness {
    match table_at.owner_of(contender) {
        (diagnose::OwnerState::Ghost, _) => OwnerLiveness::Ghost,
        (diagnose::OwnerState::Ownerless, _) => OwnerLiveness::Ownerless,
        (diagnose::OwnerState::Expiring, within) => OwnerLiveness::Expiring { within },
        (diagnose::OwnerState::Live | diagnose::OwnerState::Silent, _) => OwnerLiveness::Live,
        (diagnose::OwnerState::Unknown, _) => {
            let liveness = contender.session().map(|session| table_at.view().liveness(session));
            match liveness {
                Some(Liveness::NoSession { .. } | Liveness::Exists { .. } | Liveness::Unproven) => {
                    OwnerLiveness::Suspect
                }
                _ => OwnerLiveness::Unknown,
            }
        }
    }
}

/// Returns the answer that a contender requires. A yes is not enough if the owner may be at work
/// and may hold the lock, or if the node was deleted before and perhaps only one member still shows
/// it.
fn confirmation(row: &ContenderRow<'_>, liveness: OwnerLiveness) -> Confirmation {
    let returned = row.contender.returned;
    if !returned && (!liveness.may_work() || row.state == ContenderState::Waits) {
        return Confirmation::Yes;
    }
    let contender = row.contender;
    Confirmation::SequenceNumber(match contender.sequence {
        Some(sequence) => sequence.0.to_string(),
        None => contender.node.to_string(),
    })
}

/// Returns whether Curator's request to release can reach the owner: only a holder of its mutexes
/// looks at its own data.
fn is_revocable(lock: &LockQueue, row: &ContenderRow<'_>, liveness: OwnerLiveness) -> bool {
    matches!(lock.recipe(), Recipe::CuratorMutex | Recipe::CuratorReadWrite)
        && row.contender.role == Role::Queue
        && row.state != ContenderState::Waits
        && liveness.may_work()
}

//! What a lock has besides when it is an election, as JSON.

use super::rfc3339;
use crate::diagnose::TableAt;
use crate::queue::{ElectionKind, LockQueue};

/// The further fields of an election.
#[derive(serde::Serialize)]
pub(super) struct ElectionFacts {
    /// Whether the recipe or the user says that this is an election (`certain`), or only the path
    /// or the nodes' data (`likely`).
    election: &'static str,
    /// Since when the leader leads, by the servers' clock; absent if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader_since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes_of_leader: Option<Changes>,
}

/// How often the leadership changed. A number is absent if the election was not watched for that
/// long.
#[derive(serde::Serialize)]
struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_hour: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_day: Option<u32>,
}

impl ElectionFacts {
    pub fn of(table_at: TableAt<'_>, lock: &LockQueue) -> Option<Self> {
        let (table, now) = (table_at.table(), table_at.now());
        let election = match table.election_kind(lock, now)? {
            ElectionKind::Certain => "certain",
            ElectionKind::Likely => "likely",
            ElectionKind::Unknown => return None,
        };
        let held = lock.first_holder().and_then(|holder| table.hold_bounds(holder, now));
        let since = held.filter(|held| table.is_live() && held.is_exact());
        let leader_since = since.map(|held| table.server_time(now).minus(held.at_least)).and_then(rfc3339);
        let changes = table.changes_of_leader(lock, now);
        let changes = Changes { last_hour: changes.last_hour, last_day: changes.last_day };
        let is_known = table.is_live() && changes.last_hour.is_some();
        Some(Self { election, leader_since, changes_of_leader: is_known.then_some(changes) })
    }
}

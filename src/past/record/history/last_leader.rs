//! The last holder of a lock, which for an election is its last leader.

use rusqlite::Connection;

use super::{PastContender, rows};
use crate::record::tables::ContenderEnd;
use crate::record::{Past, StoreError};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::{ClientIdentity, Departure, DepartureEnd, LedBefore};

/// The holder whose hold ended last, or lasts, in each queue of a path. It is found in the index.
const LAST: &str = "SELECT (SELECT id FROM contender WHERE lock_id = lock.id AND acquired_after IS NOT NULL
        ORDER BY ifnull(ended_before, 9223372036854775807) DESC LIMIT 1)
    FROM lock WHERE path = ?1 LIMIT 100";

/// Whether anything was not seen after a time.
const GAP_AFTER: &str = "SELECT EXISTS (SELECT 1 FROM gap WHERE ifnull(ended_at, 9223372036854775807) > ?1)";

impl Past {
    /// Returns who led these elections last, as far as is recorded. Costs a look into an index for
    /// each. Blocks the thread during disk access.
    ///
    /// # Errors
    ///
    /// Returns an error if the recording cannot be read.
    pub fn last_leaders(&mut self, elections: &[ZnodePath]) -> Result<Vec<LedBefore>, StoreError> {
        self.store.sql(|connection| {
            let (_, until) = rows::recorded(connection)?;
            let mut found = Vec::new();
            for election in elections {
                found.extend(last_leader(connection, election, until)?);
            }
            Ok(found)
        })
    }
}

fn last_leader(
    connection: &Connection,
    election: &ZnodePath,
    until: Option<Timestamp>,
) -> rusqlite::Result<Option<LedBefore>> {
    let ids: Vec<Option<i64>> = connection
        .prepare_cached(LAST)?
        .query_map([election.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let ids: Vec<i64> = ids.into_iter().flatten().collect();
    let holders = rows::contenders(connection, &ids, until)?.into_iter();
    let last = holders.max_by_key(|holder| holder.ended.map_or(Timestamp(i64::MAX), |ended| ended.before));
    let Some(leader) = last else { return Ok(None) };
    let (tenure, is_end_seen) = (tenure(&leader), leader.ended.is_some_and(|ended| ended.exactly().is_some()));
    let has_gap = connection.query_row(GAP_AFTER, [tenure.at.0], |row| row.get(0))?;
    Ok(Some(LedBefore { election: election.clone(), tenure, is_end_seen, has_gap }))
}

fn tenure(leader: &PastContender) -> Departure {
    let at = leader.ended.map_or(leader.known_until, |ended| ended.after);
    let client = ClientIdentity {
        name: leader.client_name.as_deref().map(Into::into),
        address: leader.client.as_deref().map(Into::into),
        last_listed: Some(at),
        session: leader.session,
        unread: false,
    };
    let led_since = leader.acquired.map(|acquired| acquired.before).filter(|since| *since <= at);
    let (session, node) = (leader.session, leader.node.as_str().into());
    Departure { client, session, node, at, end: end(leader.end), led_since, last_request: None }
}

fn end(end: ContenderEnd) -> DepartureEnd {
    match end {
        ContenderEnd::Gone => DepartureEnd::Gone,
        ContenderEnd::Released | ContenderEnd::Left => DepartureEnd::Released,
        ContenderEnd::Expired => DepartureEnd::Expired,
        ContenderEnd::Deleted => DepartureEnd::Deleted,
        ContenderEnd::Closed => DepartureEnd::Closed,
        ContenderEnd::Open | ContenderEnd::Unknown => DepartureEnd::Unknown,
    }
}

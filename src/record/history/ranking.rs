//! Locks and clients by what they cost.

use std::cmp::Reverse;

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;

use super::scan::{Found, Sums};

/// So many locks and so many clients are named.
const MAX_RANKED: usize = 20;

/// By what is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// How long was waited, all waits together.
    Wait,
    /// How long was held, all holds together.
    Hold,
    /// How often it was acquired.
    Handovers,
}

impl RankBy {
    fn value(self, sums: &Sums) -> u64 {
        match self {
            Self::Wait => sums.waited_ms,
            Self::Hold => sums.held_ms,
            Self::Handovers => sums.handovers,
        }
    }
}

/// Locks and clients, the highest rank first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// By what.
    pub by: RankBy,
    /// The first locks.
    pub locks: Vec<RankedLock>,
    /// How many locks there are.
    pub lock_count: usize,
    /// The first clients.
    pub clients: Vec<RankedClient>,
    /// How many clients there are.
    pub client_count: usize,
}

/// What the contenders of a lock come to within the time that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedLock {
    /// Its path.
    pub lock: String,
    /// Which queue, where the parent holds several.
    pub name: Option<String>,
    /// How often it was acquired.
    pub handovers: u64,
    /// For how long it was held at least, all holds together.
    pub held_ms: u64,
    /// For how long was waited for it at least, all waits together.
    pub waited_ms: u64,
    /// The longest hold.
    pub longest_hold_ms: u64,
    /// The longest wait.
    pub longest_wait_ms: u64,
}

/// The same of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedClient {
    /// Its address.
    pub client: Option<String>,
    /// What its nodes call it.
    pub client_name: Option<String>,
    /// How often it acquired.
    pub handovers: u64,
    /// For how long it held at least, all holds together.
    pub held_ms: u64,
    /// For how long it waited at least, all waits together.
    pub waited_ms: u64,
    /// Its longest hold.
    pub longest_hold_ms: u64,
    /// Its longest wait.
    pub longest_wait_ms: u64,
}

/// Names the first of each.
pub(super) fn rank(connection: &Connection, found: &Found, by: RankBy) -> rusqlite::Result<Ranking> {
    let mut locks = Vec::new();
    for (id, sums) in first(&found.locks, by) {
        let Sums { handovers, held_ms, waited_ms, longest_hold_ms, longest_wait_ms } = sums;
        let named = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let named = connection.query_row("SELECT path, name FROM lock WHERE id = ?1", [id], named).optional()?;
        let Some((lock, name)) = named else { continue };
        locks.push(RankedLock { lock, name, handovers, held_ms, waited_ms, longest_hold_ms, longest_wait_ms });
    }
    let mut clients = Vec::new();
    for (id, sums) in first(&found.clients, by) {
        let Sums { handovers, held_ms, waited_ms, longest_hold_ms, longest_wait_ms } = sums;
        let named = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let named = connection.query_row("SELECT address, name FROM client WHERE id = ?1", [id], named).optional()?;
        let Some((client, client_name)) = named else { continue };
        clients.push(RankedClient {
            client,
            client_name,
            handovers,
            held_ms,
            waited_ms,
            longest_hold_ms,
            longest_wait_ms,
        });
    }
    Ok(Ranking { by, locks, lock_count: found.locks.len(), clients, client_count: found.clients.len() })
}

fn first(sums: &FxHashMap<i64, Sums>, by: RankBy) -> Vec<(i64, Sums)> {
    let mut ranked: Vec<(i64, Sums)> = sums.iter().map(|(id, sums)| (*id, *sums)).collect();
    ranked.sort_unstable_by_key(|(id, sums)| (Reverse(by.value(sums)), *id));
    ranked.truncate(MAX_RANKED);
    ranked
}

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
    /// Its address; the newest, where it had several.
    pub client: Option<String>,
    /// What its nodes call it.
    pub client_name: Option<String>,
    /// How many addresses it had: it had another port each time that it connected anew.
    pub addresses: usize,
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
    for (id, sums) in first(by_id(&found.locks), by, |(_, sums)| *sums) {
        let Sums { handovers, held_ms, waited_ms, longest_hold_ms, longest_wait_ms } = sums;
        let named = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let named = connection.query_row("SELECT path, name FROM lock WHERE id = ?1", [id], named).optional()?;
        let Some((lock, name)) = named else { continue };
        locks.push(RankedLock { lock, name, handovers, held_ms, waited_ms, longest_hold_ms, longest_wait_ms });
    }
    let all = known_clients(connection, found)?;
    let client_count = all.len();
    let clients = first(all, by, |client| client.sums);
    let clients = clients.into_iter().map(RankedClient::from).collect();
    Ok(Ranking { by, locks, lock_count: found.locks.len(), clients, client_count })
}

/// A client, by all the addresses that it had.
#[derive(Debug)]
struct KnownClient {
    address: Option<String>,
    name: Option<String>,
    addresses: usize,
    sums: Sums,
}

impl From<KnownClient> for RankedClient {
    fn from(KnownClient { address, name, addresses, sums, .. }: KnownClient) -> Self {
        let Sums { handovers, held_ms, waited_ms, longest_hold_ms, longest_wait_ms } = sums;
        Self {
            client: address,
            client_name: name,
            addresses,
            handovers,
            held_ms,
            waited_ms,
            longest_hold_ms,
            longest_wait_ms,
        }
    }
}

/// The clients that were found. One that connects anew has another session and another port:
/// clients of one host with one name are one client. Clients without a name stay apart.
fn known_clients(connection: &Connection, found: &Found) -> rusqlite::Result<Vec<KnownClient>> {
    let mut statement = connection.prepare("SELECT address, name FROM client WHERE id = ?1")?;
    let mut ids: Vec<i64> = found.clients.keys().copied().collect();
    ids.sort_unstable();
    let mut clients: Vec<KnownClient> = Vec::new();
    let mut places: FxHashMap<(String, String), usize> = FxHashMap::default();
    for id in ids {
        let named = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?));
        let Some((address, name)) = statement.query_row([id], named).optional()? else { continue };
        let sums = found.clients.get(&id).copied().unwrap_or_default();
        let key = address.as_deref().map(host).map(str::to_owned).zip(name.clone());
        if let Some(known) = key.as_ref().and_then(|key| places.get(key)).and_then(|place| clients.get_mut(*place)) {
            known.sums.append(sums);
            (known.address, known.addresses) = (address, known.addresses + 1);
            continue;
        }
        places.extend(key.map(|key| (key, clients.len())));
        clients.push(KnownClient { addresses: usize::from(address.is_some()), address, name, sums });
    }
    Ok(clients)
}

/// An address without its port.
pub(super) fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// In the order of the rows.
fn by_id(sums: &FxHashMap<i64, Sums>) -> Vec<(i64, Sums)> {
    let mut all: Vec<(i64, Sums)> = sums.iter().map(|(id, sums)| (*id, *sums)).collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    all
}

/// The highest ranks.
fn first<T>(mut all: Vec<T>, by: RankBy, sums: impl Fn(&T) -> Sums) -> Vec<T> {
    // The sort is stable: among equals the order stays.
    all.sort_by_key(|one| Reverse(by.value(&sums(one))));
    all.truncate(MAX_RANKED);
    all
}

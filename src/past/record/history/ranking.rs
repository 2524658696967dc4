//! Ranks locks and clients by their costs.

use std::cmp::Reverse;

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;

use super::scan::{Found, Sums};

/// The most locks, and the most clients, in a ranking.
const MAX_RANKED: usize = 20;

/// The order of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// By the sum of all waits.
    Wait,
    /// By the sum of all holds.
    Hold,
    /// By the number of acquisitions.
    Handovers,
    /// By the number of requests in vain.
    InVain,
}

impl RankBy {
    fn value(self, sums: &Sums) -> u64 {
        match self {
            Self::Wait => sums.waited_ms,
            Self::Hold => sums.held_ms,
            Self::Handovers => sums.handovers,
            Self::InVain => sums.in_vain,
        }
    }
}

/// A ranking of locks and clients, highest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The order of the ranking.
    pub by: RankBy,
    /// The highest-ranked locks.
    pub locks: Vec<RankedLock>,
    /// The number of all locks.
    pub lock_count: usize,
    /// The highest-ranked clients.
    pub clients: Vec<RankedClient>,
    /// The number of all clients.
    pub client_count: usize,
}

/// The sums of a lock's contenders within the requested time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedLock {
    /// The path of the lock.
    pub lock: String,
    /// The name of the queue, if the parent has several.
    pub name: Option<String>,
    /// The number of acquisitions.
    pub handovers: u64,
    /// The number of requests in vain: refused, or left without a hold.
    pub in_vain: u64,
    /// The least sum of all holds, in milliseconds.
    pub held_ms: u64,
    /// The least sum of all waits, in milliseconds.
    pub waited_ms: u64,
    /// The longest hold, in milliseconds.
    pub longest_hold_ms: u64,
    /// The longest wait, in milliseconds.
    pub longest_wait_ms: u64,
}

/// The sums of a client's contenders within the requested time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedClient {
    /// The address of the client; the latest, if there were several.
    pub client: Option<String>,
    /// The name of the client in its nodes.
    pub client_name: Option<String>,
    /// The number of addresses: the client has another port after each reconnect.
    pub addresses: usize,
    /// The number of acquisitions.
    pub handovers: u64,
    /// The number of requests in vain: refused, or left without a hold.
    pub in_vain: u64,
    /// The least sum of all holds, in milliseconds.
    pub held_ms: u64,
    /// The least sum of all waits, in milliseconds.
    pub waited_ms: u64,
    /// The longest hold, in milliseconds.
    pub longest_hold_ms: u64,
    /// The longest wait, in milliseconds.
    pub longest_wait_ms: u64,
}

/// Returns the highest-ranked locks and clients, with their names.
pub(super) fn rank(connection: &Connection, found: &Found, by: RankBy) -> rusqlite::Result<Ranking> {
    let mut locks = Vec::new();
    for (id, sums) in first(by_id(&found.locks), by, |(_, sums)| *sums) {
        let Sums { handovers, in_vain, held_ms, waited_ms, longest_hold_ms, longest_wait_ms } = sums;
        let named = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let named = connection.query_row("SELECT path, name FROM lock WHERE id = ?1", [id], named).optional()?;
        let Some((lock, name)) = named else { continue };
        locks.push(RankedLock { lock, name, handovers, in_vain, held_ms, waited_ms, longest_hold_ms, longest_wait_ms });
    }
    let all = known_clients(connection, found)?;
    let client_count = all.len();
    let clients = first(all, by, |client| client.sums);
    let clients = clients.into_iter().map(RankedClient::from).collect();
    Ok(Ranking { by, locks, lock_count: found.locks.len(), clients, client_count })
}

/// A client with all its addresses.
#[derive(Debug)]
struct KnownClient {
    address: Option<String>,
    name: Option<String>,
    addresses: usize,
    sums: Sums,
}

impl From<KnownClient> for RankedClient {
    fn from(KnownClient { address, name, addresses, sums, .. }: KnownClient) -> Self {
        let Sums { handovers, in_vain, held_ms, waited_ms, longest_hold_ms, longest_wait_ms } = sums;
        Self {
            client: address,
            client_name: name,
            addresses,
            handovers,
            in_vain,
            held_ms,
            waited_ms,
            longest_hold_ms,
            longest_wait_ms,
        }
    }
}

/// Returns the clients that were found. A client that reconnects has another session and another
/// port, so clients with the same host and name are one client. Clients without a name stay
/// separate.
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

/// Returns an address without its port.
pub(super) fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// Returns the sums in the order of the rows.
fn by_id(sums: &FxHashMap<i64, Sums>) -> Vec<(i64, Sums)> {
    let mut all: Vec<(i64, Sums)> = sums.iter().map(|(id, sums)| (*id, *sums)).collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    all
}

/// Returns the highest ranks.
fn first<T>(mut all: Vec<T>, by: RankBy, sums: impl Fn(&T) -> Sums) -> Vec<T> {
    // The sort is stable, so equal ranks keep their order.
    all.sort_by_key(|one| Reverse(by.value(&sums(one))));
    all.truncate(MAX_RANKED);
    all
}

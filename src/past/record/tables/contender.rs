//! The record of one contender: its identity, the bounds of when it came, acquired and ended, and
//! how it ended.
//!
//! A record is filled from the table of locks at the moment of an event, and read back from its row
//! in a file.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use lockscope_base::recipe::{LockKind, Recipe, RequestMode};
use lockscope_base::znode::{SessionId, TimeBounds, Timestamp, ZnodePath, Zxid};
use lockscope_model::queue::{
    CLOSED, ClientIdentity, ContenderId, ContenderRow, DELETED, GONE, Happening, LockId, LockTable,
};

/// The most bytes of a node's data in the tables: enough for a host name or an id. The segments
/// have all data that were read.
const MAX_DATA: usize = 1024;

/// How a contender's stay in its lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContenderEnd {
    /// The contender is still there.
    Open,
    /// The node vanished while its session lived: its client released it or gave up, or another
    /// client deleted it.
    Gone,
    /// The client is proven to have released it.
    Released,
    /// The client is proven to have given up before its turn.
    Left,
    /// The session had expired.
    Expired,
    /// Another session deleted the node, according to the transaction logs; or it was deleted by
    /// hand, according to the audit log.
    Deleted,
    /// The client closed its session, according to the transaction logs.
    Closed,
    /// The end was not seen; or, if its bounds are equal, it was seen, but whether the session had
    /// expired is unknown.
    Unknown,
}

impl ContenderEnd {
    /// All variants.
    pub const ALL: [Self; 8] =
        [Self::Open, Self::Gone, Self::Released, Self::Left, Self::Expired, Self::Deleted, Self::Closed, Self::Unknown];

    /// Returns the name in JSON and in the tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Gone => GONE,
            Self::Released => "released",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::Deleted => DELETED,
            Self::Closed => CLOSED,
            Self::Unknown => "unknown",
        }
    }

    /// Returns the ending without proof of who deleted the node. Used for recordings before
    /// [version 2](super::TABLES_VERSION), which call each end released or left.
    #[must_use]
    pub fn unproven(self) -> Self {
        match self {
            Self::Released | Self::Left => Self::Gone,
            end => end,
        }
    }

    /// Returns the end that a transaction log proves.
    pub(super) fn proven_by(happening: &Happening) -> Option<Self> {
        happening.deleter.and_then(|_| happening.end()).map(Self::from_id)
    }

    /// Returns the variant with this name; names of newer versions are read as unknown.
    pub fn from_id(id: &str) -> Self {
        Self::ALL.into_iter().find(|end| end.id() == id).unwrap_or(Self::Unknown)
    }
}

/// The identity of a lock, independent of the lock table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RecordedLock {
    pub path: ZnodePath,
    /// The name of the queue, if its parent has several.
    pub name: Option<Arc<str>>,
    pub recipe: &'static str,
    pub kind: &'static str,
}

/// The identity of a client, as the tables store it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RecordedClient {
    pub address: Option<Arc<str>>,
    pub name: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContenderRecord {
    /// The id of the row; it rises in the order in which contenders were first seen.
    pub id: i64,
    pub lock: Arc<RecordedLock>,
    pub client: RecordedClient,
    pub session: Option<SessionId>,
    pub first_seen_at: Timestamp,
    pub enqueued_at: Option<Timestamp>,
    pub acquired: Option<TimeBounds>,
    pub ended: Option<TimeBounds>,
    pub end: ContenderEnd,
    /// The session that deleted the node, if a transaction log shows it.
    pub deleted_by: Option<SessionId>,
    /// Where the record comes from.
    pub source: RowSource,
    pub mode: RequestMode,
    pub node: Arc<str>,
    /// The creating transaction; `None` while the node is not read.
    pub czxid: Option<Zxid>,
    pub data: Option<Box<[u8]>>,
    /// Whether the record is queued for the next flush.
    pub is_listed: bool,
    /// The number of the last look at the whole table that found it.
    pub look: u32,
}

impl ContenderRecord {
    /// Returns the beginning of a node's data; `None` if empty.
    pub fn keep(data: &[u8]) -> Option<Box<[u8]>> {
        let mut end = data.len().min(MAX_DATA);
        if let Ok(text) = std::str::from_utf8(data) {
            // Only whole characters are kept.
            while !text.is_char_boundary(end) {
                end -= 1;
            }
        }
        (end > 0).then(|| data[..end].into())
    }

    /// Returns the time before which the next step cannot have happened.
    fn last_known(&self) -> Option<Timestamp> {
        self.acquired.map(|acquired| acquired.after).or(self.enqueued_at)
    }

    /// Records that it became a holder within these bounds.
    pub fn acquires(&mut self, between: TimeBounds) {
        let after = self.enqueued_at.map_or(between.after, |came| between.after.max(came.min(between.before)));
        self.acquired.get_or_insert(TimeBounds { after, ..between });
    }

    /// Records that it ended within these bounds.
    pub fn ends(&mut self, end: ContenderEnd, between: TimeBounds) {
        let earliest = self.last_known().map_or(between.after, |known| between.after.max(known.min(between.before)));
        self.ended = Some(TimeBounds { after: earliest, ..between });
        self.end = end;
    }
}

/// Where the facts of a row come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowSource {
    /// A recorder that watched the ensemble.
    #[default]
    Watched,
    /// The transaction logs of a server.
    Log,
    /// Both: the row was begun by one and continued by the other.
    Both,
}

impl RowSource {
    /// Returns the name in JSON and in the tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Watched => "watched",
            Self::Log => "log",
            Self::Both => "both",
        }
    }

    /// Returns the source with this name; rows of earlier versions have none, and are watched.
    pub fn from_id(id: Option<&str>) -> Self {
        match id {
            Some("log") => Self::Log,
            Some("both") => Self::Both,
            _ => Self::Watched,
        }
    }

    /// Returns the source of a row that this one continues.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        if self == next { self } else { Self::Both }
    }
}

/// The time of an event, and the time not seen before it.
#[derive(Clone, Copy, Debug)]
pub struct EventTime {
    pub at: Timestamp,
    /// The time up to which everything had been seen; `None` while everything is seen.
    pub unseen_since: Option<Timestamp>,
}

impl EventTime {
    /// Returns the bounds of an event: now, or since the last time that everything was seen.
    pub fn bounds(self) -> TimeBounds {
        self.unseen_since.map_or(TimeBounds::exact(self.at), |since| TimeBounds::between(since, self.at))
    }
}

/// Returns the row of a contender.
pub fn find<'a>(table: &'a LockTable, lock: LockId, id: &ContenderId, node: Option<&str>) -> Option<ContenderRow<'a>> {
    let lock = table.lock(lock)?;
    let node = node.unwrap_or(&id.node);
    let places = match lock.kind() {
        LockKind::SingleNode => vec![lock.path().clone()],
        LockKind::Semaphore => {
            vec![lock.queue_path().child(node), lock.path().child("leases").child(node), lock.path().child(node)]
        }
        _ => vec![lock.path().child(node)],
    };
    let rows = places.iter().filter_map(|path| table.position(path)).filter(|(found, _)| *found == lock.id());
    rows.filter_map(|(_, position)| lock.row(position)).find(|row| row.contender.id() == *id)
}

/// Returns the bounds of the acquisition of a holder that already held when everything was read. It
/// acquired within the gap only if it was seen before: otherwise it may have held before, too.
pub fn held_since(
    row: ContenderRow<'_>,
    table: &LockTable,
    moment: EventTime,
    first_seen_at: Timestamp,
) -> Option<TimeBounds> {
    let held = table.clock().hold_bounds(row.contender, moment.at)?;
    let ago = |time: std::time::Duration| {
        Timestamp(moment.at.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    };
    let was_seen = |since: &Timestamp| first_seen_at <= *since;
    let earliest = moment.unseen_since.filter(was_seen).unwrap_or(Timestamp(i64::MIN));
    Some(TimeBounds::between(ago(held.at_most).max(earliest), ago(held.at_least).max(earliest)))
}

impl ContenderRecord {
    /// Updates the record from the table. Returns whether something changed.
    pub fn reread(&mut self, row: ContenderRow<'_>, table: &LockTable, no_data: bool) -> bool {
        let contender = row.contender;
        let mut changed = self.names_client(&table.clients().identity_of(contender), no_data);
        if !contender.is_read() {
            self.mode = row.mode;
            return changed;
        }
        let czxid = Some(contender.czxid);
        if (self.czxid, self.session, self.mode) != (czxid, contender.session(), row.mode)
            || self.node != contender.node
        {
            (self.czxid, self.session, self.mode) = (czxid, contender.session(), row.mode);
            self.node = Arc::clone(&contender.node);
            changed = true;
        }
        let data = Self::keep(contender.data.bytes()).filter(|_| !no_data);
        if self.data != data {
            self.data = data;
            changed = true;
        }
        changed
    }

    /// Updates the client's identity as far as it is known. Returns whether something changed.
    pub fn names_client(&mut self, client: &ClientIdentity, no_data: bool) -> bool {
        let before = self.client.clone();
        self.client.address = client.address.clone().or(self.client.address.take());
        if !no_data {
            self.client.name = client.name.clone().or(self.client.name.take());
        }
        self.client != before
    }
}

/// Returns the beginning of a query whose rows [`PastContender::read`] and [`record`] read.
pub(in crate::record) fn select(connection: &Connection) -> rusqlite::Result<String> {
    let added = |column| super::or_null(connection, "contender", column);
    let [deleted_by, source] = [added("deleted_by")?, added("source")?];
    Ok(format!(
        "SELECT contender.id, lock.path, lock.name, lock.recipe, node, czxid, mode, contender.session, client.address,
            client.name, data, enqueued_at, acquired_after, acquired_before, ended_after, ended_before, ending,
            {deleted_by}, {source}, contender.first_seen_at
         FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id"
    ))
}

/// The column of [`select`] with the time at which a contender was first seen.
const FIRST_SEEN_AT: usize = 19;

/// A contender of the past. Texts from znodes are unescaped and must be escaped before they are
/// shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastContender {
    /// The id, which rises in the order in which contenders were first seen.
    pub id: i64,
    /// The path of the lock.
    pub lock: String,
    /// The name of the queue, if the parent has several.
    pub name: Option<String>,
    /// The name of the recipe.
    pub recipe: String,
    /// The node of the contender; for a holder of a lease, the lease.
    pub node: String,
    /// The transaction that created the node, if the node was read.
    pub czxid: Option<i64>,
    /// The requested mode: `exclusive`, `read`, `write` or `lease`.
    pub mode: String,
    /// The session of the contender.
    pub session: Option<SessionId>,
    /// The address of the client.
    pub client: Option<String>,
    /// The name of the client in its node.
    pub client_name: Option<String>,
    /// The beginning of the node's data; `None` if empty or not recorded.
    pub data: Option<Vec<u8>>,
    /// The time of arrival.
    pub enqueued_at: Option<Timestamp>,
    /// The bounds of the acquisition; `None` if the contender never held.
    pub acquired: Option<TimeBounds>,
    /// The bounds of the end; `None` while the contender is present.
    pub ended: Option<TimeBounds>,
    /// The kind of end.
    pub end: ContenderEnd,
    /// The session whose request deleted the node, if a transaction log shows it.
    pub deleted_by: Option<SessionId>,
    /// Where the facts come from.
    pub source: RowSource,
    /// The time up to which the contender is known to be present; after its end, the latest
    /// possible end.
    pub known_until: Timestamp,
}

impl PastContender {
    /// Reads a row as it is: texts may be those of a newer version, and the end may be called by
    /// its name of an older one. An open contender is known to be present when it was first seen.
    pub(in crate::record) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let bounds = |at: usize| {
            let bounds = row.get::<_, Option<i64>>(at)?.zip(row.get::<_, Option<i64>>(at + 1)?);
            Ok::<_, rusqlite::Error>(
                bounds.map(|(after, before)| TimeBounds::between(Timestamp(after), Timestamp(before))),
            )
        };
        let data = match row.get_ref(10)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        let (ended, first_seen_at) = (bounds(14)?, Timestamp(row.get(FIRST_SEEN_AT)?));
        Ok(Self {
            id: row.get(0)?,
            lock: row.get(1)?,
            name: row.get(2)?,
            recipe: row.get(3)?,
            node: row.get(4)?,
            czxid: row.get(5)?,
            mode: row.get(6)?,
            session: row.get::<_, Option<i64>>(7)?.map(SessionId),
            client: row.get(8)?,
            client_name: row.get(9)?,
            data,
            enqueued_at: row.get::<_, Option<i64>>(11)?.map(Timestamp),
            acquired: bounds(12)?,
            ended,
            end: ContenderEnd::from_id(&row.get::<_, String>(16)?),
            deleted_by: row.get::<_, Option<i64>>(17)?.map(SessionId),
            source: RowSource::from_id(row.get::<_, Option<String>>(18)?.as_deref()),
            known_until: ended.map_or(first_seen_at, |ended| ended.before),
        })
    }

    /// Returns the least length of the hold, in milliseconds; `None` if the contender never held.
    pub fn held_at_least_ms(&self) -> Option<u64> {
        Some(length(self.acquired?.before, self.ended.map_or(self.known_until, |ended| ended.after)))
    }

    /// Returns the greatest length of the hold as far as is known, in milliseconds.
    pub fn held_at_most_ms(&self) -> Option<u64> {
        Some(length(self.acquired?.after, self.ended.map_or(self.known_until, |ended| ended.before)))
    }

    /// Returns the wait until the acquisition, the end or now; `None` when it is not known exactly.
    pub fn waited_ms(&self) -> Option<u64> {
        let until = match (self.acquired, self.ended) {
            (Some(acquired), _) => acquired.exactly()?,
            (None, Some(ended)) => ended.exactly()?,
            (None, None) => self.known_until,
        };
        Some(length(self.enqueued_at?, until))
    }

    /// Returns the certain length of the hold or wait, whichever is longer, in milliseconds.
    pub fn weight_ms(&self) -> u64 {
        let until = self.acquired.or(self.ended).map_or(self.known_until, |bounds| bounds.after);
        let waited = self.enqueued_at.map(|came| length(came, until));
        self.held_at_least_ms().max(waited).unwrap_or(0)
    }

    /// Returns the earliest known time of the contender.
    pub fn began_at(&self) -> Timestamp {
        self.enqueued_at.or(self.acquired.map(|acquired| acquired.after)).unwrap_or(self.known_until)
    }
}

fn length(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

/// Reads a row; `None` when its path is one that this program never writes.
pub fn record(row: &Row<'_>) -> rusqlite::Result<Option<ContenderRecord>> {
    let past = PastContender::read(row)?;
    let Ok(path) = ZnodePath::new(&past.lock) else { return Ok(None) };
    let recipe = Recipe::named(&past.recipe).unwrap_or(Recipe::UnknownQueue);
    let text = |text: Option<String>| text.map(Arc::from);
    Ok(Some(ContenderRecord {
        id: past.id,
        lock: Arc::new(RecordedLock { path, name: text(past.name), recipe: recipe.id(), kind: recipe.kind().id() }),
        client: RecordedClient { address: text(past.client), name: text(past.client_name) },
        session: past.session,
        first_seen_at: Timestamp(row.get(FIRST_SEEN_AT)?),
        enqueued_at: past.enqueued_at,
        acquired: past.acquired,
        ended: past.ended,
        end: past.end,
        deleted_by: past.deleted_by,
        source: past.source,
        mode: mode_of(&past.mode),
        node: past.node.into(),
        czxid: past.czxid.map(Zxid),
        data: past.data.map(Vec::into_boxed_slice),
        is_listed: false,
        look: 0,
    }))
}

/// Returns the name of a mode.
pub fn mode_id(mode: RequestMode) -> &'static str {
    match mode {
        RequestMode::Exclusive => "exclusive",
        RequestMode::Read => "read",
        RequestMode::Write => "write",
        RequestMode::Lease => "lease",
    }
}

fn mode_of(id: &str) -> RequestMode {
    match id {
        "read" => RequestMode::Read,
        "write" => RequestMode::Write,
        "lease" => RequestMode::Lease,
        _ => RequestMode::Exclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_are_cut_between_characters() {
        assert_eq!(ContenderRecord::keep(b""), None);
        assert_eq!(ContenderRecord::keep(&[0xff; 2000]).map(|data| data.len()), Some(MAX_DATA));
        let text = format!("{}é", "a".repeat(MAX_DATA - 1));
        assert_eq!(ContenderRecord::keep(text.as_bytes()).map(|data| data.len()), Some(MAX_DATA - 1));
    }

    #[test]
    fn every_end_has_a_name_that_is_read_back() {
        for end in ContenderEnd::ALL {
            assert_eq!(ContenderEnd::from_id(end.id()), end);
        }
        assert_eq!(ContenderEnd::from_id("evaporated"), ContenderEnd::Unknown);
    }
}

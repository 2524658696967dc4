//! A contender as JSON.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::client::{ClientFacts, ConnectionFacts};
use super::rfc3339;
use crate::diagnose::{Facts, HeldBy, TableAt};
use crate::queue::{Contender, ContenderRow, ContenderState, LockQueue};
use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{Timestamp, ZnodePath};

/// Maximum number of nodes in `waits_for`. Only writers behind readers, and the head of a
/// semaphore's queue, wait for more than one.
const MAX_WAITS_FOR: usize = 1000;

/// A contender.
#[derive(Serialize)]
pub(super) struct ContenderFacts<'a> {
    node: &'a str,
    path: ZnodePath,
    sequence: Option<i32>,
    mode: RequestMode,
    state: &'static str,
    /// How it is known that the contender holds; `null` for one that does not.
    by: Option<&'static str>,
    /// `null` when no session's end deletes the node.
    session: Option<String>,
    /// `null` when the node was not read yet. The session, the stat and the length of the data are
    /// then `null` too.
    ephemeral: Option<bool>,
    created_at: Option<String>,
    age_ms: u64,
    czxid: Option<i64>,
    version: Option<i32>,
    data: Cow<'a, str>,
    data_encoding: &'static str,
    /// The length of the node's whole data, in bytes.
    data_length: Option<i32>,
    /// Whether `data` is only the beginning of the node's data.
    data_truncated: bool,
    waits_for: Vec<&'a str>,
    /// How `waits_for` is known; `null` when it is empty.
    waits_for_by: Option<&'static str>,
    watches: &'static str,
    #[serde(flatten)]
    client: ClientFacts,
    #[serde(flatten)]
    connection: ConnectionFacts<'a>,
    expires_in_ms: Option<u64>,
    liveness: &'static str,
    /// How long the client has not been heard, while it is silent.
    silent_ms: Option<u64>,
    /// The bounds of how long the contender has held. Equal where the time is known.
    held_at_least_ms: Option<u64>,
    held_at_most_ms: Option<u64>,
    /// Until when a lock without a session is locked, as its data says.
    locked_until: Option<String>,
}

impl<'a> ContenderFacts<'a> {
    /// Creates the facts of a contender. Holders are only known while the table is live.
    pub(super) fn new(lock: &'a LockQueue, row: &ContenderRow<'a>, table_at: TableAt<'a>, now: Timestamp) -> Self {
        let is_live = table_at.table().is_live();
        let facts = table_at.facts(lock, row);
        let Facts { owner: liveness, expires_in, silence, watching, .. } = facts;
        let waits_for = facts.blockers(lock, row, MAX_WAITS_FOR);
        let contender: &'a Contender = row.contender;
        let held = table_at.table().hold_bounds(contender, table_at.now()).filter(|_| is_live);
        let read = Some(contender).filter(|contender| contender.is_read());
        let kept = contender.data.bytes();
        let data_truncated = usize::try_from(contender.data_length).is_ok_and(|all| all > kept.len());
        let (data, data_encoding) = encode(kept, data_truncated);
        Self {
            node: &contender.node,
            path: lock.path_of(contender),
            sequence: contender.sequence.map(|sequence| sequence.0),
            mode: row.mode,
            state: if is_live { row.state } else { ContenderState::Unknown }.id(),
            by: table_at.held_by(lock, row).filter(|_| is_live).map(HeldBy::id),
            session: contender.session().map(|session| session.to_string()),
            ephemeral: read.map(|read| read.session().is_some()),
            created_at: read.and_then(|read| rfc3339(read.created_at)),
            age_ms: millis(now.since(contender.created_at)),
            czxid: read.map(|read| read.czxid.0),
            version: read.map(|read| read.version),
            data,
            data_encoding,
            data_length: read.map(|read| read.data_length),
            data_truncated,
            waits_for_by: (!waits_for.is_empty()).then(|| facts.awaited_by().id()),
            waits_for,
            watches: watching.id(),
            client: (&table_at.table().identity_of(contender)).into(),
            connection: contender.session().and_then(|session| table_at.table().last_connection(session)).into(),
            expires_in_ms: expires_in.map(millis),
            liveness: liveness.id(),
            silent_ms: silence.map(|silence| millis(silence.lasted(table_at.now()))),
            held_at_least_ms: held.map(|held| millis(held.at_least)),
            held_at_most_ms: held.map(|held| millis(held.at_most)),
            locked_until: contender.locked_until().and_then(rfc3339),
        }
    }
}

pub(super) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns data as text, and the encoding of the text. Data that was truncated within a character
/// is still text, without that character.
fn encode(bytes: &[u8], truncated: bool) -> (Cow<'_, str>, &'static str) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), "utf8"),
        Err(error) if truncated && error.error_len().is_none() => {
            (String::from_utf8_lossy(&bytes[..error.valid_up_to()]), "utf8")
        }
        Err(_) => (STANDARD.encode(bytes).into(), "base64"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_text_where_it_is_utf8_and_base64_where_it_is_not() {
        assert_eq!(encode("Größe\n".as_bytes(), false), ("Größe\n".into(), "utf8"));
        assert_eq!(encode(b"\xac\xed\0\x05", false), ("rO0ABQ==".into(), "base64"));
        assert_eq!(encode(b"", false), ("".into(), "utf8"));
    }

    #[test]
    fn text_that_was_truncated_within_a_character_stays_text() {
        assert_eq!(encode(b"ab\xf0\x9f", true), ("ab".into(), "utf8"));
        assert_eq!(encode(b"ab\xf0\x9f", false).1, "base64", "the whole of it ends in a broken character");
        assert_eq!(encode(b"a\xffb\xf0\x9f", true).1, "base64", "broken before the cut");
    }
}

//! Sessions as rows: when each first and last contended, and whether it expired.

use rustc_hash::FxHashMap;

use super::contender::{ContenderEnd, ContenderRecord, RecordedClient};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::queue::{Happening, LockEvent};

/// A session that changed since the last flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionRecord {
    pub client: RecordedClient,
    pub first_seen_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub expired_at: Option<Timestamp>,
}

/// The most sessions kept while nothing can be written.
const MAX_CHANGED: usize = 100_000;

/// The sessions that changed since the last flush.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedSessions {
    pub changed: FxHashMap<SessionId, SessionRecord>,
}

impl ChangedSessions {
    /// Records an event.
    pub fn happened(&mut self, happening: &Happening, at: Timestamp, no_data: bool) {
        let Some(session) = happening.session.filter(|_| happening.contender.is_some()) else { return };
        self.seen(session, at);
        let Some(record) = self.changed.get_mut(&session) else { return };
        record.last_seen_at = record.last_seen_at.max(at);
        if record.client.address.is_none() {
            record.client.address.clone_from(&happening.client.address);
        }
        if record.client.name.is_none() && !no_data {
            record.client.name.clone_from(&happening.client.name);
        }
        if matches!(happening.event, LockEvent::Expired | LockEvent::Settled) {
            record.expired_at.get_or_insert(at);
        }
    }

    fn seen(&mut self, session: SessionId, at: Timestamp) {
        if self.changed.len() >= MAX_CHANGED && !self.changed.contains_key(&session) {
            return;
        }
        let client = RecordedClient::default();
        let record = SessionRecord { client, first_seen_at: at, last_seen_at: at, expired_at: None };
        self.changed.entry(session).or_insert(record);
    }
}

impl ChangedSessions {
    /// Records that one of the session's contenders is written.
    pub fn stood(&mut self, contender: &ContenderRecord, now: Timestamp) {
        let Some(session) = contender.session else { return };
        let at = contender.ended.map_or(now, |ended| ended.before);
        self.seen(session, at);
        let Some(record) = self.changed.get_mut(&session) else { return };
        record.first_seen_at = record.first_seen_at.min(contender.first_seen_at);
        record.last_seen_at = record.last_seen_at.max(at);
        if contender.client != RecordedClient::default() {
            record.client = contender.client.clone();
        }
        if contender.end == ContenderEnd::Expired {
            record.expired_at.get_or_insert(at);
        }
    }
}

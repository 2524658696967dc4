//! The text that rows must contain to be listed.

use super::TimelineEntry;
use crate::admin::audit::AuditEntry;
use crate::queue::{ClientIdentity, Contender, LockQueue, LockTable};
use crate::tui::page::audit_entry::NO_OUTCOME;
use crate::znode::SessionId;

/// Holders of a lock that are looked at, at most: only a semaphore has many, or a lock that is read.
const MAX_HOLDERS: usize = 100;

/// A text that a row must contain, whatever the case of its letters. Empty: every row passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    typed: String,
    folded: String,
}

impl Filter {
    /// A filter that every row passes.
    pub const fn none() -> Self {
        Self { typed: String::new(), folded: String::new() }
    }

    pub fn new(typed: &str) -> Self {
        Self { typed: typed.to_owned(), folded: typed.to_lowercase() }
    }

    pub fn text(&self) -> &str {
        &self.typed
    }

    pub fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// Whether every row that passes this passes `other` too, and that is not all of them.
    pub fn narrows(&self, other: &Filter) -> bool {
        !other.is_empty() && self.folded.contains(&other.folded)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        if self.folded.is_empty() {
            return true;
        }
        if text.is_ascii() {
            let needle = self.folded.as_bytes();
            text.len() >= needle.len()
                && text.as_bytes().windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle))
        } else {
            text.to_lowercase().contains(&self.folded)
        }
    }

    /// Whether it is part of what a client is called, or of its address.
    pub(super) fn is_in_client(&self, client: &ClientIdentity) -> bool {
        client.name.iter().chain(&client.address).any(|text| self.is_in(text))
    }

    /// Whether it is part of the address or the last address of a session, as it is known now.
    fn is_in_address_of(&self, session: Option<SessionId>, table: &LockTable) -> bool {
        session.and_then(|session| table.address_of(session)).is_some_and(|address| self.is_in(address))
    }

    fn is_in_session(&self, session: Option<SessionId>) -> bool {
        // Most texts are no part of any session's id, and need not be compared with each.
        session
            .filter(|_| self.folded.bytes().all(|byte| byte == b'x' || byte.is_ascii_hexdigit()))
            .is_some_and(|session| self.is_in(&session.to_string()))
    }

    fn is_in_bytes(&self, bytes: &[u8]) -> bool {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.is_in(text),
            Err(_) => self.is_in(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Whether a lock passes: by its path, its name, its recipe, or one of its holders.
    pub fn takes_lock(&self, lock: &LockQueue, table: &LockTable) -> bool {
        let mut holders = lock.rows(0..lock.holding().min(MAX_HOLDERS));
        self.is_empty()
            || self.is_in(lock.path().as_str())
            || lock.name().is_some_and(|name| self.is_in(name))
            || self.is_in(lock.recipe().title())
            || self.is_in(lock.recipe().id())
            || holders.any(|holder| self.takes_contender(holder.contender, table))
    }

    pub fn takes_session(&self, session: SessionId) -> bool {
        self.is_empty() || self.is_in_session(Some(session))
    }

    /// Whether a contender passes: by its node, its session, its data with the name in it, or its client's address.
    pub fn takes_contender(&self, contender: &Contender, table: &LockTable) -> bool {
        self.is_empty()
            || self.is_in(&contender.node)
            || self.is_in_session(contender.session)
            || self.is_in_bytes(contender.data.bytes())
            || self.is_in_address_of(contender.session, table)
    }

    /// Whether an entry of the audit log passes: by what was done, to which node of which lock, by whom, and what came of it.
    pub fn takes_audit_entry(&self, entry: &AuditEntry) -> bool {
        let (subject, who) = (&entry.subject, &entry.who);
        let texts =
            [&entry.action, &subject.path, &subject.lock, &subject.life, &subject.evidence, &who.user, &who.host];
        self.is_empty()
            || texts.into_iter().chain(&subject.owner).chain(&who.identities).any(|text| self.is_in(text))
            || entry.outcome.as_ref().is_some_and(|outcome| self.is_in(&outcome.result) || self.is_in(&outcome.reason))
            || (entry.outcome.is_none() && self.is_in(NO_OUTCOME))
    }

    /// Whether a line of the timeline passes: by its kind, its lock, its node, its client or its finding.
    pub fn takes_timeline_entry(&self, entry: &TimelineEntry, table: &LockTable) -> bool {
        self.is_empty()
            || self.is_in(entry.event())
            || entry.node().is_some_and(|node| self.is_in(node))
            || entry.lock().is_some_and(|lock| {
                self.is_in(lock.path.as_str()) || lock.name.as_deref().is_some_and(|name| self.is_in(name))
            })
            || match entry {
                // Who came a moment ago was not listed by any server then.
                TimelineEntry::Happening(happening) => {
                    self.is_in_session(happening.session)
                        || self.is_in_client(&happening.client)
                        || happening.client.address.is_none() && self.is_in_address_of(happening.session, table)
                }
                TimelineEntry::Deletion { client, ending, .. } => {
                    self.is_in_session(client.session) || self.is_in_client(client) || self.is_in(ending.id())
                }
                TimelineEntry::Finding { finding, .. } => {
                    self.is_in(finding.code.id())
                        || self.is_in(&finding.summary)
                        || finding.client.as_ref().is_some_and(|client| self.is_in_client(client))
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_match_in_either_case_also_beyond_ascii() {
        assert!(Filter::new("BILL").is_in("/locks/billing"));
        assert!(Filter::new("größe").is_in("/GRÖSSE/Größe"));
        assert!(!Filter::new("orders").is_in("/locks/billing"));
        assert!(Filter::new("").is_in("anything"));
    }

    #[test]
    fn data_that_is_no_text_does_not_stop_the_search() {
        assert!(Filter::new("host").is_in_bytes(b"\xff\xfeHOST-1\xff"));
    }
}

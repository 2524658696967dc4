//! The texts of each kind of row that a filter searches, including those of columns that do not fit
//! on the screen.

use super::{Filter, Matching};
use crate::tui::app::TimelineEntry;
use crate::tui::page::entries::NO_OUTCOME;
use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{Sequence, SessionId, Timestamp};
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::diagnose::{Diagnosis, TableAt};
use lockscope_model::queue::{Contender, ContenderRow, ContenderState, LockName, LockQueue, LockTable};
use lockscope_model::text::Charset;
use lockscope_model::text::human::{bounded, count, date_and_time, duration, exact_time, rate};

/// Maximum number of holders of a lock that are searched. Only semaphores and read locks have many.
const MAX_HOLDERS: usize = 100;

impl Matching<'_> {
    /// Searches the name of a lock as the screens show it.
    pub fn lock(&mut self, lock: &LockName) -> &mut Self {
        match &lock.name {
            Some(_) => self.made(|| lock.to_string()),
            None => self.text(lock.path.as_str()),
        }
    }

    fn time(&mut self, at: Timestamp) -> &mut Self {
        self.figure(|| exact_time(at, true)).figure(|| exact_time(at, false))
    }

    /// Searches the current or last known address of a session's client.
    fn address_of(&mut self, session: Option<SessionId>, table: &LockTable) -> &mut Self {
        self.texts(session.and_then(|session| table.address_of(session)))
    }

    /// Searches what does not depend on the contender's position: its node, session, data and
    /// client address.
    fn contender(&mut self, contender: &Contender, table: &LockTable) -> &mut Self {
        self.text(&contender.node)
            .session(contender.session())
            .bytes(contender.data.bytes())
            .address_of(contender.session(), table)
    }
}

/// Maximum number of nodes that a waiter waits for and that are searched. Lists show no more.
const MAX_SHOWN_BLOCKERS: usize = 5;

impl Filter {
    /// Returns whether a lock passes, by its path, name, recipe, holders, findings and figures.
    pub fn takes_lock(&self, lock: &LockQueue, at: TableAt<'_>, diagnosis: &Diagnosis, now: Timestamp) -> bool {
        let mut matching = self.matching();
        if self.is_empty() || matching.lock(&lock.lock_name()).is_decided() {
            return matching.passes();
        }
        matching.text(lock.recipe().title()).text(lock.recipe().id());
        let table = at.table();
        for holder in lock.rows(0..lock.holding().min(MAX_HOLDERS)) {
            if !matching.is_decided() {
                matching.contender(holder.contender, table);
            }
        }
        for finding in diagnosis.of(lock.id()) {
            matching
                .text(finding.code.id())
                .text(finding.code.title())
                .text(finding.severity.id())
                .text(&finding.summary);
        }
        if lock.is_assumed() {
            matching.text("assumed");
        }
        if lock.is_empty() {
            matching.text("free");
        }
        if let Some(bounds) = lock.first_holder().and_then(|holder| table.hold_bounds(holder, now)) {
            matching.figure(|| bounded(bounds.at_least, bounds.at_most, Charset::Unicode));
        }
        if let Some(waiter) = lock.first_waiter() {
            matching.figure(|| duration(table.server_time(now).since(waiter.created_at)));
        }
        let rates = lock.rates(now);
        for figure in [rates.acquisitions, rates.herd, rates.chain] {
            matching.figure(|| rate(figure));
        }
        matching.figure(|| count(lock.waiting())).figure(|| count(lock.holding()));
        matching.passes()
    }

    /// Returns whether a contender passes, by its node, session, data (which can hold the client's
    /// name), client address, state and mode, the liveness of its owner, what it watches and waits
    /// for, and its figures.
    pub fn takes_contender(&self, lock: &LockQueue, row: &ContenderRow<'_>, at: TableAt<'_>, now: Timestamp) -> bool {
        let mut matching = self.matching();
        if self.is_empty() || matching.contender(row.contender, at.table()).is_decided() {
            return matching.passes();
        }
        matching.text(row.state.id()).texts(match row.mode {
            RequestMode::Exclusive => None,
            RequestMode::Read => Some("read"),
            RequestMode::Write => Some("write"),
            RequestMode::Lease => Some("lease"),
        });
        let created = row.contender.created_at;
        matching.figure(|| duration(at.table().server_time(now).since(created)));
        matching.figure(|| date_and_time(created, true)).figure(|| date_and_time(created, false));
        matching.figure(|| row.contender.czxid.to_string());
        if !matching.is_decided() {
            let facts = at.facts(lock, row);
            matching.text(facts.owner.id());
            if row.state == ContenderState::Waits {
                matching.text(facts.watching.id());
                for node in facts.blockers(lock, row, MAX_SHOWN_BLOCKERS) {
                    matching.made(|| {
                        Sequence::split(node).map_or_else(|| node.to_owned(), |(_, Sequence(at))| at.to_string())
                    });
                }
            } else if let Some(bounds) = at.table().hold_bounds(row.contender, now) {
                matching.figure(|| format!("held {}", bounded(bounds.at_least, bounds.at_most, Charset::Unicode)));
            }
        }
        matching.passes()
    }

    /// Returns whether an entry of the audit log passes, by its action, its subject (node, lock,
    /// owner, evidence), the ensemble, the user, its time and id, and the outcome.
    pub fn takes_audit_entry(&self, entry: &AuditEntry) -> bool {
        let (subject, who) = (&entry.subject, &entry.who);
        let texts =
            [&entry.at, &entry.action, &subject.path, &subject.lock, &subject.life, &subject.evidence, &entry.id];
        let mut matching = self.matching();
        matching.texts(texts.into_iter().chain(&subject.owner).chain(&who.identities).map(String::as_str));
        matching.text(&who.ensemble).made(|| format!("{}@{}", who.user, who.host));
        if let Some(time) = crate::tui::page::entries::time(&entry.at) {
            matching.figure(|| date_and_time(time, true)).figure(|| date_and_time(time, false));
        }
        match &entry.outcome {
            Some(outcome) => matching.text(&outcome.result).text(&outcome.reason),
            None => matching.text(NO_OUTCOME),
        };
        matching.passes()
    }

    /// Returns whether a timeline entry passes, by its kind, time, lock, node, client, finding and
    /// figures.
    pub fn takes_timeline_entry(&self, entry: &TimelineEntry, table: &LockTable) -> bool {
        let mut matching = self.matching();
        if self.is_empty() || matching.text(entry.event()).is_decided() {
            return matching.passes();
        }
        matching.time(entry.at()).texts(entry.node().map(|node| &**node));
        if let Some(lock) = entry.lock() {
            matching.lock(lock);
        }
        match entry {
            // When the event happened, no server had listed the client of a new session yet.
            TimelineEntry::Happening(happening) => {
                matching.session(happening.session).client(&happening.client);
                if happening.client.address.is_none() {
                    matching.address_of(happening.session, table);
                }
                for millis in happening.waited_ms.iter().chain(&happening.held_ms) {
                    matching.figure(|| duration(std::time::Duration::from_millis(*millis)));
                }
                if happening.lock.is_some() {
                    for events in [happening.watch_events.herd, happening.watch_events.chain] {
                        matching.figure(|| count(events));
                    }
                }
            }
            TimelineEntry::Deletion { client, ending, .. } => {
                matching.session(client.session).client(client).text(ending.id()).made(|| ending.to_string());
            }
            TimelineEntry::Finding { finding, raised, .. } => {
                matching.text(finding.code.id()).text(&finding.summary).text(finding.severity.id());
                matching.text(if *raised { "raised" } else { "cleared" });
                if let Some(client) = &finding.client {
                    matching.client(client);
                }
            }
        }
        matching.passes()
    }
}

//! The audit log as the screen lists it.

use rustc_hash::FxHashMap;

use super::{App, AuditReading, Effect, Filter, Rows, Screen, Update};
use lockscope_live::admin::audit::{AuditEntry, AuditHistory};

/// What this console and others wrote down.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    history: AuditHistory,
    places: FxHashMap<String, usize>,
    failed: Option<String>,
    unwritable: Option<String>,
    filter: Filter,
    passing: Vec<usize>,
    was_read: bool,
    reading: bool,
    /// It has to be read once more: something came while it was being read.
    again: bool,
}

impl AuditLog {
    pub fn history(&self) -> &AuditHistory {
        &self.history
    }

    /// The entry with this rank among those that pass the filter.
    pub fn entry(&self, rank: usize) -> Option<&AuditEntry> {
        self.history.entries.get(*self.passing.get(rank)?)
    }

    /// Why it could not be read.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Why nothing can be written into it.
    pub fn unwritable(&self) -> Option<&str> {
        self.unwritable.as_deref()
    }

    pub fn was_read(&self) -> bool {
        self.was_read
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        let entries = self.history.entries.iter().enumerate();
        self.passing = entries.filter(|(_, entry)| self.filter.takes_audit_entry(entry)).map(|(at, _)| at).collect();
    }

    fn take(&mut self, reading: AuditReading) {
        (self.reading, self.was_read) = (false, true);
        self.unwritable = reading.unwritable;
        match reading.history {
            Ok(history) => {
                self.failed = None;
                let ids = history.entries.iter().enumerate();
                self.places = ids.map(|(at, entry)| (entry.id.clone(), at)).collect();
                self.history = history;
                self.set_filter(self.filter.clone());
            }
            // What was read before still stands, and so does why there is nothing newer.
            Err(why) => self.failed = Some(why),
        }
    }
}

impl Rows<String> for AuditLog {
    fn len(&self) -> usize {
        self.passing.len()
    }

    fn rank(&self, id: &String) -> Option<usize> {
        self.passing.binary_search(self.places.get(id)?).ok()
    }

    fn id(&self, rank: usize) -> Option<String> {
        self.entry(rank).map(|entry| entry.id.clone())
    }
}

impl App {
    /// Shows the log as it is now.
    pub(super) fn open_audit(&mut self) -> Update {
        self.go(Screen::Audit);
        self.read_audit()
    }

    /// After something was written into it: reads it again where it was read before.
    pub(super) fn read_audit_again(&mut self) -> Update {
        if self.audit.was_read || self.audit.reading { self.read_audit() } else { Update::redraw() }
    }

    fn read_audit(&mut self) -> Update {
        if self.settings.audit_log.is_none() {
            return Update::redraw();
        }
        self.audit.again = self.audit.reading;
        if std::mem::replace(&mut self.audit.reading, true) {
            return Update::redraw();
        }
        Update::effect(Effect::ReadAudit)
    }

    pub(super) fn audit_read(&mut self, reading: AuditReading) -> Update {
        self.audit.take(reading);
        if self.audit.again { self.read_audit() } else { Update::redraw() }
    }
}

//! The audit log as the screen lists it.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::{App, AuditReading, Effect, Filter, Rows, Screen, Update};
use lockscope_live::admin::audit::{AuditEntry, AuditHistory};

/// What this console and others wrote down.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    /// Where it is; `None` when there is no place for it.
    path: Option<PathBuf>,
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
    /// The log at that path, before anything of it was read.
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, ..Self::default() }
    }

    /// Where it is; `None` when there is no place for it.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

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

    /// Wants it read as it is now; once more where it is being read already.
    fn read(&mut self) -> Option<Effect> {
        self.path.as_ref()?;
        self.again = self.reading;
        (!std::mem::replace(&mut self.reading, true)).then_some(Effect::ReadAudit)
    }

    /// After something was written into it: wants it read again where it was read before.
    fn read_again(&mut self) -> Option<Effect> {
        if self.was_read || self.reading { self.read() } else { None }
    }

    /// It was read; what was written meanwhile is read too.
    fn take(&mut self, reading: AuditReading) -> Option<Effect> {
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
        if self.again { self.read() } else { None }
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
        Update { redraw: true, effects: self.audit.read().into_iter().collect() }
    }

    /// After something was written into it.
    pub(super) fn read_audit_again(&mut self) -> Update {
        Update { redraw: true, effects: self.audit.read_again().into_iter().collect() }
    }

    pub(super) fn audit_read(&mut self, reading: AuditReading) -> Update {
        Update { redraw: true, effects: self.audit.take(reading).into_iter().collect() }
    }
}

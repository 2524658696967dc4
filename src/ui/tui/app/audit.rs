//! The audit log that the screen lists.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::{App, AuditReading, Effect, Filter, Rows, Screen, Update};
use lockscope_live::admin::audit::{AuditEntry, AuditHistory};

/// The entries of the audit log, written by this console and by others.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    /// The path of the log; `None` when there is no place for one.
    path: Option<PathBuf>,
    history: AuditHistory,
    places: FxHashMap<String, usize>,
    failed: Option<String>,
    unwritable: Option<String>,
    filter: Filter,
    passing: Vec<usize>,
    was_read: bool,
    reading: bool,
    /// Whether to read the log again after the current read, because an entry was written
    /// meanwhile.
    again: bool,
}

impl AuditLog {
    /// An audit log at `path` that has not been read yet.
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, ..Self::default() }
    }

    /// The path of the log; `None` when there is no place for one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn history(&self) -> &AuditHistory {
        &self.history
    }

    /// The entry at `rank` among the entries that pass the filter.
    pub fn entry(&self, rank: usize) -> Option<&AuditEntry> {
        self.history.entries.get(*self.passing.get(rank)?)
    }

    /// Why the log could not be read.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Why the log cannot be written.
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

    /// Asks for a read of the log. During a read, asks for another one afterwards.
    fn read(&mut self) -> Option<Effect> {
        self.path.as_ref()?;
        self.again = self.reading;
        (!std::mem::replace(&mut self.reading, true)).then_some(Effect::ReadAudit)
    }

    /// Asks for another read after an entry was written, if the log was read before.
    fn read_again(&mut self) -> Option<Effect> {
        if self.was_read || self.reading { self.read() } else { None }
    }

    /// Stores what was read. Asks for another read if an entry was written meanwhile.
    fn store(&mut self, reading: AuditReading) -> Option<Effect> {
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
            // The entries of the previous read stay, next to the reason why there are no newer
            // ones.
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
    /// Opens the audit log and reads it again.
    pub(super) fn open_audit(&mut self) -> Update {
        self.go(Screen::Audit);
        Update { redraw: true, effects: self.audit.read().into_iter().collect() }
    }

    /// Reads the log again after an entry was written.
    pub(super) fn read_audit_again(&mut self) -> Update {
        Update { redraw: true, effects: self.audit.read_again().into_iter().collect() }
    }

    pub(super) fn audit_read(&mut self, reading: AuditReading) -> Update {
        Update { redraw: true, effects: self.audit.store(reading).into_iter().collect() }
    }
}

//! One ensemble of several.

use std::sync::Arc;

use super::found::FoundLocks;
use crate::tui::app::Filter;
use crate::tui::app::filter::Matching;
use lockscope_model::queue::LockName;
use lockscope_model::summary::{EnsembleFacts, EnsembleSummary, StateKind};
use lockscope_model::verdict::ServerTrouble;

/// An ensemble that the console watches.
#[derive(Clone, Debug)]
pub struct EnsembleRow {
    /// The name of its context.
    pub name: Arc<str>,
    /// Its servers and chroot, without identities.
    pub connect: String,
    /// Whether its context is marked as production.
    pub production: bool,
    /// Why it cannot be watched, as a sentence: its options are wrong.
    pub trouble: Option<String>,
    /// The latest summary; `None` before the first.
    pub summary: Option<EnsembleSummary>,
    /// The number of findings since the ensemble was open last, or since the start.
    pub news: usize,
    /// The locks that pass the filter of the list.
    pub found: FoundLocks,
}

impl EnsembleRow {
    /// The state of the connection.
    pub fn state(&self) -> StateKind {
        match (&self.trouble, &self.summary) {
            (Some(_), _) => StateKind::Refused,
            (None, Some(summary)) => summary.state.kind(),
            (None, None) => StateKind::Connecting,
        }
    }

    /// Whether the figures are true now.
    pub fn is_live(&self) -> bool {
        self.state() == StateKind::Live
    }

    /// Why its locks cannot be seen; `None` when they can.
    pub fn reason(&self) -> Option<&str> {
        self.trouble.as_deref().or_else(|| self.summary.as_ref()?.state.reason())
    }

    /// What is wrong with its servers.
    pub fn servers_trouble(&self) -> Option<&ServerTrouble> {
        self.summary.as_ref()?.servers_trouble.as_ref()
    }

    /// The row as JSON.
    pub(in crate::tui::app) fn facts(&self) -> EnsembleFacts<'_> {
        EnsembleFacts::new(
            &self.name,
            &self.connect,
            self.production,
            self.state(),
            self.reason(),
            self.summary.as_ref(),
        )
    }

    /// Whether the ensemble passes a filter: by itself, or by one of its locks.
    pub(super) fn passes(&self, filter: &Filter) -> bool {
        self.passes_itself(filter) || self.found.locks(filter).is_some()
    }

    /// The locks that pass a filter, and the first of them, unless the ensemble passes by itself.
    pub fn found_locks(&self, filter: &Filter) -> Option<(usize, &LockName)> {
        self.found.locks(filter).filter(|_| !self.passes_itself(filter))
    }

    /// Whether locks pass a filter, and the ensemble is not named by it.
    pub(super) fn is_about_locks(&self, filter: &Filter) -> bool {
        self.found.locks(filter).is_some() && !self.named_by(filter).passes()
    }

    /// Whether the ensemble passes a filter by its name, servers, state and findings.
    fn passes_itself(&self, filter: &Filter) -> bool {
        let mut matching = self.named_by(filter);
        for finding in self.summary.iter().flat_map(|summary| &summary.findings) {
            if matching.is_decided() {
                break;
            }
            matching.lock(&finding.lock).text(finding.code.id()).text(finding.severity.id()).text(&finding.summary);
        }
        matching.passes()
    }

    /// Matches its name, servers and state.
    fn named_by<'f>(&self, filter: &'f Filter) -> Matching<'f> {
        let mut matching = filter.matching();
        matching.text(&self.name).text(&self.connect).text(self.state().id());
        if self.production {
            matching.text("production");
        }
        matching.texts(self.reason()).texts(self.servers_trouble().map(ToString::to_string).as_deref());
        matching
    }
}

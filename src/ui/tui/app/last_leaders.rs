//! Asks the recording who led elections that were found without a leader.

use std::collections::BTreeSet;

use super::{App, Effect, Update};
use lockscope_base::znode::ZnodePath;
use lockscope_model::diagnose::Code;
use lockscope_model::queue::{ElectionRecord, LedBefore};

/// The most elections that are asked for in all.
const MAX_ASKED: usize = 1_000;

/// The elections that were asked for.
#[derive(Clone, Debug, Default)]
pub struct LastLeaders {
    asked: BTreeSet<ZnodePath>,
}

impl App {
    /// Asks who led elections that nobody leads and whose last leader was not seen.
    pub(super) fn ask_for_last_leaders(&mut self) -> Option<Effect> {
        self.recording.as_ref()?;
        let asked = &self.last_leaders.asked;
        let wanted: Vec<ZnodePath> = self
            .leaderless()
            .filter(|path| !asked.contains(path))
            .take(MAX_ASKED.saturating_sub(asked.len()))
            .collect();
        if wanted.is_empty() {
            return None;
        }
        self.last_leaders.asked.extend(wanted.iter().cloned());
        Some(Effect::FindLastLeaders(wanted))
    }

    /// Returns the elections that nobody leads and whose last leader was not seen.
    pub(super) fn leaderless(&self) -> impl Iterator<Item = ZnodePath> {
        let (table, diagnosis) = (self.live.table(), self.live.diagnosis());
        let found = diagnosis.findings().filter(|finding| finding.code == Code::NobodyLeads);
        let locks = found.filter_map(|finding| table.lock(finding.lock.id));
        let unseen = locks.filter(|lock| table.election_record(lock).and_then(ElectionRecord::last_tenure).is_none());
        unseen.map(|lock| lock.path().clone()).take(MAX_ASKED)
    }

    pub(super) fn last_leaders_found(&mut self, found: Vec<LedBefore>) -> Update {
        self.live.learn_leaders(found);
        Update::redraw()
    }
}

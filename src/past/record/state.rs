//! The whole state at one moment: what a segment begins with.

use serde::{Deserialize, Serialize};

use super::Damage;
use super::decode::{self, Budget, Decoder};
use super::memory::{MAX_GROWTH, MAX_STATE};
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, FindingChanges, Thresholds};
use lockscope_model::queue::{Happening, LockTable, SessionEvidence};

use super::entry::Entry;

/// Everything that a console knows of the locks at one moment. The same entries make the same state of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedState {
    /// The locks.
    pub table: LockTable,
    /// Why they are stuck.
    pub diagnosis: Diagnosis,
}

/// What one entry changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    /// What happened to the locks.
    Happenings(Vec<Happening>),
    /// What was found, and what is no longer found.
    Findings(FindingChanges),
}

impl RecordedState {
    /// The state of a console that was just started.
    pub fn new(table: LockTable, thresholds: Thresholds) -> Self {
        Self { table, diagnosis: Diagnosis::new(thresholds) }
    }

    /// Takes in one entry.
    pub fn play(&mut self, at: Timestamp, entry: Entry<'_>) -> Played {
        match entry {
            Entry::Change(change) => Played::Happenings(self.table.apply(change.into_owned(), at)),
            Entry::Examined => Played::Findings(self.diagnosis.examine(&self.table, at)),
            Entry::FindingsForgotten => {
                Played::Findings(FindingChanges { raised: Vec::new(), cleared: self.diagnosis.start_over() })
            }
        }
    }

    /// Reads what [`write()`] wrote, compressed. Names are read by the recipes that they were recorded with, whatever the config file says
    /// now. Answers what it takes of the memory, too, in bytes.
    pub(super) fn read(packed: &[u8]) -> Result<(Self, u64), Damage> {
        let (budget, mut decoder) = (Budget::new(MAX_STATE), Decoder::new(packed)?);
        let state: Self = decoder.next(&budget, Damage::Keyframe)?;
        let recipes: Vec<OwnRecipe> = decoder.next(&budget, Damage::Keyframe)?;
        // Before format 3 there was none.
        let evidence: SessionEvidence =
            if decoder.is_at_end() { SessionEvidence::default() } else { decoder.next(&budget, Damage::Keyframe)? };
        decoder.finish(Damage::Keyframe)?;
        let table = state.table.with_recipes(&recipes).with_session_evidence(evidence);
        let mut state = Self { table, ..state };
        if !state.table.is_consistent() {
            return Err(Damage::Keyframe);
        }
        state.table.recount();
        Ok((state, MAX_STATE - budget.left()))
    }
}

/// Whether a state that [`write()`] wrote can be read again: it takes as much memory as a keyframe may.
pub(super) fn is_readable(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= MAX_STATE / MAX_GROWTH
        || decode::memory_of::<(RecordedState, Vec<OwnRecipe>, SessionEvidence)>(bytes, MAX_STATE).is_some()
}

/// The state as bytes that are not compressed yet.
///
/// # Errors
///
/// Where a state cannot be written at all, which no state is.
pub(super) fn write(table: &LockTable, diagnosis: &Diagnosis) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_allocvec(&(table, diagnosis, table.own_recipes(), table.session_evidence()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TableFixture, surveyed};
    use crate::record::frame;

    #[test]
    fn a_state_is_read_with_what_makes_the_ends_of_sessions_certain_and_without_it_from_older_recordings() {
        let mut fixture = TableFixture::new();
        fixture.apply(surveyed(Vec::new(), fixture.now));
        let (table, diagnosis) = (&fixture.table, Diagnosis::new(Thresholds::default()));
        let read = |bytes: &[u8]| RecordedState::read(&frame::pack(bytes).expect("it fits")).expect("a state").0;
        let state = read(&write(table, &diagnosis).expect("it can be written"));
        assert_eq!(state.table.session_evidence(), table.session_evidence());
        assert!(state.table.view().min_session_timeout().is_some());

        let older = postcard::to_allocvec(&(table, &diagnosis, table.own_recipes())).expect("it can be written");
        assert_eq!(read(&older).table.view().min_session_timeout(), None);
    }
}

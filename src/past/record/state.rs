//! The whole state at one moment, with which a segment begins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Damage;
use super::decode::{self, Budget, Decoder};
use super::memory::{MAX_GROWTH, MAX_STATE};
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, FindingChanges, Flapping, Thresholds};
use lockscope_model::queue::{
    Elections, EnsembleState, Happening, HeadWait, LockId, LockTable, RunsOfOne, SessionEvidence,
};

use super::entry::Entry;

/// Everything that a console knows about the locks at one moment. The same entries always produce
/// the same state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedState {
    /// The locks.
    pub table: LockTable,
    /// The findings of the locks.
    pub diagnosis: Diagnosis,
}

/// The effect of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    /// The events of the locks.
    Happenings(Vec<Happening>),
    /// The new and the cleared findings.
    Findings(FindingChanges),
}

impl RecordedState {
    /// Creates the state of a console that was just started.
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

    /// Reads the compressed output of [`write()`]. Names are read with the recorded recipes,
    /// independent of the current config file. Also returns the memory of the state, in bytes.
    pub(super) fn read(packed: &[u8]) -> Result<(Self, u64), Damage> {
        let (budget, mut decoder) = (Budget::new(MAX_STATE), Decoder::new(packed)?);
        let state: Self = decoder.next(&budget, Damage::Keyframe)?;
        let recipes: Vec<OwnRecipe> = decoder.next(&budget, Damage::Keyframe)?;
        // Missing before format 3.
        let evidence: SessionEvidence =
            if decoder.is_at_end() { SessionEvidence::default() } else { decoder.next(&budget, Damage::Keyframe)? };
        // Missing before format 5.
        let (elections, flapping): (Elections, Flapping) =
            if decoder.is_at_end() { Default::default() } else { decoder.next(&budget, Damage::Keyframe)? };
        // Missing before format 6.
        let ensemble: EnsembleState =
            if decoder.is_at_end() { EnsembleState::default() } else { decoder.next(&budget, Damage::Keyframe)? };
        // Missing before format 7.
        let (promised, runs): (Vec<Option<Duration>>, RunsOfOne) =
            if decoder.is_at_end() { Default::default() } else { decoder.next(&budget, Damage::Keyframe)? };
        // Missing before format 8.
        let head_waits: Vec<(LockId, HeadWait)> =
            if decoder.is_at_end() { Vec::new() } else { decoder.next(&budget, Damage::Keyframe)? };
        decoder.finish(Damage::Keyframe)?;
        let table = state.table.with_recipes(&recipes).with_session_evidence(evidence);
        let table = table
            .with_elections(elections)
            .with_promised_holds(&promised)
            .with_ensemble_state(ensemble)
            .with_runs_of_one(runs)
            .with_head_waits(head_waits);
        let thresholds = Thresholds { flapping, ..*state.diagnosis.thresholds() };
        let mut state = Self { table, diagnosis: state.diagnosis.with_thresholds(thresholds) };
        if !state.table.is_consistent() {
            return Err(Damage::Keyframe);
        }
        state.table.recount();
        Ok((state, MAX_STATE - budget.left()))
    }
}

/// Returns whether a state written by [`write()`] can be read again, that is, whether it fits into
/// the memory of a keyframe.
pub(super) fn is_readable(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= MAX_STATE / MAX_GROWTH || decode::memory_of::<Written>(bytes, MAX_STATE).is_some()
}

/// What [`write()`] writes.
type Written = (
    RecordedState,
    Vec<OwnRecipe>,
    SessionEvidence,
    (Elections, Flapping),
    EnsembleState,
    (Vec<Option<Duration>>, RunsOfOne),
    Vec<(LockId, HeadWait)>,
);

/// Returns the state as uncompressed bytes.
///
/// # Errors
///
/// Never fails in practice: every state serializes.
pub(super) fn write(table: &LockTable, diagnosis: &Diagnosis) -> Result<Vec<u8>, postcard::Error> {
    let elections = (table.elections(), diagnosis.thresholds().flapping);
    let evidence = table.session_evidence();
    let (ensemble, promised) = (table.ensemble_state(), (table.promised_holds(), table.runs_of_one()));
    let recipes = table.own_recipes();
    postcard::to_allocvec(&(table, diagnosis, recipes, evidence, elections, ensemble, promised, table.head_waits()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TableFixture, surveyed};
    use crate::record::frame;
    use lockscope_base::recipe::PathPattern;
    use lockscope_model::queue::Expectation;

    #[test]
    fn a_state_is_read_with_all_evidence_and_without_it_from_older_recordings() {
        let mut fixture = TableFixture::new();
        let path = PathPattern::new("/jobs/*").expect("a pattern");
        let held_at_most = Some(Duration::from_secs(600));
        let expected = Expectation { path, candidates: None, leader_within: None, held_at_most };
        fixture.table = fixture.table.clone().with_expectations(&[expected]);
        fixture.apply(surveyed(Vec::new(), fixture.now));
        let (table, diagnosis) = (&fixture.table, Diagnosis::new(Thresholds::default()));
        let read = |bytes: &[u8]| RecordedState::read(&frame::pack(bytes).expect("packed bytes")).expect("a state").0;
        let state = read(&write(table, &diagnosis).expect("written bytes"));
        assert_eq!(state.table.session_evidence(), table.session_evidence());
        assert!(state.table.view().min_session_timeout().is_some());
        assert_eq!(state.table.ensemble_state(), table.ensemble_state());
        assert_eq!(state.table.view().voters, Some(1));
        assert_eq!(state.table.expectations(), table.expectations());

        let older = (table, &diagnosis, table.own_recipes());
        let of_format = |written: Result<Vec<u8>, postcard::Error>| read(&written.expect("written bytes")).table;
        let table = of_format(postcard::to_allocvec(&older));
        assert_eq!((table.view().min_session_timeout(), table.view().voters), (None, None));
        let elections = (fixture.table.elections(), diagnosis.thresholds().flapping);
        let table = of_format(postcard::to_allocvec(&(older, fixture.table.session_evidence(), elections)));
        assert!(table.view().min_session_timeout().is_some() && table.view().voters.is_none());
    }
}

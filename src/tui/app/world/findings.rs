//! Looks what is wrong with the locks of a world.

use std::time::Duration;

use rustc_hash::FxHashSet;

use super::{TimelineEntry, World};
use crate::diagnose::{FindingChanges, Severity, rest_between_looks};
use crate::queue::LockId;
use crate::record::BatchRecorder;
use crate::znode::Timestamp;

impl World {
    /// Looks what is wrong with the locks, unless there are so many that it is too early for that.
    pub fn examine_if_due(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        let is_back = now < self.examined_at;
        if is_back || now.since(self.examined_at) >= rest_between_looks(&self.table) {
            self.examine(now, recorder);
        }
    }

    /// Looks after changes: what the nodes prove by themselves is known as soon as they are read, unless they are very many.
    /// `synced`: whether everything was just read; `surveyed`: whether the servers answered.
    pub(super) fn examine_after(
        &mut self,
        synced: bool,
        surveyed: bool,
        now: Timestamp,
        recorder: Option<&mut BatchRecorder>,
    ) {
        let rest = rest_between_looks(&self.table);
        if !self.table.is_live() || (synced && rest.is_zero()) {
            self.examine(now, recorder);
        } else if synced {
            self.examine_in_a_second(now, rest);
        } else if surveyed {
            self.examine_if_due(now, recorder);
        }
    }

    /// Very many locks that were just read are shown before they are looked at.
    fn examine_in_a_second(&mut self, now: Timestamp, rest: Duration) {
        let rest_ms = i64::try_from(rest.saturating_sub(Duration::from_secs(1)).as_millis()).unwrap_or(i64::MAX);
        self.examined_at = Timestamp(now.0.saturating_sub(rest_ms));
    }

    /// Looks what is wrong with the locks. Cut off from the servers, what was found stays as it was. Work follows the number of
    /// contenders.
    fn examine(&mut self, now: Timestamp, mut recorder: Option<&mut BatchRecorder>) {
        // A survey is from a little before what was seen since: findings stand in the timeline in the order of their times.
        let now = now.max(self.examined_at);
        self.examined_at = now;
        if !self.table.is_live() {
            self.was_cut_off = true;
            return;
        }
        let mut moved: Vec<LockId> = Vec::new();
        if std::mem::take(&mut self.was_cut_off) {
            let forgotten = match &mut recorder {
                Some(recorder) => recorder.forget_findings(now, &self.table, &mut self.diagnosis),
                None => self.diagnosis.start_over(),
            };
            moved.extend(forgotten.iter().map(|finding| finding.lock.id));
        }
        let found = match &mut recorder {
            Some(recorder) => recorder.examine(now, &self.table, &mut self.diagnosis).1,
            None => self.diagnosis.examine(&self.table, now),
        };
        self.locks.place_anew(&moved, &self.table, &self.diagnosis, now);
        self.take_findings(found, now);
    }

    /// Takes in what a look for findings changed.
    pub(super) fn take_findings(&mut self, found: FindingChanges, now: Timestamp) {
        let FindingChanges { raised, cleared } = found;
        let standing = self.diagnosis.findings().chain(cleared.iter().map(|finding| &**finding));
        let moved: Vec<LockId> = standing.map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, &self.table, &self.diagnosis, now);
        self.troubled = self.count_troubled();
        let entry = |raised| move |finding| TimelineEntry::Finding { at: now, finding, raised };
        for entry in cleared.into_iter().map(entry(false)).chain(raised.into_iter().map(entry(true))) {
            self.push(entry);
        }
    }

    pub(super) fn count_troubled(&self) -> (usize, usize) {
        let locks: FxHashSet<LockId> = self.diagnosis.findings().map(|finding| finding.lock.id).collect();
        let worst = locks.into_iter().filter_map(|lock| self.diagnosis.worst(lock)).map(|finding| finding.severity);
        worst.fold((0, 0), |(critical, warning), severity| match severity {
            Severity::Critical => (critical + 1, warning),
            Severity::Warning => (critical, warning + 1),
            Severity::Info => (critical, warning),
        })
    }

    /// How many locks have a critical finding as their worst, and how many a warning.
    pub fn troubled(&self) -> (usize, usize) {
        self.troubled
    }
}

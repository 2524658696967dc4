//! Looks what is wrong with the locks of a world.

use std::time::Duration;

use rustc_hash::FxHashSet;

use super::{TimelineEntry, World};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{FindingChanges, Severity, rest_between_looks};
use lockscope_model::queue::LockId;
use lockscope_past::record::BatchRecorder;

/// The rest between looks at hand-overs, for each lock and each contender: some ten times as long
/// as a look takes.
const REST_AFTER_HAND_OVER: Duration = Duration::from_micros(20);

impl World {
    /// Looks what is wrong with the locks, unless there are so many that it is too early for that.
    pub fn examine_if_due(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        let is_back = now < self.examined_at;
        if is_back || now.since(self.examined_at) >= rest_between_looks(&self.table) {
            self.examine(now, recorder);
        }
    }

    /// Looks after changes: what the nodes prove by themselves is known as soon as they are read, unless they are very many.
    /// `synced`: whether everything was just read; `surveyed`: whether the servers answered;
    /// `touched`: the locks that changed.
    pub(super) fn examine_after(
        &mut self,
        (synced, surveyed): (bool, bool),
        touched: &[LockId],
        now: Timestamp,
        recorder: Option<&mut BatchRecorder>,
    ) {
        let rest = rest_between_looks(&self.table);
        self.accuses_gone |= touched.iter().any(|lock| self.accuses_somebody_gone(*lock));
        if !self.table.is_live() || (synced && rest.is_zero()) {
            self.examine(now, recorder);
        } else if synced {
            self.examine_in_a_second(now, rest);
        } else if surveyed || (self.accuses_gone && rest.is_zero() && self.has_rested_after_hand_over(now)) {
            self.examine_if_due(now, recorder);
        }
    }

    /// Whether a finding of a lock is about a contender that is gone: it would stand beside the
    /// next holder until the next look.
    fn accuses_somebody_gone(&self, lock: LockId) -> bool {
        let about_contenders = self.diagnosis.of(lock).filter(|finding| finding.client.is_some());
        about_contenders.filter_map(|finding| finding.node.as_deref()).any(|node| !self.table.stands(lock, node))
    }

    /// Bounds the share of this machine's time that looks take while locks change hands all the
    /// time.
    fn has_rested_after_hand_over(&self, now: Timestamp) -> bool {
        let nodes = u32::try_from(self.table.lock_count() + self.table.contender_count()).unwrap_or(u32::MAX);
        now.since(self.examined_at) >= REST_AFTER_HAND_OVER.saturating_mul(nodes)
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
        (self.examined_at, self.accuses_gone) = (now, false);
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
        self.lately.look(&self.table, now);
        for finding in &raised {
            self.lately.take_finding(finding, now);
        }
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

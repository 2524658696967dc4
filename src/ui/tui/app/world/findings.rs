//! Looks what is wrong with the locks of a world.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::{TimelineEntry, World};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Finding, FindingChanges, Severity, rest_between_looks};
use lockscope_model::queue::LockId;
use lockscope_past::record::{BatchRecorder, Looked};

/// The rest between looks at hand-overs, for each lock and each contender: some ten times as long
/// as a look takes.
const REST_AFTER_HAND_OVER: Duration = Duration::from_micros(20);

impl World {
    /// Looks what is wrong with the locks, unless there are so many that it is too early for that.
    pub fn examine_if_due(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        let is_back = now < self.examined_at;
        if is_back || now.since(self.examined_at) >= rest_between_looks(self.live.table()) {
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
        let rest = rest_between_looks(self.live.table());
        self.accuses_gone |= touched.iter().any(|lock| self.accuses_somebody_gone(*lock));
        if !self.live.table().is_live() || (synced && rest.is_zero()) {
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
        let about_contenders = self.live.diagnosis().of(lock).filter(|finding| finding.client.is_some());
        about_contenders.filter_map(|finding| finding.node.as_deref()).any(|node| !self.live.table().stands(lock, node))
    }

    /// Bounds the share of this machine's time that looks take while locks change hands all the
    /// time.
    fn has_rested_after_hand_over(&self, now: Timestamp) -> bool {
        let nodes =
            u32::try_from(self.live.table().lock_count() + self.live.table().contender_count()).unwrap_or(u32::MAX);
        now.since(self.examined_at) >= REST_AFTER_HAND_OVER.saturating_mul(nodes)
    }

    /// Very many locks that were just read are shown before they are looked at.
    fn examine_in_a_second(&mut self, now: Timestamp, rest: Duration) {
        let rest_ms = i64::try_from(rest.saturating_sub(Duration::from_secs(1)).as_millis()).unwrap_or(i64::MAX);
        self.examined_at = Timestamp(now.0.saturating_sub(rest_ms));
    }

    /// Looks what is wrong with the locks. Work follows the number of contenders.
    fn examine(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        // A survey is from a little before what was seen since: findings stand in the timeline in the order of their times.
        let now = now.max(self.examined_at);
        (self.examined_at, self.accuses_gone) = (now, false);
        if let Some(Looked { forgotten, changes, .. }) = self.live.look(now, recorder) {
            self.place_anew(&forgotten, now);
            self.take_findings(changes, now);
        }
    }

    /// The locks of these findings have others now, or none.
    pub(super) fn place_anew(&mut self, findings: &[Arc<Finding>], now: Timestamp) {
        let moved: Vec<LockId> = findings.iter().map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, self.live.table(), self.live.diagnosis(), now);
    }

    /// Takes in what a look for findings changed.
    pub(super) fn take_findings(&mut self, found: FindingChanges, now: Timestamp) {
        let FindingChanges { raised, cleared } = found;
        self.lately.look(self.live.table(), now);
        for finding in &raised {
            self.lately.take_finding(finding, now);
        }
        let standing = self.live.diagnosis().findings().chain(cleared.iter().map(|finding| &**finding));
        let moved: Vec<LockId> = standing.map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, self.live.table(), self.live.diagnosis(), now);
        self.troubled = self.count_troubled();
        let entry = |raised| move |finding| TimelineEntry::Finding { at: now, finding, raised };
        for entry in cleared.into_iter().map(entry(false)).chain(raised.into_iter().map(entry(true))) {
            self.push(entry);
        }
    }

    pub(super) fn count_troubled(&self) -> (usize, usize) {
        let locks: FxHashSet<LockId> = self.live.diagnosis().findings().map(|finding| finding.lock.id).collect();
        let worst =
            locks.into_iter().filter_map(|lock| self.live.diagnosis().worst(lock)).map(|finding| finding.severity);
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

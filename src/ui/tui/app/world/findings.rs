//! Checks the locks of a [`World`] for findings.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::{TimelineEntry, World};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Finding, FindingChanges, LastLook, OpenCheck, Severity, rest_between_checks};
use lockscope_model::queue::{LedBefore, LockId};
use lockscope_past::record::{BatchRecorder, Looked};

/// Pause between two checks after hand-overs, for each lock and contender. A check takes about 1 µs
/// for each, so these checks use at most about 5 % of a core.
const REST_AFTER_HAND_OVER: Duration = Duration::from_micros(20);

impl World {
    /// Checks the locks for findings, unless the pause that [`rest_between_checks`] asks for is not
    /// over. A clock that went back ends the pause.
    pub fn examine_if_due(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        let is_back = now < self.examined_at;
        if is_back || now.since(self.examined_at) >= rest_between_checks(self.live.table()) {
            self.examine(now, recorder);
        }
    }

    /// Learns who led elections before they were watched. The next check says it.
    pub fn learn_leaders(&mut self, found: Vec<LedBefore>) {
        self.live.learn_leaders(found);
    }

    /// Checks for findings after changes. Findings that need only the nodes appear as soon as the
    /// nodes are read, unless there are 25,000 locks and contenders or more.
    ///
    /// `synced`: whether everything was just read; `surveyed`: whether the servers answered;
    /// `touched`: the locks that changed.
    pub(super) fn examine_after(
        &mut self,
        (synced, surveyed): (bool, bool),
        touched: &[LockId],
        now: Timestamp,
        recorder: Option<&mut BatchRecorder>,
    ) {
        let rest = rest_between_checks(self.live.table());
        self.accuses_gone |= touched.iter().any(|lock| self.accuses_somebody_gone(*lock));
        if !self.live.table().is_live() || (synced && rest.is_zero()) {
            self.examine(now, recorder);
        } else if synced {
            self.examine_in_a_second(now, rest);
        } else if surveyed || (self.accuses_gone && rest.is_zero() && self.has_rested_after_hand_over(now)) {
            self.examine_if_due(now, recorder);
        }
    }

    /// Returns whether a finding of a lock is about a contender that is gone. Until the next check,
    /// the finding would be shown beside the next holder.
    fn accuses_somebody_gone(&self, lock: LockId) -> bool {
        let about_contenders = self.live.diagnosis().of(lock).filter(|finding| finding.client.is_some());
        about_contenders.filter_map(|finding| finding.node.as_deref()).any(|node| !self.live.table().stands(lock, node))
    }

    /// Returns whether the pause since the last check is long enough. The pause bounds the CPU time
    /// of checks while locks change hands all the time.
    fn has_rested_after_hand_over(&self, now: Timestamp) -> bool {
        let nodes =
            u32::try_from(self.live.table().lock_count() + self.live.table().contender_count()).unwrap_or(u32::MAX);
        now.since(self.examined_at) >= REST_AFTER_HAND_OVER.saturating_mul(nodes)
    }

    /// Makes the next check due in a second, so that very many new locks are shown before it.
    fn examine_in_a_second(&mut self, now: Timestamp, rest: Duration) {
        let rest_ms = i64::try_from(rest.saturating_sub(Duration::from_secs(1)).as_millis()).unwrap_or(i64::MAX);
        self.examined_at = Timestamp(now.0.saturating_sub(rest_ms));
    }

    /// Checks the locks for findings. Linear in the number of contenders.
    fn examine(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        // A survey can be older than the last check. The later time keeps the timeline in order.
        let now = now.max(self.examined_at);
        (self.examined_at, self.accuses_gone) = (now, false);
        if let Some(Looked { forgotten, changes, .. }) = self.live.diagnose(now, recorder) {
            self.place_anew(&forgotten, now);
            self.take_findings(changes, now);
        }
    }

    /// Moves the locks of these findings in the list, because their findings have changed.
    pub(super) fn place_anew(&mut self, findings: &[Arc<Finding>], now: Timestamp) {
        let moved: Vec<LockId> = findings.iter().map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, self.live.table(), self.live.diagnosis(), now);
    }

    /// Applies the findings that a check raised and cleared to the lists and the timeline.
    pub(super) fn take_findings(&mut self, found: FindingChanges, now: Timestamp) {
        let FindingChanges { raised, cleared } = found;
        self.lately.find_longest(self.live.table(), now);
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

    /// Returns the number of checks that are not decided whose findings somebody should look at.
    pub fn open_checks(&self) -> usize {
        self.live.diagnosis().last_look().map_or(0, |look| look.open_count(Severity::Warning))
    }

    /// Returns the checks of a lock that are not decided.
    pub fn open_checks_of(&self, lock: LockId) -> impl Iterator<Item = &OpenCheck> {
        let open = self.live.diagnosis().last_look().into_iter().flat_map(LastLook::open);
        open.filter(move |open| open.lock.id == lock)
    }

    /// Returns the number of locks whose worst finding is critical, and of those whose worst is a
    /// warning.
    pub fn troubled(&self) -> (usize, usize) {
        self.troubled
    }
}

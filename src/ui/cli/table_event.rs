//! What the headless commands report of a table: its events, one a line, the findings, and
//! unreadable nodes.
//!
//! The schedule of the looks for findings is pure, and so are the results that are not reported
//! yet.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use std::vec;

use anyhow::ensure;
use tokio::time::Instant;

use super::output::line;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::diagnose::{Finding, FindingChanges};
use lockscope_model::ensemble::{EnsembleEvent, EnsembleEventKind, EnsembleLine};
use lockscope_model::queue::{Happening, LockName, LockTable, SampledCounts};
use lockscope_model::report::{FindingNews, Initial};
use lockscope_past::record::LookOutcome;

/// The meaning of a change of the table.
pub enum TableEvent {
    /// An event of a lock or of the connection, with its reason where known.
    Happening(Happening, Option<String>),
    /// A part of the state when everything was first read.
    Initial(Initial),
    /// A count of a lock that is the first one or has changed.
    Sampled(LockName, SampledCounts),
    /// A time in which nothing was recorded.
    Gap { from: Timestamp, until: Timestamp },
    /// Something that began or ended in the ensemble as a whole.
    Ensemble { event: EnsembleEvent, at: Timestamp },
    /// A finding that was raised or cleared.
    Finding { finding: Arc<Finding>, news: FindingNews, at: Timestamp },
}

/// The part of the ensemble's time line that was printed.
#[derive(Debug, Default)]
pub struct ToldEnsemble {
    revision: u64,
}

impl ToldEnsemble {
    /// Returns what changed in the line. The cuts of our own connection are printed apart.
    pub fn news(&mut self, line: &EnsembleLine, at: Timestamp) -> Vec<TableEvent> {
        let before = std::mem::replace(&mut self.revision, line.revision());
        // Another run of a recorder begins with a line of its own.
        let since = if line.revision() < before { 0 } else { before };
        let changed = line.changed_after(since).filter(|event| event.what != EnsembleEventKind::NotSeen);
        changed.map(|event| TableEvent::Ensemble { event: event.clone(), at }).collect()
    }
}

/// The shortest interval between looks for findings without new server views.
const EXAMINATION_INTERVAL: Duration = Duration::from_secs(1);

/// Schedules the looks for findings: once a second and after each server view, and less often with
/// very many locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExaminationPace {
    /// `None` when no findings are wanted.
    next: Option<Instant>,
    /// The earliest time of the next look.
    not_before: Option<Instant>,
    rests: bool,
}

impl ExaminationPace {
    /// Starts the schedule. `rests` tells whether to rest between two looks at very many locks.
    pub fn start(&mut self, now: Instant, rests: bool) {
        *self = Self { next: Some(now + EXAMINATION_INTERVAL), not_before: None, rests };
    }

    /// Returns when the next look begins; `None` when there is none.
    pub fn due(&self) -> Option<Instant> {
        self.next
    }

    /// Schedules a look as soon as possible, because a new server view arrived.
    pub fn view_came(&mut self, now: Instant) {
        self.next = self.next.map(|_| self.not_before.map_or(now, |not_before| not_before.max(now)));
    }

    /// Records a look, after which `rest` is due because of the number of locks.
    pub fn examined(&mut self, now: Instant, rest: Duration) {
        let rest = if self.rests { rest } else { Duration::ZERO };
        self.not_before = Some(now + rest);
        self.next = self.next.map(|_| now + rest.max(EXAMINATION_INTERVAL));
    }
}

/// The changes of a look that are not reported yet: first the findings that went, then the raised
/// ones.
#[derive(Debug, Default)]
pub struct UnreportedFindings {
    forgotten: vec::IntoIter<Arc<Finding>>,
    cleared: vec::IntoIter<Arc<Finding>>,
    raised: vec::IntoIter<Arc<Finding>>,
    muted: vec::IntoIter<Arc<Finding>>,
    at: Timestamp,
}

impl UnreportedFindings {
    /// Takes the result of a look.
    pub fn new(looked: LookOutcome) -> Self {
        let LookOutcome { at, forgotten, changes } = looked;
        let FindingChanges { raised, cleared, muted } = changes;
        Self {
            forgotten: forgotten.into_iter(),
            cleared: cleared.into_iter(),
            raised: raised.into_iter(),
            muted: muted.into_iter(),
            at,
        }
    }
}

impl Iterator for UnreportedFindings {
    /// A finding, what became of it, and when.
    type Item = (Arc<Finding>, FindingNews, Timestamp);

    fn next(&mut self) -> Option<Self::Item> {
        let went = self.forgotten.next().map(|finding| (finding, FindingNews::Forgotten));
        let went = went.or_else(|| Some((self.cleared.next()?, FindingNews::Cleared)));
        let came = went.or_else(|| Some((self.raised.next()?, FindingNews::Raised)));
        let (finding, news) = came.or_else(|| {
            let finding = self.muted.next()?;
            let news = if finding.muted.is_some() { FindingNews::Muted } else { FindingNews::Unmuted };
            Some((finding, news))
        })?;
        Some((finding, news, self.at))
    }
}

/// The most nodes named one by one; of more, only their number is given.
const MAX_NAMED: usize = 20;

/// Fails when there are no locks and no root can be read.
pub fn some_root_is_readable(locks: &LockTable, roots: &[ZnodePath]) -> anyhow::Result<()> {
    let unreadable = unreadable_roots(locks, roots);
    ensure!(
        locks.lock_count() > 0 || unreadable.len() < roots.len(),
        "none of the roots can be read: {}: name others with --root, or give an identity with --auth-file",
        unreadable.join(", ")
    );
    Ok(())
}

/// Fails when a whole root cannot be read.
pub fn every_root_is_readable(locks: &LockTable, roots: &[ZnodePath]) -> anyhow::Result<()> {
    let unreadable = unreadable_roots(locks, roots);
    ensure!(
        unreadable.is_empty(),
        "not every root can be read: {}: leave it out of --root, or give an identity with --auth-file",
        unreadable.join(", ")
    );
    Ok(())
}

/// Returns the roots of which nothing can be read, each with the reason.
fn unreadable_roots(locks: &LockTable, roots: &[ZnodePath]) -> Vec<String> {
    // A root within an unreadable node is not read by itself.
    let reason = |root: &ZnodePath| locks.unreadable().iter().find(|(place, _)| root.is_within(place));
    roots.iter().filter_map(|root| reason(root).map(|(_, why)| format!("{root} ({why})"))).collect()
}

/// Reports each unreadable node once.
#[derive(Debug, Default)]
pub struct UnreadableNotices {
    reported: BTreeSet<ZnodePath>,
}

impl UnreadableNotices {
    /// Returns a line for each node that has become unreadable, as long as there are few. A node
    /// that was readable in between is reported again.
    pub fn next(&mut self, locks: &LockTable) -> String {
        let places = locks.unreadable();
        if places.is_empty() && self.reported.is_empty() {
            return String::new();
        }
        self.reported.retain(|place| places.contains_key(place));
        let unreported: Vec<(&ZnodePath, &String)> =
            places.iter().filter(|(place, _)| !self.reported.contains(*place)).collect();
        let mut text = String::new();
        for (place, why) in unreported.iter().take(MAX_NAMED) {
            text += &line(&format!("{place} cannot be read: {why}"));
        }
        if unreported.len() > MAX_NAMED {
            text += &line(&format!("{} places more cannot be read", unreported.len() - MAX_NAMED));
        }
        self.reported.extend(unreported.into_iter().map(|(place, _)| place.clone()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, table};
    use lockscope_base::znode::Timestamp;
    use lockscope_model::queue::Change;

    const SECOND: Duration = Duration::from_secs(1);

    /// Makes the due look; returns the time from then until the next one.
    fn pause_after(pace: &mut ExaminationPace, rest: Duration) -> Duration {
        let now = pace.due().expect("findings are wanted");
        pace.examined(now, rest);
        pace.due().expect("findings are still wanted") - now
    }

    #[test]
    fn few_locks_are_examined_once_a_second_and_very_many_after_a_rest() {
        let mut pace = ExaminationPace::default();
        let start = Instant::now();
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(start, true);
        assert_eq!(pace.due(), Some(start + EXAMINATION_INTERVAL));
        assert_eq!([0, 1, 7].map(|rest| pause_after(&mut pace, rest * SECOND)), [SECOND, SECOND, 7 * SECOND]);
    }

    #[test]
    fn a_single_reading_does_not_rest() {
        let mut pace = ExaminationPace::default();
        pace.start(Instant::now(), false);
        assert_eq!(pause_after(&mut pace, 10 * SECOND), SECOND);
    }

    #[test]
    fn a_server_view_is_examined_at_once_unless_rest_is_due() {
        let mut pace = ExaminationPace::default();
        let now = Instant::now();
        pace.view_came(now);
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(now, true);
        pace.view_came(now);
        assert_eq!(pace.due(), Some(now));
        pace.examined(now, 10 * SECOND);
        for second in 2..=5 {
            pace.view_came(now + second * SECOND);
            assert_eq!(pace.due(), Some(now + 10 * SECOND));
        }
        pace.view_came(now + 12 * SECOND);
        assert_eq!(pace.due(), Some(now + 12 * SECOND));
    }

    fn closed<'a>(places: impl IntoIterator<Item = &'a str>) -> LockTable {
        let unreadable = |place| Change::Unreadable { path: path(place), why: "no READ".into() };
        table(places.into_iter().map(unreadable), Timestamp(0))
    }

    #[test]
    fn only_a_completely_unreadable_root_is_an_error() {
        let table = closed(["/a", "/b/c"]);
        let refusal = |roots: &[&str]| {
            let roots: Vec<ZnodePath> = roots.iter().copied().map(path).collect();
            every_root_is_readable(&table, &roots).err().map(|error| error.to_string())
        };
        assert_eq!((refusal(&["/"]), refusal(&["/b", "/aa"])), (None, None));
        let sentence = refusal(&["/b", "/a/x", "/b/c"]).unwrap();
        assert!(sentence.contains("/a/x (no READ), /b/c (no READ)"), "{sentence}");
    }

    #[test]
    fn a_node_is_reported_once_and_again_after_it_was_readable() {
        let mut notices = UnreadableNotices::default();
        assert_eq!(notices.next(&closed(["/a"])), "lockscope: /a cannot be read: no READ\n");
        assert_eq!(notices.next(&closed(["/a"])), "");
        assert_eq!(notices.next(&closed([])), "");
        assert_eq!(notices.next(&closed(["/a"])).lines().count(), 1);
    }

    #[test]
    fn of_very_many_nodes_the_number_is_reported() {
        let places: Vec<String> = (0..1000).map(|n| format!("/closed{n}")).collect();
        let text = UnreadableNotices::default().next(&closed(places.iter().map(String::as_str)));
        assert_eq!(text.lines().count(), MAX_NAMED + 1);
        assert!(text.ends_with("980 places more cannot be read\n"), "{text}");
    }
}

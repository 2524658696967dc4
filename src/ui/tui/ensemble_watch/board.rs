//! The latest summary of each ensemble. A new one replaces one that was not taken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use crate::tui::app::{EnsembleReport, Filter};

/// The shortest time between two takes: summaries that come meanwhile are taken together.
const GATHER: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct Board {
    untaken: Mutex<Untaken>,
    posted: Notify,
    /// The filter of the list.
    filter: watch::Sender<Filter>,
}

#[derive(Debug, Default)]
struct Untaken {
    reports: BTreeMap<Arc<str>, EnsembleReport>,
    taken: Option<Instant>,
}

impl Board {
    /// Sets the filter of the list, for which each ensemble is looked through.
    pub(super) fn set_filter(&self, filter: Filter) {
        self.filter.send_replace(filter);
    }

    /// Returns the filter of the list, now and later.
    pub(super) fn filter(&self) -> watch::Receiver<Filter> {
        self.filter.subscribe()
    }

    /// Posts a report. Never waits.
    pub(super) fn post(&self, report: EnsembleReport) {
        let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
        untaken.reports.insert(Arc::clone(&report.name), report);
        drop(untaken);
        self.posted.notify_one();
    }

    /// Waits for summaries and takes them. Cancel safe.
    pub(super) async fn next(&self) -> Vec<EnsembleReport> {
        loop {
            let due = {
                let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
                let due = untaken.taken.map(|taken| taken + GATHER).filter(|due| *due > Instant::now());
                if due.is_none() && !untaken.reports.is_empty() {
                    untaken.taken = Some(Instant::now());
                    return std::mem::take(&mut untaken.reports).into_values().collect();
                }
                due
            };
            match due {
                Some(due) => sleep_until(due).await,
                None => self.posted.notified().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::app::FoundLocks;
    use lockscope_model::diagnose::{Diagnosis, Thresholds};
    use lockscope_model::queue::LockTable;
    use lockscope_model::summary::{ChangeRate, EnsembleSummary};

    fn report(name: &str, at: i64) -> EnsembleReport {
        let diagnosis = Diagnosis::new(Thresholds::default());
        let at = lockscope_base::znode::Timestamp(at);
        let summary = EnsembleSummary::new(&LockTable::new([]), &diagnosis, &ChangeRate::default(), None, at);
        EnsembleReport { name: name.into(), summary, found: FoundLocks::default() }
    }

    #[tokio::test]
    async fn a_summary_that_was_not_taken_is_replaced_and_takes_are_apart() {
        let board = Board::default();
        board.post(report("one", 1));
        let began = Instant::now();
        assert_eq!(board.next().await.len(), 1);
        for at in 2..9 {
            board.post(report("one", at));
        }
        board.post(report("other", 9));
        let taken = board.next().await;
        let taken: Vec<_> = taken.iter().map(|report| (&*report.name, report.summary.at.0)).collect();
        assert_eq!(taken, [("one", 8), ("other", 9)]);
        assert!(began.elapsed() >= GATHER, "the second take waits");
    }
}

//! The latest summary of each ensemble. A new one replaces one that was not taken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::tui::app::EnsembleReport;
use lockscope_model::summary::EnsembleSummary;

/// The shortest time between two takes: summaries that come meanwhile are taken together.
const GATHER: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct Board {
    untaken: Mutex<Untaken>,
    posted: Notify,
}

#[derive(Debug, Default)]
struct Untaken {
    summaries: BTreeMap<Arc<str>, EnsembleSummary>,
    taken: Option<Instant>,
}

impl Board {
    /// Posts a summary. Never waits.
    pub(super) fn post(&self, name: &Arc<str>, summary: EnsembleSummary) {
        let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
        untaken.summaries.insert(Arc::clone(name), summary);
        drop(untaken);
        self.posted.notify_one();
    }

    /// Waits for summaries and takes them. Cancel safe.
    pub(super) async fn next(&self) -> Vec<EnsembleReport> {
        loop {
            let due = {
                let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
                let due = untaken.taken.map(|taken| taken + GATHER).filter(|due| *due > Instant::now());
                if due.is_none() && !untaken.summaries.is_empty() {
                    untaken.taken = Some(Instant::now());
                    let taken = std::mem::take(&mut untaken.summaries).into_iter();
                    return taken.map(|(name, summary)| EnsembleReport { name, summary }).collect();
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
    use lockscope_model::diagnose::{Diagnosis, Thresholds};
    use lockscope_model::queue::LockTable;
    use lockscope_model::summary::ChangeRate;

    fn summary(at: i64) -> EnsembleSummary {
        let diagnosis = Diagnosis::new(Thresholds::default());
        let at = lockscope_base::znode::Timestamp(at);
        EnsembleSummary::new(&LockTable::new([]), &diagnosis, &ChangeRate::default(), None, at)
    }

    #[tokio::test]
    async fn a_summary_that_was_not_taken_is_replaced_and_takes_are_apart() {
        let board = Board::default();
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        board.post(&one, summary(1));
        let began = Instant::now();
        assert_eq!(board.next().await.len(), 1);
        for at in 2..9 {
            board.post(&one, summary(at));
        }
        board.post(&other, summary(9));
        let taken = board.next().await;
        let taken: Vec<_> = taken.iter().map(|report| (&*report.name, report.summary.at.0)).collect();
        assert_eq!(taken, [("one", 8), ("other", 9)]);
        assert!(began.elapsed() >= GATHER, "the second take waits");
    }
}

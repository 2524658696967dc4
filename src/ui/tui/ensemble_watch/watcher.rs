//! Follows one ensemble that is not open, and summarizes it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Followed;
use super::board::Board;
use crate::tui::app::{EnsembleReport, Filter, FoundLocks};
use lockscope_base::time::now;
use lockscope_live::deadline::until;
use lockscope_live::observe::Observed;
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy};
use lockscope_model::diagnose::rest_between_checks;
use lockscope_model::queue::Change;
use lockscope_model::server_view::ServerView;
use lockscope_model::summary::{ChangeRate, EnsembleSummary};

/// The shortest time between two looks for findings, and thus between two summaries.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Follows one ensemble.
pub(super) struct Watcher {
    name: Arc<str>,
    followed: Followed,
    survey: SurveyOptions,
    /// When the survey starts.
    survey_from: Instant,
    board: Arc<Board>,
    /// The filter of the list.
    filter: watch::Receiver<Filter>,
    changes: ChangeRate,
    posted: Option<EnsembleSummary>,
    looked: Option<Instant>,
    /// Whether something has changed since the last look.
    is_changed: bool,
    /// Whether the observer has ended by itself.
    is_over: bool,
}

impl Watcher {
    pub(super) fn new(
        name: Arc<str>,
        followed: Followed,
        survey: SurveyOptions,
        after: Duration,
        board: Arc<Board>,
    ) -> Self {
        Self {
            name,
            followed,
            survey,
            survey_from: Instant::now() + after,
            filter: board.filter(),
            board,
            changes: ChangeRate::default(),
            posted: None,
            looked: None,
            is_changed: true,
            is_over: false,
        }
    }

    /// Watches until it is stopped. Returns what it followed.
    pub(super) async fn watch(mut self, stop: CancellationToken) -> Followed {
        let mut surveyor: Option<Surveyor> = None;
        loop {
            let starts = surveyor.is_none() && self.survey.by != ViewBy::Off && self.has_read();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = until(self.next_look()) => self.look(),
                // The board lives as long as the watcher.
                Ok(()) = self.filter.changed() => self.post(),
                () = sleep_until(self.survey_from), if starts => {
                    // A malformed connect string is refused long before.
                    let before = self.followed.live.table().view();
                    surveyor = Surveyor::start_after(self.survey.clone(), before).ok();
                    self.survey_from += self.survey.min_interval;
                }
                batch = self.followed.observer.next(), if !self.is_over => {
                    (self.is_over, self.is_changed) = (batch.is_none(), true);
                    self.take(batch.unwrap_or_default());
                }
                view = viewed(surveyor.as_mut()) => {
                    self.followed.observer.compare_members(&view);
                    self.take(vec![Observed { at: view.at, change: Change::Surveyed { view } }]);
                }
            }
        }
        if let Some(surveyor) = surveyor {
            surveyor.stop().await;
        }
        self.followed
    }

    /// Whether the locks were read, after which the servers are asked.
    fn has_read(&self) -> bool {
        self.followed.live.table().last_true().is_some()
    }

    /// When to look for findings next: waits become longer without a change too.
    fn next_look(&self) -> Option<Instant> {
        let table = self.followed.live.table();
        let is_wanted = self.is_changed || (table.is_live() && table.contender_count() > 0);
        let interval = LOOK_INTERVAL + rest_between_checks(table);
        is_wanted.then(|| self.looked.map_or_else(Instant::now, |looked| looked + interval))
    }

    fn take(&mut self, batch: Vec<Observed>) {
        let was_live = self.followed.live.table().is_live();
        let mut changes = 0;
        for Observed { at, change } in batch {
            changes += usize::from(is_of_node(&change));
            self.followed.live.apply(change, at, None);
        }
        // What the first reading finds is no change.
        if was_live {
            self.changes.add(changes, now());
        }
        self.is_changed = true;
        if was_live != self.followed.live.table().is_live() {
            self.look();
        }
    }

    fn look(&mut self) {
        let (at, live) = (now(), &mut self.followed.live);
        live.take_touched();
        live.diagnose(at, None);
        let before = self.posted.as_ref();
        let summary = EnsembleSummary::new(live.table(), live.diagnosis(), &self.changes, before, at);
        (self.looked, self.is_changed) = (Some(Instant::now()), false);
        self.posted = Some(summary);
        self.post();
    }

    /// Posts the latest summary, and the locks that pass the filter of the list.
    fn post(&mut self) {
        let Some(summary) = self.posted.clone() else { return };
        let live = &self.followed.live;
        let filter = self.filter.borrow_and_update().clone();
        let found = FoundLocks::of(&filter, live.table(), live.diagnosis(), now());
        self.board.post(EnsembleReport { name: Arc::clone(&self.name), summary, found });
    }
}

fn is_of_node(change: &Change) -> bool {
    !matches!(
        change,
        Change::Surveyed { .. } | Change::Compared { .. } | Change::Connection(_) | Change::Syncing | Change::Synced
    )
}

/// Waits for the next view; forever without a surveyor.
async fn viewed(surveyor: Option<&mut Surveyor>) -> Arc<ServerView> {
    match surveyor {
        Some(surveyor) => match surveyor.next().await {
            Some(view) => view,
            None => pending().await,
        },
        None => pending().await,
    }
}

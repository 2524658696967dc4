//! Watches the ensembles that are not open, each in a task of its own, so that none of them waits
//! for another.
//!
//! ```text
//! Observer, Surveyor --> LiveState --> EnsembleSummary --> board --> the console, at most 4 a second
//! ```
//!
//! The task of the ensemble that the user opens ends, and the console goes on with its observer and
//! its state. When the user opens another one, they come back.
//!
//! Costs to each ensemble that is not open: those of [`Observer`] and of a [`Surveyor`] that asks
//! each server at most once in [`SURVEY_INTERVAL`], and never for watchers.
//!
//! A `Watcher` follows one ensemble and summarizes it. The `EnsembleBoard` has the latest summary
//! of each; a new one replaces one that was not taken.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::app::{EnsembleReport, EnsembleRow, Filter, FoundLocks, KnownFindings, WatchedEnsembles};
use lockscope_base::time::now;
use lockscope_live::admin::notebook::{KnownFinding, NotesFollower};
use lockscope_live::deadline::until;
use lockscope_live::observe::{ObserveOptions, Observed, Observer};
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy};
use lockscope_model::diagnose::{
    CrossWaitsByEnsemble, EnsembleClaims, TableAt, Thresholds, crossed_now, rest_between_checks,
};
use lockscope_model::queue::Change;
use lockscope_model::report::ReportedEnsemble;
use lockscope_model::server_view::ServerView;
use lockscope_model::summary::{ChangeRate, EnsembleSummary};
use lockscope_past::record::LiveState;

/// The shortest interval between questions to a server about itself.
const SURVEY_INTERVAL: Duration = Duration::from_secs(5);

/// The pause between the starts of two surveys, so that many ensembles are not asked all at once.
const SURVEY_STAGGER: Duration = Duration::from_millis(50);

/// How to watch one of several ensembles.
#[derive(Clone, Debug)]
pub struct EnsembleWatchOptions {
    /// What to observe.
    pub observe: ObserveOptions,
    /// How to ask the servers about themselves.
    pub survey: SurveyOptions,
    /// When findings are raised.
    pub thresholds: Thresholds,
    /// Follows what is muted.
    pub notes: NotesFollower,
}

/// One of several ensembles.
#[derive(Clone, Debug)]
pub struct EnsembleToWatch {
    /// The name of its context.
    pub name: String,
    /// Whether its context is marked as production.
    pub production: bool,
    /// How to watch it, or a sentence that says why its options cannot be used.
    pub options: Result<EnsembleWatchOptions, String>,
}

/// An ensemble that is followed: what one console hands to the next.
pub struct Followed {
    pub observer: Observer,
    pub live: LiveState,
}

impl Followed {
    pub fn start(options: &EnsembleWatchOptions) -> Self {
        let live = LiveState::new(options.observe.table(), options.thresholds);
        Self { live, observer: Observer::start(options.observe.clone()) }
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed").field("locks", &self.live.table().lock_count()).finish_non_exhaustive()
    }
}

/// A task that watches one ensemble.
#[derive(Debug)]
struct WatchTask {
    stop: CancellationToken,
    task: JoinHandle<Followed>,
}

/// The ensembles of a console that shows several, and their list.
#[derive(Debug)]
pub struct EnsembleWatches {
    ensembles: Vec<WatchedEnsemble>,
    board: Arc<EnsembleBoard>,
    /// `None` while a console shows it.
    list: Option<Box<WatchedEnsembles>>,
}

#[derive(Debug)]
struct WatchedEnsemble {
    name: Arc<str>,
    options: EnsembleToWatch,
    /// `None` while the ensemble is open, or when it cannot be watched.
    task: Option<WatchTask>,
}

impl EnsembleWatches {
    /// Starts to watch all of them.
    pub fn start(ensembles: Vec<EnsembleToWatch>) -> Self {
        let mut stagger = Duration::ZERO;
        let board = Arc::new(EnsembleBoard::default());
        let start = |options: EnsembleToWatch| {
            let name: Arc<str> = options.name.as_str().into();
            stagger += SURVEY_STAGGER;
            let watched = options.options.as_ref().ok();
            let task = watched
                .map(|watched| WatchTask::start(Arc::clone(&name), Followed::start(watched), watched, stagger, &board));
            WatchedEnsemble { name, options, task }
        };
        let ensembles: Vec<WatchedEnsemble> = ensembles.into_iter().map(start).collect();
        let list = Some(Box::new(WatchedEnsembles::new(ensembles.iter().map(unknown_row))));
        Self { ensembles, board, list }
    }

    /// Returns the open ensemble, if one is open, and the list, for the next console.
    pub async fn hand_over(
        &mut self,
        name: Option<&str>,
        options: &EnsembleWatchOptions,
    ) -> (Option<Followed>, Box<WatchedEnsembles>) {
        let followed = match name {
            Some(name) => {
                let known = self.stop_watching(name, options).await;
                Some(known.unwrap_or_else(|| Followed::start(options)))
            }
            None => None,
        };
        (followed, self.list.take().unwrap_or_default())
    }

    /// Stops to watch an ensemble, and returns it. `None` when it is not watched, or when it was
    /// observed with other options: the config file has changed. Later it is watched with these.
    async fn stop_watching(&mut self, name: &str, options: &EnsembleWatchOptions) -> Option<Followed> {
        let watched = self.ensembles.iter_mut().find(|watched| *watched.name == *name)?;
        let is_same = watched.options.options.as_ref().is_ok_and(|known| known.observe == options.observe);
        watched.options.options = Ok(options.clone());
        let followed = watched.task.take()?.end().await?;
        if is_same {
            return Some(followed);
        }
        followed.observer.stop().await;
        None
    }

    /// Takes the list back, and watches the ensemble again that was open. Stops its observer when
    /// the ensemble is not one of those watched.
    pub async fn take_back(&mut self, list: Box<WatchedEnsembles>, name: Option<&str>, followed: Option<Followed>) {
        self.list = Some(list);
        let Some(followed) = followed else { return };
        let mut known = self.ensembles.iter_mut().filter(|watched| name == Some(&*watched.name));
        let Some((watched, options)) =
            known.next().and_then(|watched| Some((&mut watched.task, watched.options.options.as_ref().ok()?)))
        else {
            return followed.observer.stop().await;
        };
        let name = name.unwrap_or_default().into();
        *watched = Some(WatchTask::start(name, followed, options, SURVEY_STAGGER, &self.board));
    }

    pub fn board(&self) -> Arc<EnsembleBoard> {
        Arc::clone(&self.board)
    }

    /// Stops all observers, all at once; takes at most two seconds.
    pub async fn stop(self) {
        let tasks = self.ensembles.into_iter().filter_map(|watched| watched.task);
        join_all(tasks.map(|task| async {
            if let Some(followed) = task.end().await {
                followed.observer.stop().await;
            }
        }))
        .await;
    }
}

/// Returns the row of an ensemble of which nothing is known yet.
fn unknown_row(WatchedEnsemble { name, options, .. }: &WatchedEnsemble) -> EnsembleRow {
    EnsembleRow {
        name: Arc::clone(name),
        connect: options.options.as_ref().map_or_else(
            |_| String::new(),
            |options| ReportedEnsemble::new(&options.observe.connection.connect, None).connect().to_owned(),
        ),
        production: options.production,
        trouble: options.options.as_ref().err().cloned(),
        summary: None,
        news: 0,
        troubles: 0,
        known: KnownFindings::default(),
        found: FoundLocks::default(),
    }
}

impl WatchTask {
    fn start(
        name: Arc<str>,
        followed: Followed,
        options: &EnsembleWatchOptions,
        after: Duration,
        board: &Arc<EnsembleBoard>,
    ) -> Self {
        let stop = CancellationToken::new();
        let watcher = Watcher::new(name, followed, options, after, Arc::clone(board));
        let task = tokio::spawn(watcher.watch(stop.clone()));
        Self { stop, task }
    }

    async fn end(self) -> Option<Followed> {
        self.stop.cancel();
        // The runtime reports a panic.
        self.task.await.ok()
    }
}

/// The shortest time between two looks for findings, and thus between two summaries.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Follows one ensemble.
struct Watcher {
    name: Arc<str>,
    followed: Followed,
    survey: SurveyOptions,
    /// When the survey starts.
    survey_from: Instant,
    board: Arc<EnsembleBoard>,
    /// The filter of the list.
    filter: watch::Receiver<Filter>,
    crossed: watch::Receiver<CrossWaitsByEnsemble>,
    notes: NotesFollower,
    /// The findings that the notes know.
    noted: Arc<[KnownFinding]>,
    /// Changes when the console has noted something.
    renoted: watch::Receiver<()>,
    changes: ChangeRate,
    posted: Option<EnsembleSummary>,
    looked: Option<Instant>,
    /// Whether something has changed since the last look.
    is_changed: bool,
    /// Whether the observer has ended by itself.
    is_over: bool,
}

impl Watcher {
    fn new(
        name: Arc<str>,
        followed: Followed,
        options: &EnsembleWatchOptions,
        after: Duration,
        board: Arc<EnsembleBoard>,
    ) -> Self {
        let survey = SurveyOptions { min_interval: SURVEY_INTERVAL, ..options.survey.clone() };
        Self {
            notes: options.notes.clone(),
            noted: Arc::default(),
            renoted: board.noted.subscribe(),
            name,
            followed,
            survey,
            survey_from: Instant::now() + after,
            filter: board.filter(),
            crossed: board.crossed.subscribe(),
            board,
            changes: ChangeRate::default(),
            posted: None,
            looked: None,
            is_changed: true,
            is_over: false,
        }
    }

    /// Watches until it is stopped. Returns what it followed.
    async fn watch(mut self, stop: CancellationToken) -> Followed {
        let mut surveyor: Option<Surveyor> = None;
        loop {
            let starts = surveyor.is_none() && self.survey.by != ViewBy::Off && self.has_read();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = until(self.next_look()) => self.look(),
                // The board lives as long as the watcher.
                Ok(()) = self.filter.changed() => self.post(),
                Ok(()) = self.crossed.changed() => self.learn_cross_waits(),
                Ok(()) = self.renoted.changed() => self.look(),
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

    /// Learns which clients wait for each other here and in other ensembles.
    fn learn_cross_waits(&mut self) {
        let at = now();
        let told = self.crossed.borrow_and_update().get(&self.name).map(Arc::clone);
        let waits = crossed_now(told.as_ref(), &self.name, self.followed.live.table(), at);
        if let Some(waits) = waits {
            self.take(vec![Observed { at, change: Change::Crossed { waits } }]);
        }
    }

    fn look(&mut self) {
        let (at, live) = (now(), &mut self.followed.live);
        if let Some(notes) = self.notes.news() {
            self.noted = notes.findings.as_slice().into();
            live.apply(Change::Muted { mutes: Arc::clone(&notes.mutes) }, at, None);
        }
        live.take_touched();
        live.diagnose(at, None);
        self.notes.end_cleared(live.diagnosis().cleared_mutes(live.table()));
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
        let claims = EnsembleClaims::of(TableAt::new(live.table(), now()));
        let (name, noted) = (Arc::clone(&self.name), Arc::clone(&self.noted));
        self.board.post(EnsembleReport { name, summary, found, noted, claims });
    }
}

fn is_of_node(change: &Change) -> bool {
    !matches!(
        change,
        Change::Surveyed { .. }
            | Change::Compared { .. }
            | Change::Crossed { .. }
            | Change::Muted { .. }
            | Change::Connection(_)
            | Change::Syncing
            | Change::Synced
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

/// The shortest time between two takes: summaries that come meanwhile are taken together.
const GATHER: Duration = Duration::from_millis(250);

/// The same time while the user waits for answers to a filter.
const GATHER_ANSWERS: Duration = Duration::from_millis(20);

/// How long after a change of the filter answers are awaited.
const AWAITED: Duration = Duration::from_secs(1);

/// The latest summaries of the ensembles, for the console.
#[derive(Debug, Default)]
pub struct EnsembleBoard {
    untaken: Mutex<Untaken>,
    posted: Notify,
    /// The filter of the list.
    filter: watch::Sender<Filter>,
    /// The cycles of waits over several ensembles.
    crossed: watch::Sender<CrossWaitsByEnsemble>,
    /// Tells that the console has noted something.
    noted: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Untaken {
    reports: BTreeMap<Arc<str>, EnsembleReport>,
    taken: Option<Instant>,
    /// When the filter was changed last.
    asked: Option<Instant>,
}

impl Untaken {
    /// Returns when summaries may be taken again: soon while somebody waits for answers.
    fn due(&self) -> Option<Instant> {
        let is_awaited = self.asked.is_some_and(|asked| asked.elapsed() < AWAITED);
        self.taken.map(|taken| taken + if is_awaited { GATHER_ANSWERS } else { GATHER })
    }
}

impl EnsembleBoard {
    /// Sets the filter of the list: from now on, all ensembles are searched for locks that pass it.
    pub fn set_filter(&self, filter: Filter) {
        let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
        untaken.asked = Some(Instant::now());
        drop(untaken);
        self.filter.send_replace(filter);
    }

    /// Tells the ensembles that are not open of cycles in which they take part.
    pub fn tell_cross_waits(&self, told: CrossWaitsByEnsemble) {
        self.crossed.send_replace(told);
    }

    /// Lets all ensembles that are not open read the notes again.
    pub fn tell_notes(&self) {
        self.noted.send_replace(());
    }

    /// Returns the filter of the list, now and later.
    fn filter(&self) -> watch::Receiver<Filter> {
        self.filter.subscribe()
    }

    /// Posts a report. Never waits.
    fn post(&self, report: EnsembleReport) {
        let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
        untaken.reports.insert(Arc::clone(&report.name), report);
        drop(untaken);
        self.posted.notify_one();
    }

    /// Waits for summaries and takes them. Cancel safe.
    pub async fn next(&self) -> Vec<EnsembleReport> {
        loop {
            let due = {
                let mut untaken = self.untaken.lock().unwrap_or_else(PoisonError::into_inner);
                let due = untaken.due().filter(|due| *due > Instant::now());
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
        let (found, noted, claims) = (FoundLocks::default(), Arc::default(), EnsembleClaims::default());
        EnsembleReport { name: name.into(), summary, found, noted, claims }
    }

    #[tokio::test]
    async fn a_summary_that_was_not_taken_is_replaced_and_takes_are_apart() {
        let board = EnsembleBoard::default();
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

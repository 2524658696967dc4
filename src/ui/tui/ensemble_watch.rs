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

mod board;
mod watcher;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::board::Board;
use self::watcher::Watcher;
use super::app::{EnsembleReport, EnsembleRow, Filter, FoundLocks, WatchedEnsembles};
use lockscope_live::observe::{ObserveOptions, Observer};
use lockscope_live::zk::survey::SurveyOptions;
use lockscope_model::diagnose::Thresholds;
use lockscope_model::report::Ensemble;
use lockscope_past::record::LiveState;

/// The shortest interval between questions to a server about itself.
const SURVEY_INTERVAL: Duration = Duration::from_secs(5);

/// The pause between the starts of two surveys, so that many ensembles are not asked all at once.
const SURVEY_STAGGER: Duration = Duration::from_millis(50);

/// How to watch one of several ensembles.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// What to observe.
    pub observe: ObserveOptions,
    /// How to ask the servers about themselves.
    pub survey: SurveyOptions,
    /// When findings are raised.
    pub thresholds: Thresholds,
}

/// One of several ensembles.
#[derive(Clone, Debug)]
pub struct EnsembleOptions {
    /// The name of its context.
    pub name: String,
    /// Whether its context is marked as production.
    pub production: bool,
    /// How to watch it, or a sentence that says why its options cannot be used.
    pub options: Result<WatchOptions, String>,
}

/// An ensemble that is followed: what one console hands to the next.
pub(super) struct Followed {
    pub observer: Observer,
    pub live: LiveState,
}

impl Followed {
    pub fn start(options: &WatchOptions) -> Self {
        let live = LiveState::new(options.observe.table(), options.thresholds);
        Self { live, observer: Observer::start(options.observe.clone()) }
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed").field("locks", &self.live.table().lock_count()).finish_non_exhaustive()
    }
}

/// The ensembles of a console that shows several, and their list.
#[derive(Debug)]
pub(super) struct Ensembles {
    watch: EnsembleWatch,
    /// `None` while a console shows it.
    list: Option<Box<WatchedEnsembles>>,
}

impl Ensembles {
    /// Starts to watch all of them.
    pub(super) fn start(ensembles: Vec<EnsembleOptions>) -> Self {
        let watch = EnsembleWatch::start(ensembles);
        let list = Some(Box::new(watch.rows()));
        Self { watch, list }
    }

    /// Returns the open ensemble, if one is open, and the list, for the next console.
    pub(super) async fn hand_over(
        &mut self,
        name: Option<&str>,
        options: &WatchOptions,
    ) -> (Option<Followed>, Box<WatchedEnsembles>) {
        let followed = match name {
            Some(name) => {
                let known = self.watch.hand_over(name, options).await;
                Some(known.unwrap_or_else(|| Followed::start(options)))
            }
            None => None,
        };
        (followed, self.list.take().unwrap_or_default())
    }

    /// Takes the list back, and what was open.
    pub(super) async fn take_back(
        &mut self,
        list: Box<WatchedEnsembles>,
        name: Option<&str>,
        followed: Option<Followed>,
    ) {
        self.list = Some(list);
        if let Some(followed) = followed {
            self.watch.take_back(name, followed).await;
        }
    }

    pub(super) fn reports(&self) -> EnsembleReports {
        EnsembleReports(Some(Arc::clone(&self.watch.board)))
    }

    /// Stops all observers; takes at most two seconds.
    pub(super) async fn stop(self) {
        self.watch.stop().await;
    }
}

/// A task that watches one ensemble.
#[derive(Debug)]
struct WatchTask {
    stop: CancellationToken,
    task: JoinHandle<Followed>,
}

/// The ensembles that the console watches.
#[derive(Debug)]
struct EnsembleWatch {
    ensembles: Vec<Watched>,
    board: Arc<Board>,
}

#[derive(Debug)]
struct Watched {
    name: Arc<str>,
    options: EnsembleOptions,
    /// `None` while the ensemble is open, or when it cannot be watched.
    task: Option<WatchTask>,
}

impl EnsembleWatch {
    /// Starts to watch all of them.
    fn start(ensembles: Vec<EnsembleOptions>) -> Self {
        let mut stagger = Duration::ZERO;
        let board = Arc::new(Board::default());
        let start = |options: EnsembleOptions| {
            let name: Arc<str> = options.name.as_str().into();
            stagger += SURVEY_STAGGER;
            let watched = options.options.as_ref().ok();
            let task = watched.map(|watched| {
                WatchTask::start(Arc::clone(&name), Followed::start(watched), &watched.survey, stagger, &board)
            });
            Watched { name, options, task }
        };
        let ensembles = ensembles.into_iter().map(start).collect();
        Self { ensembles, board }
    }

    /// Returns the rows of the list, of which nothing is known yet.
    fn rows(&self) -> WatchedEnsembles {
        let row = |Watched { name, options, .. }: &Watched| EnsembleRow {
            name: Arc::clone(name),
            connect: options.options.as_ref().map_or_else(
                |_| String::new(),
                |options| Ensemble::new(&options.observe.connection.connect, None).connect().to_owned(),
            ),
            production: options.production,
            trouble: options.options.as_ref().err().cloned(),
            summary: None,
            news: 0,
            found: FoundLocks::default(),
        };
        WatchedEnsembles::new(self.ensembles.iter().map(row))
    }

    /// Hands over an ensemble, and stops to watch it. `None` when it is not watched, or when it was
    /// observed with other options: the config file has changed. Later it is watched with these.
    async fn hand_over(&mut self, name: &str, options: &WatchOptions) -> Option<Followed> {
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

    /// Watches an ensemble again that is no longer open. Stops its observer when the ensemble is
    /// not one of those watched.
    async fn take_back(&mut self, name: Option<&str>, followed: Followed) {
        let mut known = self.ensembles.iter_mut().filter(|watched| name == Some(&*watched.name));
        let Some((watched, options)) =
            known.next().and_then(|watched| Some((&mut watched.task, watched.options.options.as_ref().ok()?)))
        else {
            return followed.observer.stop().await;
        };
        let name = name.unwrap_or_default().into();
        *watched = Some(WatchTask::start(name, followed, &options.survey, SURVEY_STAGGER, &self.board));
    }

    /// Stops all observers, all at once; takes at most two seconds.
    async fn stop(self) {
        let tasks = self.ensembles.into_iter().filter_map(|watched| watched.task);
        join_all(tasks.map(|task| async {
            if let Some(followed) = task.end().await {
                followed.observer.stop().await;
            }
        }))
        .await;
    }
}

impl WatchTask {
    fn start(name: Arc<str>, followed: Followed, survey: &SurveyOptions, after: Duration, board: &Arc<Board>) -> Self {
        let stop = CancellationToken::new();
        let survey = SurveyOptions { min_interval: SURVEY_INTERVAL, ..survey.clone() };
        let watcher = Watcher::new(name, followed, survey, after, Arc::clone(board));
        let task = tokio::spawn(watcher.watch(stop.clone()));
        Self { stop, task }
    }

    async fn end(self) -> Option<Followed> {
        self.stop.cancel();
        // The runtime reports a panic.
        self.task.await.ok()
    }
}

/// The latest summaries of the ensembles, for the console.
#[derive(Debug, Default)]
pub struct EnsembleReports(Option<Arc<Board>>);

impl EnsembleReports {
    /// Looks for locks that pass a filter in all ensembles, from now on.
    pub(super) fn filter(&self, filter: Filter) {
        if let Some(board) = &self.0 {
            board.set_filter(filter);
        }
    }

    /// Waits for new summaries; forever when one ensemble is shown. Cancel safe.
    pub(super) async fn next(&mut self) -> Vec<EnsembleReport> {
        match &self.0 {
            Some(board) => board.next().await,
            None => std::future::pending().await,
        }
    }
}

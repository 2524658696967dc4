//! An observer, a survey, a table and a diagnosis: the parts of the console, without a screen.

use std::sync::Arc;
use std::time::Duration;

pub use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::observe::{ObserveOptions, Observer};
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy, WatchersWanted};
use lockscope_model::diagnose::{Code, Diagnosis, Finding, OwnerState, Severity, TableAt, Thresholds};
use lockscope_model::queue::{Change, Expectation, LockTable};
use lockscope_model::server_view::ServerView;
use tokio::time::{Instant, Interval, interval, timeout};

use crate::harness::wait::PATIENCE;
use crate::observe::fixture::{connection, observing};

/// The maximum time from the last evidence to the finding.
pub const PROMPT: Duration = Duration::from_secs(2);

pub struct ConsoleFixture {
    observer: Observer,
    surveyor: Surveyor,
    tick: Interval,
    pub table: LockTable,
    pub diagnosis: Diagnosis,
    /// All findings ever raised.
    pub raised: Vec<Arc<Finding>>,
    pub cleared: Vec<Arc<Finding>>,
    /// When the last view came.
    pub viewed: Option<Instant>,
    /// Every complete view, in order.
    views: Vec<Viewed>,
    /// The number of views, including views in which an answer is missing.
    surveys: usize,
}

/// When a view came, and when its oldest answer was requested.
#[derive(Clone, Copy, Debug)]
struct Viewed {
    came: Timestamp,
    asked: Timestamp,
}

/// Thresholds for locks that are never held for long.
pub fn hasty() -> Thresholds {
    Thresholds {
        stuck_after: Duration::from_secs(3),
        empty_after: Duration::from_secs(2),
        ghost_after: Duration::from_secs(4),
        ..Thresholds::default()
    }
}

impl ConsoleFixture {
    /// Observes a server. The table is in step with it when this returns.
    pub async fn start(connect: &str, thresholds: Thresholds) -> Self {
        Self::asking(connect, connect, thresholds).await
    }

    /// Observes a server, and asks the servers about themselves at another address.
    pub async fn asking(connect: &str, asked: &str, thresholds: Thresholds) -> Self {
        Self::expecting(connect, asked, thresholds, (&[], &[])).await
    }

    /// Observes a server, with the user's expectations of elections, and nodes that the user names as
    /// locks.
    pub async fn expecting(
        connect: &str,
        asked: &str,
        thresholds: Thresholds,
        (expected, named): (&[Expectation], &[ZnodePath]),
    ) -> Self {
        // On a busy machine the answers are slow, and slow servers are asked so rarely that a test
        // would time out.
        let longest_pause = Duration::from_secs(2);
        let survey = SurveyOptions {
            by: ViewBy::FourLetter,
            max_interval: longest_pause,
            ..SurveyOptions::new(connection(asked))
        };
        let surveyor = Surveyor::start(survey).expect("a connect string");
        surveyor.ask_for_watchers(WatchersWanted::Now);
        let mut fixture = Self {
            observer: Observer::start(ObserveOptions {
                expected: expected.to_vec(),
                named: named.to_vec(),
                ..observing(connection(connect))
            }),
            surveyor,
            tick: interval(Duration::from_secs(1)),
            table: LockTable::new(named.iter().cloned()).with_expectations(expected),
            diagnosis: Diagnosis::new(thresholds),
            raised: Vec::new(),
            cleared: Vec::new(),
            viewed: None,
            views: Vec::new(),
            surveys: 0,
        };
        fixture
            .until("a table in step, and a view", |fixture| fixture.table.is_live() && fixture.viewed.is_some())
            .await;
        fixture
    }

    /// Takes in one report.
    async fn step(&mut self) {
        tokio::select! {
            changes = self.observer.next() => {
                for observed in changes.expect("the observer goes on") {
                    self.table.apply(observed.change, observed.at);
                }
                return;
            }
            view = self.surveyor.next() => {
                let view = view.expect("the survey goes on");
                self.surveys += 1;
                if let Some(oldest) = oldest_answer(&view) {
                    self.viewed = Some(Instant::now());
                    self.views.push(Viewed { came: now(), asked: oldest });
                }
                self.table.apply(Change::Surveyed { view }, now());
            }
            _ = self.tick.tick() => {}
        }
        let changed = self.diagnosis.examine(&self.table, now());
        self.raised.extend(changed.raised);
        self.cleared.extend(changed.cleared);
    }

    /// Runs until the condition holds.
    pub async fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                self.step().await;
            }
        };
        let in_time = timeout(PATIENCE, waiting).await.is_ok();
        assert!(
            in_time,
            "waited in vain for {what}; found {:#?}; {}",
            self.diagnosis.findings().collect::<Vec<_>>(),
            self.queues()
        );
    }

    /// Runs until the future completes.
    pub async fn during<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let looking = async {
            loop {
                tokio::select! {
                    done = &mut future => return done,
                    () = self.step() => {}
                }
            }
        };
        timeout(2 * PATIENCE, looking).await.expect("it ends")
    }

    /// Runs for `count` more views, including views in which an answer is missing.
    pub async fn surveys(&mut self, count: usize) {
        let enough = self.surveys + count;
        self.until("more surveys", |fixture| fixture.surveys >= enough).await;
    }

    /// Runs until the views that a finding would need have come; `seconds` is as in
    /// [`Self::finds_within`].
    pub async fn looks_on(&mut self, seconds: &[u64]) {
        let began = now();
        self.until("complete views", |fixture| fixture.completed(began, seconds).is_some()).await;
    }

    /// Returns the last of the views that the evidence needs.
    fn completed(&self, began: Timestamp, seconds: &[u64]) -> Option<Viewed> {
        let mut asked_from = began;
        let mut complete = None;
        for seconds in seconds {
            asked_from = asked_from.plus(Duration::from_secs(*seconds));
            let view = self.views.iter().find(|view| view.asked >= asked_from)?;
            asked_from = view.came;
            complete = Some(*view);
        }
        complete
    }

    /// Asserts that a finding that needs these views came at most [`PROMPT`] after the last of
    /// them.
    pub fn assert_prompt(&self, began: Timestamp, seconds: &[u64], what: &str) {
        if let Some(view) = self.completed(began, seconds) {
            let late = now().since(view.came);
            assert!(late <= PROMPT, "{what} took {:?}: {late:?} after the evidence", now().since(began));
        }
    }

    /// Waits until this many contenders exist in total.
    pub async fn until_contenders(&mut self, count: usize) {
        self.until("the contenders", |fixture| fixture.table.contender_count() == count).await;
    }

    /// Waits for a finding of at least this severity. Returns it and the time it took.
    pub async fn finds(&mut self, code: Code, least: Severity) -> (Finding, Duration) {
        let began = Instant::now();
        self.until(code.id(), |fixture| fixture.standing(code).is_some_and(|found| found.severity >= least)).await;
        let found = self.standing(code).expect("a finding").clone();
        println!("{} after {:?}: {}. {}.", found.code, began.elapsed(), found.summary, found.remedy);
        (found, began.elapsed())
    }

    /// Waits for a finding that must appear at most [`PROMPT`] after the view that completes its
    /// evidence.
    ///
    /// Each number stands for a needed view: one whose answers were all requested at least this
    /// many seconds after the previous view came, or after now for the first. The interval of the
    /// surveys depends on their cost.
    pub async fn finds_within(&mut self, seconds: &[u64], code: Code, least: Severity) -> Finding {
        let began = now();
        let (found, _) = self.finds(code, least).await;
        self.assert_prompt(began, seconds, code.id());
        found
    }

    /// Waits until a finding is cleared; its cause must already be removed.
    pub async fn clears(&mut self, code: Code) {
        let mended = now();
        self.until("the end of a finding", |fixture| fixture.standing(code).is_none()).await;
        assert!(self.cleared.iter().any(|found| found.code == code));
        let late = self.views.iter().find(|view| view.asked >= mended).map(|view| now().since(view.came));
        assert!(late.is_none_or(|late| late <= PROMPT), "{code} went only {late:?} after that was seen");
    }

    pub fn standing(&self, code: Code) -> Option<&Finding> {
        self.diagnosis.findings().find(|finding| finding.code == code)
    }

    /// Returns the findings raised so far with at least this severity.
    pub fn raised_at_least(&self, least: Severity) -> Vec<String> {
        let raised = self.raised.iter().filter(|finding| finding.severity >= least);
        raised
            .map(|found| format!("{} {} {}: {}", found.severity, found.code, found.lock.path, found.summary))
            .collect()
    }

    /// Returns the state of a node's owner.
    pub fn owner_state(&self, node: &str) -> OwnerState {
        let path = ZnodePath::new(node).expect("a path");
        let (id, position) = self.table.position(&path).expect("it contends");
        let row = self.table.lock(id).and_then(|lock| lock.row(position)).expect("it is there");
        TableAt::new(&self.table, now()).owner_of(row.contender).0
    }

    /// Returns the suspicions about a node.
    pub fn suspicions(&self, node: &str) -> Vec<String> {
        let path = ZnodePath::new(node).expect("a path");
        let (id, position) = self.table.position(&path).expect("it contends");
        let lock = self.table.lock(id).expect("it is there");
        TableAt::new(&self.table, now()).suspicions(lock, &lock.row(position).expect("it is there"))
    }

    fn queues(&self) -> String {
        let table_at = TableAt::new(&self.table, now());
        let reported = self.table.locks().flat_map(|lock| {
            lock.rows(0..lock.len().min(5)).map(move |row| {
                let facts = table_at.facts(lock, &row);
                format!("{} {:?} {:?} {:?}", lock.path_of(row.contender), row.state, facts.owner, facts.watching)
            })
        });
        reported.collect::<Vec<_>>().join("\n")
    }
}

/// Returns when the oldest answer in a view was given; `None` when a part of the view is missing.
fn oldest_answer(view: &ServerView) -> Option<Timestamp> {
    let watched = view.members.iter().map(|member| member.watched.as_ref().map(|watched| watched.at));
    let counted = view.members.iter().map(|member| member.counted_at);
    let apart: Option<Vec<_>> = watched.chain(counted).collect();
    Some(view.sessions_as_of()?.min(apart?.into_iter().min()?))
}

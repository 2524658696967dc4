//! Work in the background that the loop starts: carries out confirmed deletions, reads the audit
//! log, reads a node for its page and nodes for the tree, and reads the console's options again while
//! it runs.
//!
//! Deletions, nodes and the tree have sessions of their own. That of the tree ends when its screen is
//! left.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::app::{AuditReading, ConfigChange, Event, TreeAnswer, TreeWish, sentence};
use super::theme::Palette;
use lockscope_base::time::Backoff;
use lockscope_base::znode::ZnodePath;
use lockscope_live::admin::audit::{AuditError, HistoryLimits, Subject};
use lockscope_live::admin::examine::Examiner;
use lockscope_live::admin::notebook::{NoteChange, Notebook, author};
use lockscope_live::admin::{
    Audit, Confirmed, DeletePlan, Ending, Examine, NodeOutcome, PlannedNode, Protection, ProtectionGuard, Who, audit,
};
use lockscope_live::observe::ObserveOptions;
use lockscope_live::zk::survey::SurveyOptions;
use lockscope_live::zk::{ConnectOptions, EnsembleAddress, NodeReading, PacedReader};
use lockscope_live::{admin, zk};
use lockscope_model::queue::{Mute, MuteScope};
use lockscope_model::report::ReportedEnsemble;
use lockscope_model::report::lines::mute_sentence;

/// The time limit for each node of a plan.
const MAX_TIME_FOR_NODE: Duration = Duration::from_secs(15);

/// The maximum session timeout: an abandoned session should end soon.
const MAX_DELETION_SESSION: Duration = Duration::from_secs(10);

/// The time limit for finding the guards of a plan.
const MAX_TIME_FOR_GUARDS: Duration = Duration::from_secs(10);

/// The first and the longest pause before the ensemble is asked again who it is.
const PROTECTION_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A note that the user wants to keep about the ensemble of a connect string.
#[derive(Debug)]
pub struct WishedNote {
    pub connect: String,
    pub change: NoteChange,
    /// The audit log that says who muted what.
    pub log: Option<PathBuf>,
}

impl WishedNote {
    /// Keeps the note, and logs it unless it only tells what was seen. The error is a sentence
    /// without a full stop. Not cancelled once it has begun.
    pub async fn keep(self, notebook: Notebook) -> Result<(), String> {
        let Self { connect, change, log } = self;
        let kept = spawn_blocking(move || {
            let shown = ReportedEnsemble::new(&connect, None).connect().to_owned();
            let by: Arc<str> = author().into();
            let signed = |mute: Mute| Mute { by: Arc::clone(&by), ..mute };
            let change = match change {
                NoteChange::Mute(mutes) => NoteChange::Mute(mutes.into_iter().map(signed).collect()),
                other => other,
            };
            notebook.change(&EnsembleAddress::of(&shown), change.clone()).map_err(|error| error.to_string())?;
            Ok::<_, String>((change, Who::here(&shown)))
        });
        let (change, who) =
            kept.await.map_err(|_| "the note was not kept: a part of lockscope failed".to_owned())??;
        let Some(log) = log else { return Ok(()) };
        let lines = audit_lines(&change);
        if lines.is_empty() {
            return Ok(());
        }
        let unlogged = |error: AuditError| format!("it counts, but {error}");
        let opened = spawn_blocking(move || Audit::open(&log)).await;
        let log = opened.map_err(|_| "it counts, but it is not logged".to_owned())?.map_err(unlogged)?;
        for (action, subject, reason) in lines {
            log.noted(action, subject, &who, reason).await.map_err(unlogged)?;
        }
        Ok(())
    }
}

/// Returns the lines of the audit log for a note: the action, its subject, and what was said.
fn audit_lines(change: &NoteChange) -> Vec<(&'static str, Subject, String)> {
    match change {
        NoteChange::Mute(mutes) => {
            let line = |mute: &Mute| ("mute", subject(&mute.scope), mute_sentence(mute, true));
            mutes.iter().map(line).collect()
        }
        NoteChange::Unmute(scopes) => {
            let line = |scope: &MuteScope| ("unmute", subject(scope), "counted again".to_owned());
            scopes.iter().map(line).collect()
        }
        NoteChange::Know(_) => Vec::new(),
    }
}

fn subject(scope: &MuteScope) -> Subject {
    match scope {
        MuteScope::Finding(muted) => Subject {
            lock: muted.lock.to_string(),
            path: muted
                .node
                .as_deref()
                .map_or_else(|| muted.lock.to_string(), |node| muted.lock.child(node).to_string()),
            evidence: format!("{} {}", muted.severity, muted.code),
            ..Subject::default()
        },
        MuteScope::Locks { path, .. } => Subject { path: path.as_str().to_owned(), ..Subject::default() },
        MuteScope::Maintenance => Subject { evidence: "maintenance of the servers".to_owned(), ..Subject::default() },
    }
}

/// Carries out the deletions that the user confirmed.
///
/// The session is not the observer's, whose watches must not be disturbed.
#[derive(Clone, Debug, Default)]
pub struct DeletionRunner {
    observe: Option<ObserveOptions>,
    survey: Option<SurveyOptions>,
    audit_log: Option<PathBuf>,
    write: bool,
    /// Without one nothing is changed.
    guard: Option<ProtectionGuard>,
    /// How many nodes of the plan that is carried out have an outcome.
    done: Arc<AtomicUsize>,
}

/// Examines nodes, and counts those that have an outcome.
struct CountingExaminer<'a> {
    examiner: Examiner,
    done: &'a AtomicUsize,
}

impl Examine for CountingExaminer<'_> {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        self.examiner.examine(node).await
    }

    async fn may_go_on(&mut self, last: Option<&Ending>) -> bool {
        self.done.fetch_add(usize::from(last.is_some()), Ordering::Relaxed);
        self.examiner.may_go_on(last).await
    }
}

impl DeletionRunner {
    /// Creates a runner for an ensemble. Without `write`, or without a place for the audit log, it
    /// changes nothing.
    pub fn new(observe: ObserveOptions, survey: SurveyOptions, audit_log: Option<PathBuf>, write: bool) -> Self {
        let session_timeout = observe.connection.session_timeout.min(MAX_DELETION_SESSION);
        let connection = ConnectOptions { session_timeout, ..observe.connection };
        let observe = Some(ObserveOptions { connection, ..observe });
        Self { observe, survey: Some(survey), audit_log, write, ..Self::default() }
    }

    /// Changes only what this guard permits.
    pub fn guarded_by(self, guard: Option<ProtectionGuard>) -> Self {
        Self { guard, ..self }
    }

    /// Finds out whether people depend on the ensemble, as soon as it can be reached. Waits forever
    /// where nothing is protected. Cancel safe.
    pub async fn find_protection(self) -> Event {
        let (Some(guard), Some(observe)) = (&self.guard, &self.observe) else { return std::future::pending().await };
        let mut pauses = Backoff::new(PROTECTION_PAUSES.0, PROTECTION_PAUSES.1);
        loop {
            match guard.find(&observe.connection).await {
                Ok(found) => return Event::ProtectionFound(found.production),
                Err(why) => tracing::info!(%why, "the protection of the ensemble is unknown"),
            }
            sleep(pauses.next_pause()).await;
        }
    }

    /// Finds out how each node of a plan can be guarded and which permissions are missing. Changes
    /// nothing. Takes at most about ten seconds to connect and ten more. Cancel safe.
    pub async fn find_guards(self, plan: DeletePlan) -> Event {
        Event::GuardsFound(self.try_find_guards(plan).await.map(Box::new))
    }

    async fn try_find_guards(&self, plan: DeletePlan) -> Result<DeletePlan, String> {
        let failed = |why: &str| format!("The possible guards cannot be checked: {}.", why.trim_end_matches('.'));
        let observe = self.observe.as_ref().ok_or_else(|| failed("this console is read-only"))?;
        let client = zk::connect(&observe.connection).await.map_err(|error| failed(&error.to_string()))?;
        let found = timeout(MAX_TIME_FOR_GUARDS, admin::find_guards(&client, plan)).await;
        zk::close_session(client).await;
        let plan = match found {
            Ok(found) => found.map_err(|error| failed(&error.to_string()))?,
            Err(_) => return Err(failed("the servers gave no answer in time")),
        };
        let Some(guard) = &self.guard else { return Ok(plan) };
        let protection = guard.find(&observe.connection).await.and_then(Protection::writable);
        Ok(plan.in_production(protection.map_err(|why| sentence(&why.to_string()))?.production))
    }

    /// Returns how many nodes of the plan that is carried out have an outcome.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Carries out a plan and reports the outcome. Takes at most about ten seconds to connect and
    /// fifteen for each node, besides the check of each node right before its deletion. When
    /// cancelled, requests already sent take effect, and the log shows an intent without an
    /// outcome.
    pub async fn carry_out(self, plan: Confirmed<DeletePlan>) -> Event {
        Event::DeletionDone(self.try_carry_out(plan).await)
    }

    async fn try_carry_out(&self, plan: Confirmed<DeletePlan>) -> Result<Vec<NodeOutcome>, String> {
        if !self.write {
            return Err(nothing("this console is read-only"));
        }
        let (Some(path), Some(observe), Some(survey)) = (&self.audit_log, &self.observe, &self.survey) else {
            return Err(nothing("no audit log is set; name one with --audit-log FILE"));
        };
        let guard = self.guard.as_ref().ok_or_else(|| nothing("there is no ensemble to change"))?;
        let permitted = guard.permit(&plan, &observe.connection).await;
        let (permission, protection) = permitted.map_err(|why| sentence(&why.to_string()))?;
        let protection = protection.writable().map_err(|why| sentence(&why.to_string()))?;
        let path = protection.audit_log.map_or_else(|| path.clone(), |(_, path)| path);
        let opened = spawn_blocking(move || Audit::open(&path)).await.map_err(|error| nothing(&error.to_string()))?;
        let log = opened.map_err(|error| nothing(&error.to_string()))?;
        let client = zk::connect(&observe.connection).await.map_err(|error| nothing(&error.to_string()))?;
        let who = Who::ask(&client, &observe.connection.connect).await;
        let nodes = plan.what().nodes().iter().map(|node| &node.path);
        self.done.store(0, Ordering::Relaxed);
        let examiner = Examiner::start(observe.clone(), survey.clone(), nodes);
        let mut counting = CountingExaminer { examiner, done: &self.done };
        let outcomes = admin::execute(client, &permission, plan, &log, &who, MAX_TIME_FOR_NODE, &mut counting).await;
        counting.examiner.stop().await;
        Ok(outcomes)
    }

    /// Reads the audit log. With the permission to write, also checks whether the log can be
    /// written.
    pub async fn read_audit(self) -> Event {
        let reading = spawn_blocking(move || self.try_read()).await;
        Event::AuditRead(Box::new(reading.unwrap_or_else(|error| AuditReading {
            history: Err(format!("The audit log could not be read: {error}.")),
            unwritable: None,
        })))
    }

    fn try_read(&self) -> AuditReading {
        let path = self.audit_log.as_deref().unwrap_or(Path::new(""));
        let history = audit::read(path, HistoryLimits::default()).map_err(|error| {
            format!("The audit log cannot be read: {error}; make it readable, or name another one with --audit-log.")
        });
        let opened = self.write.then(|| Audit::open(path));
        let unwritable = opened.and_then(Result::err).map(|error| format!("Nothing can be deleted: {error}."));
        AuditReading { history, unwritable }
    }
}

fn nothing(why: &str) -> String {
    format!("Nothing was done: {}.", why.trim_end_matches('.'))
}

/// The maximum session timeout: an abandoned session should end soon.
const MAX_SESSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The time limit for reading on an established session.
const MAX_READING_TIME: Duration = Duration::from_secs(10);

/// Reads nodes with the observer's servers and credentials, but not on its session, which is kept
/// for the watches.
#[derive(Clone, Debug, Default)]
pub struct NodeReader {
    connection: Option<ConnectOptions>,
}

impl NodeReader {
    pub fn new(connection: ConnectOptions) -> Self {
        let session_timeout = connection.session_timeout.min(MAX_SESSION_TIMEOUT);
        Self { connection: Some(ConnectOptions { session_timeout, ..connection }) }
    }

    /// Reads a node. Takes at most about ten seconds to connect and ten more. Cancel safe.
    pub async fn read(self, path: ZnodePath) -> Event {
        let read = self.try_read(&path).await.map(Box::new);
        Event::NodeRead { path, read }
    }

    async fn try_read(&self, path: &ZnodePath) -> Result<Option<NodeReading>, String> {
        let failed = |why: &str| format!("It cannot be read: {}.", why.trim_end_matches('.'));
        let connection = self.connection.as_ref().ok_or_else(|| failed("there is no connection"))?;
        let client = zk::connect(connection).await.map_err(|error| failed(&error.to_string()))?;
        let read = timeout(MAX_READING_TIME, zk::read_node(&client, path)).await;
        zk::close_session(client).await;
        match read {
            Ok(read) => read.map_err(|error| failed(&error.to_string())),
            Err(_) => Err(failed("the servers gave no answer in time")),
        }
    }
}

/// Answers that wait for the console. There is one wish at a time.
const MAX_QUEUED_ANSWERS: usize = 2;

/// Reads what the screen wishes. A new wish takes the place of one whose turn has not come. Dropping
/// it ends the reading.
#[derive(Debug)]
pub struct TreeReader {
    wishes: watch::Sender<Option<(u64, TreeWish)>>,
    answers: mpsc::Receiver<Event>,
    _task: JoinSet<()>,
}

impl TreeReader {
    pub fn start(connection: ConnectOptions) -> Self {
        let session_timeout = connection.session_timeout.min(MAX_SESSION_TIMEOUT);
        let (wishes, next_wish) = watch::channel(None);
        let (sender, answers) = mpsc::channel(MAX_QUEUED_ANSWERS);
        let mut task = JoinSet::new();
        task.spawn(serve(ConnectOptions { session_timeout, ..connection }, next_wish, sender));
        Self { wishes, answers, _task: task }
    }

    /// Reads this, or ends the session.
    pub fn ask(&self, wish: Option<(u64, TreeWish)>) {
        self.wishes.send_replace(wish);
    }

    /// Waits for the next answer. Cancel safe.
    pub async fn next(&mut self) -> Event {
        match self.answers.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

/// Fulfils wishes at the reader's pace until nobody has any more.
async fn serve(
    connection: ConnectOptions,
    mut wishes: watch::Receiver<Option<(u64, TreeWish)>>,
    answers: mpsc::Sender<Event>,
) {
    let mut reader: Option<PacedReader> = None;
    while wishes.changed().await.is_ok() {
        if wishes.borrow().is_some()
            && let Some(reader) = &reader
        {
            reader.turn().await;
        }
        let Some((number, wish)) = wishes.borrow_and_update().clone() else {
            close(reader.take()).await;
            continue;
        };
        let answer = fulfil(&connection, &mut reader, &wish).await.unwrap_or_else(|why| {
            TreeAnswer::Failed(format!("The tree cannot be read: {}.", why.trim_end_matches('.')))
        });
        if matches!(answer, TreeAnswer::Failed(_)) {
            close(reader.take()).await;
        }
        if answers.send(Event::TreeRead { number, answer: Box::new(answer) }).await.is_err() {
            break;
        }
    }
    close(reader).await;
}

async fn close(reader: Option<PacedReader>) {
    if let Some(reader) = reader {
        zk::close_session(reader.into_client()).await;
    }
}

/// Reads on the session, which is opened where there is none.
async fn fulfil(
    connection: &ConnectOptions,
    reader: &mut Option<PacedReader>,
    wish: &TreeWish,
) -> Result<TreeAnswer, String> {
    let reader = if let Some(reader) = reader {
        reader
    } else {
        let client = zk::connect(connection).await.map_err(|error| error.to_string())?;
        reader.insert(PacedReader::new(client))
    };
    let read = async {
        Ok::<_, zookeeper_client::Error>(match wish {
            TreeWish::Children(paths) => TreeAnswer::Children(reader.children(paths).await?),
            TreeWish::Stats(paths) => TreeAnswer::Stats(reader.stats(paths).await?),
            TreeWish::Data(paths) => TreeAnswer::Data(reader.data(paths).await?),
        })
    };
    match timeout(MAX_READING_TIME, read).await {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err("the servers gave no answer in time".to_owned()),
    }
}

/// How often the config file is checked for changes; one check reads its metadata.
const CONFIG_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The options that can change while the screen is shown.
#[derive(Clone, Debug)]
pub struct ReadAgain {
    /// The change for the state of the screen.
    pub change: ConfigChange,
    /// The colours.
    pub theme: Palette,
    /// Whether to draw with ASCII only.
    pub ascii: bool,
}

/// A source of options. Its methods block the thread for as long as the disk takes.
pub trait OptionsSource: Debug + Send + Sync {
    /// The options that the console starts with.
    type Options;

    /// Returns the options for another context, or a sentence that says why there are none.
    fn in_context(&self, name: &str) -> Result<Self::Options, String>;

    /// Returns what has changed since the last call; `None` when nothing has.
    fn read_again(&self) -> Option<ReadAgain>;
}

/// Checks for changes in a task of its own, which ends when this value is dropped.
#[derive(Debug)]
pub struct ConfigWatch {
    changes: mpsc::Receiver<ReadAgain>,
    _task: JoinSet<()>,
}

impl ConfigWatch {
    pub fn start<O: 'static>(source: Arc<dyn OptionsSource<Options = O>>) -> Self {
        let (sender, changes) = mpsc::channel(1);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut check = interval(CONFIG_CHECK_INTERVAL);
            check.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                check.tick().await;
                let source = Arc::clone(&source);
                let Ok(change) = spawn_blocking(move || source.read_again()).await else { return };
                if let Some(change) = change
                    && sender.send(change).await.is_err()
                {
                    return;
                }
            }
        });
        Self { changes, _task: task }
    }

    /// Waits for the next change; forever once no more will come. Cancel safe.
    pub async fn next(&mut self) -> ReadAgain {
        match self.changes.recv().await {
            Some(change) => change,
            None => std::future::pending().await,
        }
    }
}

impl ReadAgain {
    pub(super) fn event(&self) -> Event {
        Event::ConfigChanged(Box::new(self.change.clone()))
    }
}

//! A lock table kept up to date by an observer, for the headless commands.
//!
//! It names the ensemble as reports do, and says why there is no answer when the ensemble does not
//! give one. It can record and count its changes.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::record_exports::SpanExport;
use super::resolved::ResolvedOptions;
use super::several::OneOfEnsembles;
use super::table_event::{ExaminationPace, TableEvent, ToldEnsemble, UnreportedFindings};
use crate::cli::output;
use crate::cli::output::note;
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::admin::notebook::{FollowedNotes, NotesFollower};
use lockscope_live::deadline;
use lockscope_live::exporter::ScrapeKind;
use lockscope_live::observe::{ObserveOptions, Observed, Observer, STOP_TIMEOUT};
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, ViewBy, WatchersWanted};
use lockscope_model::diagnose::{Diagnosis, Severity, rest_between_checks};
use lockscope_model::metrics::{EventCounters, ProcessFigures, Scrape, health};
use lockscope_model::queue::{Change, ConnectionState, Happening, LockId, LockQueue, LockTable, NO_ANSWER};
use lockscope_model::report::{Initial, ReportedEnsemble};
use lockscope_model::server_view::ServerView;
use lockscope_model::text::human;
use lockscope_past::record::tables::RecordedDeletion;
use lockscope_past::record::{BatchRecorder, LiveState, RecordedState, Recorder, without_data};

/// The most events created at once. Those of one lock stay together.
const MAX_EVENTS_AT_ONCE: usize = 1_024;

/// How long a command stays silent before it reports a missing answer.
const QUIET_START: Duration = Duration::from_secs(1);

/// How long the report of the initial state waits for the servers to name the clients.
const MAX_WAIT_FOR_VIEW: Duration = Duration::from_secs(1);

/// How much longer than for the nodes a command that reads once waits for what the servers say about
/// themselves. With [`MIN_STOP_TIME`] it ends within a second of its timeout.
const MORE_FOR_SURVEY: Duration = Duration::from_millis(400);

/// How long a session has at least to be closed.
const MIN_STOP_TIME: Duration = Duration::from_millis(400);

/// How far the first reading is. An ensemble that gives sessions and the same few answers again and
/// again does not get further.
#[derive(Debug, Default)]
struct ReadingProgress {
    /// The number of nodes of this reading.
    read: usize,
    /// The most nodes of a reading so far.
    most: usize,
}

impl ReadingProgress {
    /// Takes a change; returns whether no reading was as far before.
    fn gets_further(&mut self, change: &Change) -> bool {
        match change {
            Change::Syncing => self.read = 0,
            Change::Connection(_) | Change::Heard { .. } | Change::Surveyed { .. } => {}
            _ => self.read += 1,
        }
        let is_further = self.read > self.most;
        self.most = self.most.max(self.read);
        is_further
    }
}

/// A table, the observer that feeds it, and further knowledge about the ensemble.
pub struct LiveTable {
    observer: Observer,
    live: LiveState,
    connect: String,
    /// The context, when it is one of several.
    label: Option<String>,
    /// The last time at which everything below the roots had been read.
    synced: Option<Timestamp>,
    /// Why there is no connection.
    trouble: Option<String>,
    /// The part of `trouble` reported on standard error before everything was first read.
    said: Option<String>,
    started: Instant,
    /// Whether the initial state is reported, contender by contender.
    reports_initial: bool,
    /// Whether it was said that the locks are followed by one-shot watches.
    said_one_shot: bool,
    /// The next changes, until everything was read and reported.
    first_batch: Option<Vec<Observed>>,
    /// The deadline for the servers to name the clients.
    view_awaited_until: Option<Instant>,
    /// The locks of the initial state that are not reported yet.
    found: vec::IntoIter<LockId>,
    /// Advice on naming servers, after a reason; empty when servers were named.
    how_to_name_servers: &'static str,
    /// Why the ensemble refused the session.
    refused: Option<String>,
    /// How long to wait for an answer until everything was first read.
    timeout: Duration,
    /// When the first reading last got further, or began.
    answered: Instant,
    reading: ReadingProgress,
    /// Asks the servers about themselves at intervals.
    surveyor: Option<Surveyor>,
    examination: ExaminationPace,
    /// The changes of the last look for findings that are not reported yet.
    unreported: UnreportedFindings,
    told_ensemble: ToldEnsemble,
    /// Where changes are recorded and counted.
    recording: Option<Box<TableRecording>>,
    /// The ensembles that are followed together with this one.
    others: Option<OneOfEnsembles>,
    notes: Box<NotesFollower>,
}

impl LiveTable {
    /// Starts to observe, for a command that reads once. Until everything is read, the reading must
    /// get further within `timeout` each time. If no server listens at all, the wait is shorter
    /// unless the timeout was given explicitly.
    pub fn start(settings: &ResolvedOptions) -> anyhow::Result<Self> {
        let start =
            if settings.timeout_is_given { Observer::start_for_command } else { Observer::start_for_one_reading };
        Self::start_by(start, settings)
    }

    /// Starts to observe for a long-running command. Waits for servers, and reports the start.
    pub fn start_to_watch(settings: &ResolvedOptions) -> anyhow::Result<Self> {
        Ok(Self { reports_initial: true, ..Self::start_by(Observer::start_for_command, settings)? })
    }

    fn start_by(start: fn(ObserveOptions) -> Observer, settings: &ResolvedOptions) -> anyhow::Result<Self> {
        let options = settings.observe_options()?;
        Ok(Self {
            live: LiveState::new(options.table(), settings.thresholds),
            observer: start(options),
            connect: settings.connect.clone(),
            label: settings.label().map(str::to_owned),
            synced: None,
            trouble: None,
            said: None,
            started: Instant::now(),
            reports_initial: false,
            said_one_shot: false,
            first_batch: None,
            view_awaited_until: None,
            found: Vec::new().into_iter(),
            how_to_name_servers: settings.how_to_name_servers(),
            refused: None,
            timeout: settings.timeout,
            answered: Instant::now(),
            reading: ReadingProgress::default(),
            surveyor: None,
            examination: ExaminationPace::default(),
            unreported: UnreportedFindings::default(),
            told_ensemble: ToldEnsemble::default(),
            recording: None,
            others: None,
            notes: Box::new(settings.notes()),
        })
    }

    /// Looks for clients that wait for each other here and in the ensembles that are followed together
    /// with this one.
    pub fn compare_with(&mut self, others: OneOfEnsembles) {
        self.others = Some(others);
    }

    /// Takes from a recording of the same ensemble since when locks are held and waited for, and who
    /// led. Call this before anything was read.
    pub fn resume(&mut self, recorded: RecordedState, roots: &[ZnodePath]) {
        let fresh = LiveState::new(LockTable::new([]), *self.live.diagnosis().thresholds());
        self.live = std::mem::replace(&mut self.live, fresh).resuming(recorded, roots);
    }

    /// Starts to report findings, and to ask the servers about themselves unless the settings
    /// forbid it. Each server is asked at least once in `max_interval`, and at most once a second,
    /// whatever the cost.
    pub fn survey(&mut self, settings: &ResolvedOptions, max_interval: Duration) -> anyhow::Result<()> {
        let options = SurveyOptions { max_interval, ..settings.survey_options()? };
        // A single reading has no time to rest; a long-running command with very many locks needs
        // it.
        self.examination.start(Instant::now(), self.reports_initial);
        if options.by != ViewBy::Off {
            let surveyor = Surveyor::start(options)?;
            surveyor.ask_for_watchers(WatchersWanted::AtPace);
            self.surveyor = Some(surveyor);
        }
        Ok(())
    }

    /// Applies the next changes and returns their events, in order. Fails when the ensemble refuses
    /// the session, or does not answer before everything was first read; afterwards it waits
    /// indefinitely. Cancel safe.
    pub async fn next(&mut self) -> anyhow::Result<Vec<TableEvent>> {
        let events = self.unreported_events();
        if !events.is_empty() {
            return Ok(events);
        }
        let batch = if self.synced.is_some() && self.first_batch.is_none() {
            tokio::select! {
                () = deadline::until(self.examination.due()) => {
                    self.examine();
                    return Ok(self.unreported_events());
                }
                batch = self.observer.next() => batch,
                Some(view) = viewed(&mut self.surveyor) => {
                    self.observer.compare_members(&view);
                    // The view is examined without delay.
                    self.examination.view_came(Instant::now());
                    Some(vec![Observed { at: view.at, change: Change::Surveyed { view } }])
                }
            }
        } else {
            if self.first_batch.is_none() {
                self.first_batch = Some(self.first_batches().await?.ok_or_else(|| self.ended())?);
            }
            self.first_view().await;
            self.first_batch.take()
        };
        let batch = batch.ok_or_else(|| self.ended())?;
        Ok(self.apply_batch(batch))
    }

    /// Returns a part of the initial state or of the last look's changes: the whole may be many
    /// times as large as the table. The initial state is taken from the table as everything was
    /// read, so no change may be applied before it is reported.
    fn unreported_events(&mut self) -> Vec<TableEvent> {
        let mut events = Vec::new();
        while let Some(at) = self.synced.filter(|_| events.len() < MAX_EVENTS_AT_ONCE)
            && let Some(found) = self.found.next()
        {
            let initial = self.live.table().lock(found).map(|lock| Initial::of_lock(lock, at, self.live.table()));
            events.extend(initial.into_iter().flatten().map(TableEvent::Initial));
        }
        let findings = self.unreported.by_ref().take(MAX_EVENTS_AT_ONCE.saturating_sub(events.len()));
        events.extend(findings.map(|(finding, news, at)| TableEvent::Finding { finding, news, at }));
        events
    }

    /// Waits briefly, after the first reading, for the servers to name the clients. Cancel safe.
    async fn first_view(&mut self) {
        let is_read = self.first_batch.iter().flatten().any(|observed| observed.change == Change::Synced);
        if !self.reports_initial || !is_read || self.surveyor.is_none() {
            return;
        }
        // The deadline outlives this call, because a recorder cancels the call each second to
        // write.
        let end = *self.view_awaited_until.get_or_insert_with(|| Instant::now() + MAX_WAIT_FOR_VIEW);
        while !self.live.table().view().every_member_answered()
            && let Ok(Some(view)) = timeout_at(end, viewed(&mut self.surveyor)).await
        {
            self.observer.compare_members(&view);
            self.apply_view(&view);
        }
    }

    /// Returns the next changes while not everything was read. Reports on standard error why that
    /// takes long. Cancel safe.
    async fn first_batches(&mut self) -> anyhow::Result<Option<Vec<Observed>>> {
        let until = self.answered + self.timeout;
        loop {
            let says_at = (self.trouble != self.said).then_some(self.started + QUIET_START);
            tokio::select! {
                biased;
                batch = self.observer.next() => return Ok(batch),
                () = sleep_until(until) => return Err(self.no_answer()),
                () = deadline::until(says_at) => self.say_trouble(until),
            }
        }
    }

    /// Applies the newest server view that was not applied yet.
    pub async fn newest_view(&mut self) {
        if let Ok(Some(view)) = timeout_at(Instant::now(), viewed(&mut self.surveyor)).await {
            self.apply_view(&view);
        }
    }

    /// Applies a server view.
    pub fn apply_view(&mut self, view: &Arc<ServerView>) {
        self.apply(Change::Surveyed { view: Arc::clone(view) }, view.at);
    }

    /// Looks for findings; new and cleared ones are reported next.
    fn examine(&mut self) {
        self.follow_notes();
        let told = self.others.as_ref().and_then(|others| others.exchange(self.live.table(), now()));
        if let Some(waits) = told {
            self.apply(Change::Crossed { waits }, now());
        }
        let recorder = self.recording.as_deref_mut().and_then(TableRecording::batches);
        if let Some(looked) = self.live.diagnose(now(), recorder) {
            if let Some(spans) = self.recording.as_deref_mut().and_then(|recording| recording.spans.as_mut()) {
                spans.looked(&looked, self.live.table());
            }
            self.unreported = UnreportedFindings::new(looked);
        }
        self.examination.examined(Instant::now(), rest_between_checks(self.live.table()));
    }

    /// Takes what is muted now, and ends the mutes whose findings are cleared.
    fn follow_notes(&mut self) {
        if let Some(FollowedNotes { mutes, trouble, .. }) = self.notes.news().cloned() {
            if let Some(trouble) = trouble {
                note(&trouble);
            }
            if *self.live.table().mutes() != mutes {
                self.apply(Change::Muted { mutes }, now());
            }
        }
        // A command that reads once does not see for how long a finding is gone.
        if self.reports_initial {
            self.notes.end_cleared(self.live.diagnosis().cleared_mutes(self.live.table()));
        }
    }

    /// Applies a change to the table; returns its time and its events.
    fn apply(&mut self, change: Change, at: Timestamp) -> (Timestamp, Vec<Happening>) {
        let Some(recording) = self.recording.as_deref_mut() else { return self.live.apply(change, at, None) };
        let leaves_out_data = recording.spans.as_ref().is_some_and(SpanExport::leaves_out_data);
        let change = if leaves_out_data { without_data(change, self.live.table()) } else { change };
        let (at, happenings) = self.live.apply(change, at, recording.batches());
        recording.happened(&happenings, self.live.table(), at);
        (at, happenings)
    }

    fn apply_batch(&mut self, batch: Vec<Observed>) -> Vec<TableEvent> {
        let mut events = Vec::new();
        let mut batch = batch.into_iter();
        while let Some(Observed { at, change }) = batch.next() {
            if self.reading.gets_further(&change) {
                self.answered = Instant::now();
            }
            let is_synced = change == Change::Synced;
            let sampled = if let Change::Sampled { path, .. } = &change { Some(path.clone()) } else { None };
            let reason = self.record_connection(&change);
            let (at, happenings) = self.apply(change, at);
            let is_initial = self.reports_initial && is_synced && self.synced.is_none();
            if is_synced {
                self.synced = Some(at);
            }
            if is_initial {
                let found: Vec<LockId> = self.live.table().locks().map(LockQueue::id).collect();
                self.found = found.into_iter();
                events.extend(happenings.into_iter().map(|happening| TableEvent::Happening(happening, None)));
                // The rest comes after the report of the initial state.
                self.first_batch = Some(batch.collect()).filter(|rest: &Vec<_>| !rest.is_empty());
                break;
            }
            events.extend(happenings.into_iter().map(|happening| TableEvent::Happening(happening, reason.clone())));
            events.extend(sampled.into_iter().flat_map(|parent| self.samples_of(&parent)));
            events.extend(self.told_ensemble.news(self.live.table().ensemble_line(), at));
        }
        events
    }

    /// Returns the counts below this parent that are new.
    fn samples_of(&self, parent: &ZnodePath) -> Vec<TableEvent> {
        let locks = self.live.table().locks_queueing_at(parent);
        let locks = locks.into_iter().filter_map(|id| self.live.table().lock(id));
        let counted = locks.filter_map(|lock| Some((lock.lock_name(), self.live.table().sampled(lock)?)));
        let news = counted.filter(|(_, counts)| counts.per_second.is_none_or(|rates| !rates.are_zero()));
        news.map(|(lock, counts)| TableEvent::Sampled(lock, counts)).collect()
    }

    /// Records what a change says about the connection; returns the reason of a loss.
    fn record_connection(&mut self, change: &Change) -> Option<String> {
        let Change::Connection(link) = change else { return None };
        match link {
            ConnectionState::Connecting { reason: Some(reason), .. } => self.trouble = Some(reason.clone()),
            ConnectionState::Connected { recursive: false, .. } => self.say_one_shot(),
            ConnectionState::Silent { .. } => self.trouble = Some(NO_ANSWER.to_owned()),
            ConnectionState::Connecting { reason: None, .. } | ConnectionState::Connected { .. } => {}
            ConnectionState::Overloaded { reason } => return Some(reason.clone()),
            ConnectionState::Lost { reason } | ConnectionState::Lagging { reason, .. } => {
                self.trouble = Some(reason.clone());
                return Some(reason.clone());
            }
            ConnectionState::Refused { reason } => {
                self.refused = Some(reason.clone());
                return Some(reason.clone());
            }
        }
        None
    }

    /// Reads everything below the roots once.
    pub async fn read(settings: &ResolvedOptions) -> anyhow::Result<LockTable> {
        let mut live = Self::start(settings)?;
        let read = live.read_once().await;
        let (table, ..) = live.stop().await;
        read.map(|_| table)
    }

    /// Waits until everything below the roots was read; returns that time.
    pub async fn read_once(&mut self) -> anyhow::Result<Timestamp> {
        loop {
            if let Some(at) = self.synced {
                return Ok(at);
            }
            self.next().await?;
        }
    }

    /// Returns the last time at which everything below the roots had been read.
    pub fn synced(&self) -> Option<Timestamp> {
        self.synced
    }

    /// Returns whether everything was read and the initial state is reported.
    pub fn has_reported_start(&self) -> bool {
        self.synced.is_some() && self.found.len() == 0
    }

    pub fn table(&self) -> &LockTable {
        self.live.table()
    }

    /// Returns how many checks the last look could not decide whose findings would have at least
    /// this severity.
    pub fn open_checks(&self, least: Severity) -> usize {
        self.live.diagnosis().last_look().map_or(0, |look| look.open_count(least))
    }

    /// Returns why the current state of the locks is unknown.
    pub fn trouble(&self) -> &str {
        self.trouble.as_deref().unwrap_or("not everything was read again yet")
    }

    /// Returns when the servers' answers about themselves must be there, for a command that reads
    /// once.
    pub fn survey_until(&self) -> Option<Instant> {
        self.started.checked_add(self.timeout.saturating_add(MORE_FOR_SURVEY))
    }

    /// Ends the session within two seconds; within less for a command that reads once, whose time is
    /// over. Returns the table, its findings now, and the time.
    pub async fn stop(mut self) -> (LockTable, Diagnosis, Timestamp) {
        self.examine();
        if let Some(surveyor) = self.surveyor {
            surveyor.stop().await;
        }
        let at = now();
        let most =
            if self.reports_initial { STOP_TIMEOUT } else { self.timeout.saturating_sub(self.answered.elapsed()) };
        self.observer.stop_within(most.clamp(MIN_STOP_TIME, STOP_TIMEOUT)).await;
        let (table, diagnosis) = self.live.into_parts();
        (table, diagnosis, at)
    }
}

/// Waits for the next view; forever without a surveyor.
async fn viewed(surveyor: &mut Option<Surveyor>) -> Option<Arc<ServerView>> {
    match surveyor {
        Some(surveyor) => surveyor.next().await,
        None => std::future::pending().await,
    }
}

/// Longer timeouts count as endless; no limit is shown.
const MAX_TOLD_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What a command that watches says of servers without recursive watches.
const ONE_SHOT: &str = "the server has no recursive watches that can be relied on (ZooKeeper has them from 3.6 on): \
                        the locks are followed by one-shot watches, so that short holds may be missed";

impl LiveTable {
    /// Reports why there is no answer, and how long the command still waits.
    fn say_trouble(&mut self, until: Instant) {
        self.said.clone_from(&self.trouble);
        let Some(trouble) = &self.said else { return };
        let left = until.saturating_duration_since(Instant::now());
        self.note(&if left > MAX_TOLD_WAIT {
            format!("{trouble}; trying again")
        } else {
            format!("{trouble}; trying again for another {} s (--timeout)", left.as_secs().max(1))
        });
    }

    /// Prints a sentence on standard error, after the name of the context if there are several.
    fn note(&self, sentence: &str) {
        let of = self.label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
        output::note(&format!("{of}{sentence}"));
    }

    /// Reports once, for a command that watches, that short holds may be missed.
    fn say_one_shot(&mut self) {
        if self.reports_initial && !std::mem::replace(&mut self.said_one_shot, true) {
            self.note(ONE_SHOT);
        }
    }

    /// Returns the error that the ensemble did not answer, with the reason.
    pub fn no_answer(&self) -> anyhow::Error {
        let ensemble = self.ensemble();
        let connect = ensemble.connect();
        let reason = match (&self.trouble, self.live.table().session()) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(_)) => match self.observer.nodes_read() {
                0 => format!("{connect} gave a session and then answered no read of a node"),
                read => format!(
                    "{connect} answers, but its tree has no end in sight: {} nodes were read; choose a root below it \
                     (--root), or give a longer --timeout",
                    human::count(read)
                ),
            },
            (None, None) => format!("{connect} gave no session"),
        };
        let reason = reason + self.hint();
        // Rounded to tenths of a second for the message.
        let tenths = u64::try_from(self.answered.elapsed().as_millis() / 100).unwrap_or(u64::MAX);
        let waited = Duration::from_millis(tenths.saturating_mul(100));
        output::no_answer(waited, reason)
    }

    fn ended(&self) -> anyhow::Error {
        let refused = |reason: String| anyhow::Error::msg(reason + self.hint());
        self.refused.clone().map_or_else(|| self.no_answer(), refused)
    }

    /// Returns the advice on naming servers, if there is no session and none were named.
    fn hint(&self) -> &'static str {
        if self.live.table().session().is_none() { self.how_to_name_servers } else { "" }
    }

    /// Returns the ensemble, as reports name it.
    pub fn ensemble(&self) -> ReportedEnsemble {
        ReportedEnsemble::new(&self.connect, self.live.table().session()).with_view(self.live.table().view())
    }
}

/// Where the changes of a table go: into a file, into counters, to a collector.
pub struct TableRecording {
    /// Writes the changes into a file.
    pub recorder: Option<Recorder>,
    /// Counts the events.
    pub counters: Option<EventCounters>,
    /// Sends spans to a collector.
    pub spans: Option<SpanExport>,
}

impl TableRecording {
    /// Returns the recorder of the table's changes.
    fn batches(&mut self) -> Option<&mut BatchRecorder> {
        self.recorder.as_mut().map(Recorder::batches)
    }

    /// Counts the events of one change, and makes spans of them.
    fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        if let Some(counters) = &mut self.counters {
            counters.count_all(happenings, table);
        }
        if let Some(spans) = &mut self.spans {
            spans.happened(happenings, table, at);
        }
    }
}

impl LiveTable {
    /// Starts like [`start_to_watch`](Self::start_to_watch), and records the changes.
    pub fn start_to_record(settings: &ResolvedOptions, recording: TableRecording) -> anyhow::Result<Self> {
        Ok(Self { recording: Some(Box::new(recording)), ..Self::start_to_watch(settings)? })
    }

    /// Writes what was recorded; returns a sentence when nothing can be written at the moment, or
    /// the file went. Must be called once a second. Blocks the thread during disk access.
    pub fn flush_recording(&mut self) -> Option<String> {
        let recorder = self.recording.as_mut()?.recorder.as_mut()?;
        recorder.flush_beside(now(), self.live.table());
        let waits = |trouble: &str| format!("nothing is written at the moment, and tried again: {trouble}");
        recorder.file_news().map(str::to_owned).or_else(|| recorder.trouble().map(waits))
    }

    /// Sends what is due to the collector. Must be called once a second.
    pub fn flush_spans(&mut self, ensemble: &str) {
        let Some(spans) = self.recording.as_mut().and_then(|recording| recording.spans.as_mut()) else { return };
        spans.flush(self.live.table());
        if spans.metrics_are_due()
            && let Some(scrape) = self.scrape(ensemble)
            && let Some(spans) = self.recording.as_ref().and_then(|recording| recording.spans.as_ref())
        {
            spans.send_metrics(scrape);
        }
    }

    /// Records a deletion by hand.
    pub fn record_deletion(&mut self, deletion: RecordedDeletion) {
        if let Some(spans) = self.recording.as_mut().and_then(|recording| recording.spans.as_mut()) {
            spans.deleted(deletion.clone());
        }
        if let Some(recorder) = self.recording.as_mut().and_then(|recording| recording.recorder.as_mut()) {
            recorder.batches().deleted(deletion);
        }
    }

    /// Replies to a metrics request; ignored without counters.
    pub fn answer(&mut self, question: ScrapeKind, ensemble: &str) {
        // The client may be gone by now.
        match question {
            ScrapeKind::Health(asker) => _ = asker.send(health(self.live.table()).and(self.is_written())),
            ScrapeKind::Metrics(asker) => {
                if let Some(scrape) = self.scrape(ensemble) {
                    _ = asker.send(scrape.into());
                }
            }
        }
    }

    /// Returns `Ok` while the recording is written, or none is; otherwise a sentence with the
    /// reason.
    fn is_written(&self) -> Result<(), String> {
        let recorder = self.recording.as_ref().and_then(|recording| recording.recorder.as_ref());
        let trouble = recorder.and_then(Recorder::trouble);
        trouble.map_or(Ok(()), |trouble| Err(format!("the recording is not written at the moment: {trouble}")))
    }

    /// Returns the figures of this moment; `None` without counters.
    fn scrape(&mut self, ensemble: &str) -> Option<Scrape> {
        let TableRecording { recorder, counters, spans } = self.recording.as_deref_mut()?;
        let process = ProcessFigures {
            changes_behind: self.observer.changes_behind() as u64,
            is_stored: recorder.as_ref().map(|recorder| recorder.trouble().is_none()),
            store_files_gone: recorder.as_ref().map(Recorder::files_gone),
            otlp: spans.as_ref().map(SpanExport::figures),
        };
        let scrape = counters.as_mut()?.scrape(ensemble, self.live.table(), self.live.diagnosis(), process, now());
        Some(Scrape { context: self.label.clone(), ..scrape })
    }

    /// Ends the session within two seconds, and returns the recording and its table.
    pub async fn stop_recording(mut self) -> Option<(TableRecording, LockTable)> {
        let recording = self.recording.take()?;
        let (table, ..) = self.stop().await;
        Some((*recording, table))
    }
}

#[cfg(test)]
mod tests {
    use lockscope_base::znode::{ZnodeStat, Zxid};

    use super::*;

    #[test]
    fn a_reading_gets_further_only_beyond_what_was_read_before() {
        let seen = Change::Listed { path: ZnodePath::root(), stat: ZnodeStat::of_new(Zxid(1), Timestamp(1), None) };
        let mut reading = ReadingProgress::default();
        let changes = [Change::Syncing, seen.clone(), Change::Syncing, seen.clone(), seen, Change::Synced];
        assert_eq!(changes.map(|change| reading.gets_further(&change)), [false, true, false, false, true, true]);
    }

    #[test]
    fn the_words_of_the_sentence_about_one_shot_watches_are_one_blank_apart() {
        assert!(!ONE_SHOT.contains("  "), "{ONE_SHOT}");
    }
}

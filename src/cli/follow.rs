//! The observer and the table that it keeps, as the headless commands use them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::CliError;
use super::settings::{Settings, SettingsError};
use crate::diagnose::{Changed, Diagnosis, Finding};
use crate::observe::{Observed, Observer};
use crate::queue::{Change, ConnectionState, Happening, LockTable};
use crate::report::Ensemble;
use crate::server_view::ServerView;
use crate::zk::survey::{Surveyor, ViewBy};
use crate::znode::{SessionId, Timestamp};

/// What there is to tell.
pub(super) enum Told {
    /// What happened to a lock or to the connection, and why, where that is known.
    Happening(Happening, Option<String>),
    /// A finding was raised, or cleared.
    Finding { finding: Finding, raised: bool, at: Timestamp },
}

/// How often the locks are examined for what is wrong with them.
const EXAMINING: Duration = Duration::from_secs(1);

/// A table that follows the ensemble.
pub(super) struct Follower {
    observer: Observer,
    table: LockTable,
    connect: String,
    session: Option<SessionId>,
    synced: Option<Timestamp>,
    /// Why there is no connection.
    trouble: Option<String>,
    refused: Option<String>,
    patience: Duration,
    /// When it last gave an answer, or was first asked.
    answered: Instant,
    /// Asks the servers about themselves, again and again.
    surveyor: Option<Surveyor>,
    diagnosis: Diagnosis,
    /// When the locks are examined next; `None` when nobody wants to know.
    examine_at: Option<Instant>,
}

impl Follower {
    /// Starts to observe. Until everything was read once, the ensemble must give an answer every `timeout`.
    pub(super) fn start(settings: &Settings) -> Result<Self, CliError> {
        let options = settings.observe_options()?;
        Ok(Self {
            table: LockTable::new(options.named.iter().cloned()),
            observer: Observer::start_for_command(options),
            connect: settings.connect.clone(),
            session: None,
            synced: None,
            trouble: None,
            refused: None,
            patience: settings.timeout,
            answered: Instant::now(),
            surveyor: None,
            diagnosis: Diagnosis::new(settings.thresholds),
            examine_at: None,
        })
    }

    /// Also tells findings from now on, and asks the servers about themselves, if the settings want that; who watches what, which is
    /// dear, only for `watchers`.
    pub(super) fn survey(&mut self, settings: &Settings, watchers: bool) -> Result<(), CliError> {
        let options = settings.survey_options()?;
        self.examine_at = Some(Instant::now() + EXAMINING);
        if options.by != ViewBy::Off {
            let surveyor = Surveyor::start(options).map_err(SettingsError::from)?;
            surveyor.ask_for_watchers(watchers);
            self.surveyor = Some(surveyor);
        }
        Ok(())
    }

    /// The next changes, applied, and what they mean, in order. Fails when the ensemble refuses us, and when it gives no
    /// answer before everything was read once; afterwards it waits as long as it takes. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Vec<Told>, CliError> {
        let batch = if self.synced.is_some() {
            tokio::select! {
                () = reached(self.examine_at) => return Ok(self.examine()),
                batch = self.observer.next() => batch,
                Some(view) = viewed(&mut self.surveyor) => Some(vec![Observed { at: view.at, change: Change::Surveyed { view } }]),
            }
        } else {
            timeout_at(self.answered + self.patience, self.observer.next()).await.map_err(|_| self.no_answer())?
        };
        let batch = batch.ok_or_else(|| self.ended())?;
        Ok(self.take(batch))
    }

    /// Takes what the servers told about themselves.
    pub(super) fn told(&mut self, view: ServerView) {
        let at = view.at;
        self.table.apply(Change::Surveyed { view: Arc::new(view) }, at);
    }

    /// Looks what is wrong.
    pub(super) fn examine(&mut self) -> Vec<Told> {
        let at = now();
        self.examine_at = self.examine_at.map(|_| Instant::now() + EXAMINING);
        let Changed { raised, cleared } = self.diagnosis.examine(&self.table, at);
        let told = |raised| move |finding| Told::Finding { finding, raised, at };
        cleared.into_iter().map(told(false)).chain(raised.into_iter().map(told(true))).collect()
    }

    fn take(&mut self, batch: Vec<Observed>) -> Vec<Told> {
        let mut told = Vec::new();
        for Observed { at, change } in batch {
            let is_answer = !matches!(
                change,
                Change::Connection(ConnectionState::Connecting { .. } | ConnectionState::Lost { .. })
            );
            if is_answer {
                self.answered = Instant::now();
            }
            let is_synced = change == Change::Synced;
            let reason = self.note(&change);
            told.extend(
                self.table.apply(change, at).into_iter().map(|happening| Told::Happening(happening, reason.clone())),
            );
            if is_synced {
                self.synced = Some(at);
            }
        }
        told
    }

    /// Keeps what the change says of the connection; answers why it was cut.
    fn note(&mut self, change: &Change) -> Option<String> {
        let Change::Connection(link) = change else { return None };
        match link {
            ConnectionState::Connected { session, .. } => self.session = Some(*session),
            ConnectionState::Connecting { reason: Some(reason), .. } => self.trouble = Some(reason.clone()),
            ConnectionState::Connecting { reason: None, .. } => {}
            ConnectionState::Lost { reason } => {
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

    /// When everything had been read, the last time.
    pub(super) fn synced(&self) -> Option<Timestamp> {
        self.synced
    }

    /// What is known of the locks.
    pub(super) fn table(&self) -> &LockTable {
        &self.table
    }

    /// Whom we follow.
    pub(super) fn ensemble(&self) -> Ensemble {
        Ensemble::new(&self.connect, self.session).with_view(self.table.view())
    }

    /// Ends the session; at most two seconds. The table stays, and what is wrong with it now.
    pub(super) async fn stop(mut self) -> (LockTable, Diagnosis, Timestamp) {
        self.examine();
        if let Some(surveyor) = self.surveyor {
            surveyor.stop().await;
        }
        let at = now();
        self.observer.stop().await;
        (self.table, self.diagnosis, at)
    }

    /// That nobody answered, and for which reason.
    pub(super) fn no_answer(&self) -> CliError {
        let ensemble = self.ensemble();
        let connect = ensemble.connect();
        let reason = match (&self.trouble, self.session) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(_)) => format!("{connect} gave a session and then fell silent"),
            (None, None) => format!("{connect} gave no session"),
        };
        // Nobody reads more of it than tenths of a second.
        let tenths = u64::try_from(self.answered.elapsed().as_millis() / 100).unwrap_or(u64::MAX);
        let waited = Duration::from_millis(tenths.saturating_mul(100));
        CliError::NoAnswer { waited, reason }
    }

    fn ended(&self) -> CliError {
        match &self.refused {
            Some(reason) => CliError::Refused(reason.clone()),
            None => self.no_answer(),
        }
    }
}

/// The next view; never, where nobody asks.
async fn viewed(surveyor: &mut Option<Surveyor>) -> Option<Arc<ServerView>> {
    match surveyor {
        Some(surveyor) => surveyor.next().await,
        None => std::future::pending().await,
    }
}

async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn now() -> Timestamp {
    Timestamp(chrono::Utc::now().timestamp_millis())
}

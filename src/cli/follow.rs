//! The observer and the table that it keeps, as the headless commands use them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{CliError, settings::Settings};
use crate::observe::{Observed, Observer};
use crate::queue::{Change, Happening, Link, LockTable};
use crate::report::Ensemble;
use crate::server_view::ServerView;
use crate::zk::survey::{Surveyor, ViewBy};
use crate::znode::{SessionId, Timestamp};

/// A happening, and why it was, where that is known.
pub(super) type Told = (Happening, Option<String>);

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
}

impl Follower {
    /// Starts to observe. Until everything was read once, the ensemble must give an answer every `timeout`.
    pub(super) fn start(settings: &Settings) -> Result<Self, CliError> {
        let options = settings.observe_options()?;
        Ok(Self {
            table: LockTable::new(options.named.iter().cloned()),
            observer: Observer::start(options),
            connect: settings.connect.clone(),
            session: None,
            synced: None,
            trouble: None,
            refused: None,
            patience: settings.timeout,
            answered: Instant::now(),
            surveyor: None,
        })
    }

    /// Also asks the servers about themselves from now on, if the settings want that.
    pub(super) fn survey(&mut self, settings: &Settings) -> Result<(), CliError> {
        let options = settings.survey_options()?;
        if options.by != ViewBy::Off {
            self.surveyor = Surveyor::start(options).ok();
        }
        Ok(())
    }

    /// The next changes, applied, and what they mean, in order. Fails when the ensemble refuses us, and when it gives no
    /// answer before everything was read once; afterwards it waits as long as it takes. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Vec<Told>, CliError> {
        let batch = if self.synced.is_some() {
            tokio::select! {
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

    fn take(&mut self, batch: Vec<Observed>) -> Vec<Told> {
        let mut told = Vec::new();
        for Observed { at, change } in batch {
            let is_answer = !matches!(change, Change::Link(Link::Connecting { .. } | Link::Lost { .. }));
            if is_answer {
                self.answered = Instant::now();
            }
            let is_synced = change == Change::Synced;
            let reason = self.note(&change);
            told.extend(self.table.apply(change, at).into_iter().map(|happening| (happening, reason.clone())));
            if is_synced {
                self.synced = Some(at);
            }
        }
        told
    }

    /// Keeps what the change says of the connection; answers why it was cut.
    fn note(&mut self, change: &Change) -> Option<String> {
        let Change::Link(link) = change else { return None };
        match link {
            Link::Connected { session, .. } => self.session = Some(*session),
            Link::Connecting { reason: Some(reason), .. } => self.trouble = Some(reason.clone()),
            Link::Connecting { reason: None, .. } => {}
            Link::Lost { reason } => {
                self.trouble = Some(reason.clone());
                return Some(reason.clone());
            }
            Link::Refused { reason } => {
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

    /// Whom we follow.
    pub(super) fn ensemble(&self) -> Ensemble {
        Ensemble::new(&self.connect, self.session).with_view(self.table.view())
    }

    /// Ends the session; at most two seconds. The table stays.
    pub(super) async fn stop(self) -> LockTable {
        if let Some(surveyor) = self.surveyor {
            surveyor.stop().await;
        }
        self.observer.stop().await;
        self.table
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

//! The observer and the table that it keeps, as the headless commands use them.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{CliError, settings::Settings};
use crate::observe::{Observed, Observer};
use crate::queue::{Change, Happening, Link, LockTable};
use crate::report::Ensemble;
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
        })
    }

    /// The next changes, applied, and what they mean, in order. Fails when the ensemble refuses us, and when it gives no
    /// answer before everything was read once; afterwards it waits as long as it takes. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Vec<Told>, CliError> {
        let batch = if self.synced.is_some() {
            self.observer.next().await
        } else {
            timeout_at(self.answered + self.patience, self.observer.next()).await.map_err(|_| self.no_answer())?
        };
        let batch = batch.ok_or_else(|| self.ended())?;
        Ok(self.take(batch))
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
        Ensemble::new(&self.connect, self.session)
    }

    /// Ends the session; at most two seconds. The table stays.
    pub(super) async fn stop(self) -> LockTable {
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

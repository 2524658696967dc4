//! Carries out what was confirmed, on a session of its own, and reads what was written down of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use zookeeper_client::Client;

use super::app::{AuditTold, Event};
use crate::admin::audit::{self, Limits};
use crate::admin::{self, Audit, Confirmed, DeletePlan, Outcome, Permission, Who};
use crate::zk::{self, ConnectOptions};

/// How long each node of a plan may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The session time-out at the most: one that is left behind shall not stay for long.
const SESSION: Duration = Duration::from_secs(10);
/// How long the end of the session is waited for.
const CLOSING: Duration = Duration::from_secs(2);

/// What changes the ensemble for the screen.
///
/// Its session is not the observer's: the watches of that one must not be touched.
#[derive(Clone, Debug, Default)]
pub struct Hands {
    connection: Option<ConnectOptions>,
    audit_log: Option<PathBuf>,
    write: bool,
}

impl Hands {
    /// Hands that work at that ensemble, if they may `write`, and write down what they do.
    pub fn new(connection: ConnectOptions, audit_log: Option<PathBuf>, write: bool) -> Self {
        let connection = ConnectOptions { session_timeout: connection.session_timeout.min(SESSION), ..connection };
        Self { connection: Some(connection), audit_log, write }
    }

    /// Carries out a plan and tells what came of it. It takes at most about ten seconds to connect, and fifteen for each
    /// node. When this is cancelled, what was sent is done, and the log shows an intent without an outcome.
    pub async fn carry_out(self, plan: Confirmed<DeletePlan>) -> Event {
        Event::DeletionDone(self.try_carry_out(plan).await)
    }

    async fn try_carry_out(&self, plan: Confirmed<DeletePlan>) -> Result<Vec<Outcome>, String> {
        let permission =
            Permission::of_write_switch(self.write).ok_or("Nothing was done: this console is read-only.")?;
        let (Some(path), Some(connection)) = (self.audit_log.clone(), &self.connection) else {
            return Err("Nothing was done: there is no place for the audit log.".to_owned());
        };
        let opened = spawn_blocking(move || Audit::open(&path)).await.map_err(|error| nothing(&error.to_string()))?;
        let log = opened.map_err(|error| nothing(&error.to_string()))?;
        let client = zk::connect(connection).await.map_err(|error| nothing(&error.to_string()))?;
        let who = Who::ask(&client, &connection.connect).await;
        let outcomes = admin::execute(client, &permission, plan, &log, &who, PATIENCE, &mut Unexamined).await;
        Ok(outcomes)
    }

    /// Reads the audit log; with the permission to write, it is also found out whether the log can be written.
    pub async fn read_audit(self) -> Event {
        let told = spawn_blocking(move || self.try_read()).await;
        Event::AuditRead(Box::new(told.unwrap_or_else(|error| AuditTold {
            history: Err(format!("The audit log could not be read: {error}.")),
            unwritable: None,
        })))
    }

    fn try_read(&self) -> AuditTold {
        let path = self.audit_log.as_deref().unwrap_or(Path::new(""));
        let history = audit::read(path, Limits::default()).map_err(|error| {
            format!("The audit log cannot be read: {error}; make it readable, or name another one with --audit-log.")
        });
        let opened = self.write.then(|| Audit::open(path));
        let unwritable = opened.and_then(Result::err).map(|error| format!("Nothing can be deleted: {error}."));
        AuditTold { history, unwritable }
    }
}

fn nothing(why: &str) -> String {
    format!("Nothing was done: {}.", why.trim_end_matches('.'))
}

struct Unexamined;
impl admin::Examine for Unexamined {
    async fn examine(&mut self, _: &admin::PlannedNode) -> Result<Option<admin::PlannedNode>, String> { Ok(None) }
}

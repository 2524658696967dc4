//! Carries out confirmed deletions on a session of its own, and reads the audit log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::app::{AuditReading, Event};
use lockscope_live::admin::audit::{self, HistoryLimits};
use lockscope_live::admin::examine::Examiner;
use lockscope_live::admin::{self, Audit, Confirmed, DeletePlan, NodeOutcome, Permission, Who};
use lockscope_live::observe::ObserveOptions;
use lockscope_live::zk::survey::SurveyOptions;
use lockscope_live::zk::{self, ConnectOptions};

/// The time limit for each node of a plan.
const PATIENCE: Duration = Duration::from_secs(15);
/// The maximum session timeout: an abandoned session should end soon.
const SESSION: Duration = Duration::from_secs(10);
/// The time limit for finding the guards of a plan.
const FINDING_OUT: Duration = Duration::from_secs(10);

/// Carries out the deletions that the user confirmed.
///
/// The session is not the observer's, whose watches must not be disturbed.
#[derive(Clone, Debug, Default)]
pub struct DeletionRunner {
    observe: Option<ObserveOptions>,
    survey: Option<SurveyOptions>,
    audit_log: Option<PathBuf>,
    write: bool,
}

impl DeletionRunner {
    /// Creates a runner for an ensemble. Without `write`, or without a place for the audit log, it
    /// changes nothing.
    pub fn new(observe: ObserveOptions, survey: SurveyOptions, audit_log: Option<PathBuf>, write: bool) -> Self {
        let session_timeout = observe.connection.session_timeout.min(SESSION);
        let connection = ConnectOptions { session_timeout, ..observe.connection };
        Self { observe: Some(ObserveOptions { connection, ..observe }), survey: Some(survey), audit_log, write }
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
        let found = timeout(FINDING_OUT, admin::find_guards(&client, plan)).await;
        zk::close_session(client).await;
        match found {
            Ok(found) => found.map_err(|error| failed(&error.to_string())),
            Err(_) => Err(failed("the servers gave no answer in time")),
        }
    }

    /// Carries out a plan and reports the outcome. Takes at most about ten seconds to connect and
    /// fifteen for each node, besides the check of each node right before its deletion. When
    /// cancelled, requests already sent take effect, and the log shows an intent without an
    /// outcome.
    pub async fn carry_out(self, plan: Confirmed<DeletePlan>) -> Event {
        Event::DeletionDone(self.try_carry_out(plan).await)
    }

    async fn try_carry_out(&self, plan: Confirmed<DeletePlan>) -> Result<Vec<NodeOutcome>, String> {
        let permission =
            Permission::of_write_switch(self.write).ok_or("Nothing was done: this console is read-only.")?;
        let (Some(path), Some(observe), Some(survey)) = (self.audit_log.clone(), &self.observe, &self.survey) else {
            return Err("Nothing was done: no audit log is set; name one with --audit-log FILE.".to_owned());
        };
        let opened = spawn_blocking(move || Audit::open(&path)).await.map_err(|error| nothing(&error.to_string()))?;
        let log = opened.map_err(|error| nothing(&error.to_string()))?;
        let client = zk::connect(&observe.connection).await.map_err(|error| nothing(&error.to_string()))?;
        let who = Who::ask(&client, &observe.connection.connect).await;
        let nodes = plan.what().nodes().iter().map(|node| &node.path);
        let mut examiner = Examiner::start(observe.clone(), survey.clone(), nodes);
        let outcomes = admin::execute(client, &permission, plan, &log, &who, PATIENCE, &mut examiner).await;
        examiner.stop().await;
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

//! Carries out what was confirmed, on a session of its own, and reads what was written down of it.

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

/// How long each node of a plan may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The session time-out at the most: one that is left behind shall not stay for long.
const SESSION: Duration = Duration::from_secs(10);
/// How long it may take to find out what may be done.
const FINDING_OUT: Duration = Duration::from_secs(10);

/// What changes the ensemble for the screen.
///
/// Its session is not the observer's: the watches of that one must not be touched.
#[derive(Clone, Debug, Default)]
pub struct DeletionRunner {
    observe: Option<ObserveOptions>,
    survey: Option<SurveyOptions>,
    audit_log: Option<PathBuf>,
    write: bool,
}

impl DeletionRunner {
    /// Hands that work at that ensemble, if they may `write`, and write down what they do.
    pub fn new(observe: ObserveOptions, survey: SurveyOptions, audit_log: Option<PathBuf>, write: bool) -> Self {
        let session_timeout = observe.connection.session_timeout.min(SESSION);
        let connection = ConnectOptions { session_timeout, ..observe.connection };
        Self { observe: Some(ObserveOptions { connection, ..observe }), survey: Some(survey), audit_log, write }
    }

    /// Finds out how each node of a plan can be made sure of, and what is missing; nothing is changed by it. It takes at most about
    /// ten seconds to connect and ten more. Cancel safe.
    pub async fn find_guards(self, plan: DeletePlan) -> Event {
        Event::GuardsFound(self.try_find_guards(plan).await.map(Box::new))
    }

    async fn try_find_guards(&self, plan: DeletePlan) -> Result<DeletePlan, String> {
        let failed = |why: &str| format!("What may be done cannot be found out: {}.", why.trim_end_matches('.'));
        let observe = self.observe.as_ref().ok_or_else(|| failed("this console is read-only"))?;
        let client = zk::connect(&observe.connection).await.map_err(|error| failed(&error.to_string()))?;
        let found = timeout(FINDING_OUT, admin::find_guards(&client, plan)).await;
        zk::close_session(client).await;
        match found {
            Ok(found) => found.map_err(|error| failed(&error.to_string())),
            Err(_) => Err(failed("the servers gave no answer in time")),
        }
    }

    /// Carries out a plan and reports what came of it. It takes at most about ten seconds to connect, and fifteen for each
    /// node, besides the look at it right before. When this is cancelled, what was sent is done, and the log shows an intent without an outcome.
    pub async fn carry_out(self, plan: Confirmed<DeletePlan>) -> Event {
        Event::DeletionDone(self.try_carry_out(plan).await)
    }

    async fn try_carry_out(&self, plan: Confirmed<DeletePlan>) -> Result<Vec<NodeOutcome>, String> {
        let permission =
            Permission::of_write_switch(self.write).ok_or("Nothing was done: this console is read-only.")?;
        let (Some(path), Some(observe), Some(survey)) = (self.audit_log.clone(), &self.observe, &self.survey) else {
            return Err("Nothing was done: there is no place for the audit log.".to_owned());
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

    /// Reads the audit log; with the permission to write, it is also found out whether the log can be written.
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

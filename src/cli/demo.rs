//! `lockscope demo`: the guided tour, on the sandbox or on a path of its own.

use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use tokio::net::TcpListener;

use super::CliError;
use super::settings::{SESSION_TIMEOUT, Settings};
use crate::admin::audit;
use crate::demo::{Namespace, Script};
use crate::observe::ObserveOptions;
use crate::sandbox::{self, Sandbox, SandboxError};
use crate::tui::app::Tour;
use crate::tui::{self, TuiError, TuiOptions};
use crate::zk::ConnectOptions;
use crate::zk::survey::{SurveyOptions, ViewBy};
use crate::znode::ZnodePath;

/// The node of the sandbox below which the tour lies.
const GROUND: &str = "demo";

/// Runs the tour on a sandbox of this process, which ends with it.
pub(super) async fn on_sandbox(settings: &Settings, plays: bool) -> Result<(), CliError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(SandboxError::from)?;
    let sandbox = Sandbox::start(listener, sandbox::SandboxConfig::default())?;
    let connection = ConnectOptions {
        connect: sandbox.connect_string(),
        session_timeout: SESSION_TIMEOUT,
        auth: Vec::new(),
        tls: None,
    };
    let tour = Tour::new(Script::built_in(), ZnodePath::root().child(GROUND), true, plays);
    // Nothing else of this machine is asked: an AdminServer next door knows nothing of the sandbox.
    let survey = SurveyOptions { by: ViewBy::FourLetter, ..SurveyOptions::new(connection.clone()) };
    // What is deleted in the sandbox does not belong among what was deleted on an ensemble.
    let audit_log = std::env::temp_dir().join(format!("lockscope-demo-{:016x}.jsonl", fastrand::u64(..)));
    let audited = Some(audit_log.clone());
    let options = options(settings, connection, survey, ZnodePath::root(), tour);
    let shown = Box::pin(tui::run(TuiOptions { audit_log: audited, ..options })).await;
    sandbox.stop().await;
    // There is none where nothing was deleted.
    let _ = std::fs::remove_file(audit_log);
    Ok(shown?)
}

/// Runs the tour on the ensemble, below a node of its own, and removes that however the tour ends.
pub(super) async fn on_ensemble(settings: &Settings, plays: bool) -> Result<(), CliError> {
    if !tui::terminal::is_there() {
        return Err(TuiError::NoTerminal.into());
    }
    let (connection, survey) = (settings.connect_options()?, settings.survey_options()?);
    let ground = Namespace::make(connection.clone()).await?;
    let path = ground.path().clone();
    let tour = Tour::new(Script::built_in(), path.clone(), false, plays);
    let options = options(settings, connection, survey, path, tour);
    let shown = Box::pin(AssertUnwindSafe(tui::run(options)).catch_unwind()).await;
    let removed = ground.remove().await;
    shown.unwrap_or_else(|panic| resume_unwind(panic))?;
    Ok(removed?)
}

fn options(
    settings: &Settings,
    connection: ConnectOptions,
    survey: SurveyOptions,
    root: ZnodePath,
    tour: Tour,
) -> TuiOptions {
    TuiOptions {
        survey,
        observe: ObserveOptions { connection, roots: vec![root], named: Vec::new() },
        thresholds: settings.thresholds,
        ascii: settings.ascii,
        theme: settings.theme,
        mouse: settings.mouse,
        utc: settings.utc,
        write: true,
        tour: Some(tour),
        audit_log: settings.audit_log.clone().or_else(audit::usual_path),
    }
}

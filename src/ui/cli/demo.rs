//! `lockscope demo` and `lockscope sandbox`: the guided tour, on the sandbox or below a path of its
//! own, and the sandbox alone: a single-server ZooKeeper in memory.

use std::io::Write;
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures::FutureExt;
use serde::Serialize;
use tokio::net::TcpListener;

use super::options;
use super::options::{ChangeOptions, Choice, DisplayOptions, EnsembleOptions, PastOptions, SharedOptions, WhichLocks};
use super::output::{ExitAnswer, interrupted, print, write_json};
use super::resolved::{ResolvedOptions, SESSION_TIMEOUT};
use crate::tui;
use crate::tui::app::{Settings, Tour};
use crate::tui::{TuiError, TuiOptions};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::demo::{Namespace, Script};
use lockscope_live::admin::ProtectionGuard;
use lockscope_live::admin::notebook::{Notebook, NotesFollower};
use lockscope_live::observe::{MAX_BACKLOG, ObserveOptions};
use lockscope_live::zk::survey::{SurveyOptions, ViewBy};
use lockscope_live::zk::{ConnectOptions, SessionRole};
use lockscope_sandbox as sandbox;
use lockscope_sandbox::{Sandbox, SandboxConfig, SandboxError, ServerBehaviour};

/// The node of the sandbox below which the tour works.
const SANDBOX_NODE: &str = "demo";

/// The options of `lockscope demo`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(mut_arg("connect", |connect| connect.help("Run the tour on this ensemble instead of in memory")))]
pub(super) struct DemoOptions {
    /// Let the tour play by itself from the start
    #[arg(long)]
    pub play: bool,
    #[command(flatten)]
    pub display: DisplayOptions,
    /// Record changes to other people's locks in this file [default:
    /// $XDG_STATE_HOME/lockscope/audit.jsonl]
    #[arg(long, value_name = "FILE", help_heading = "Screen")]
    pub audit_log: Option<PathBuf>,
    /// Call a lock stuck when it has not changed hands for this long while others wait [default:
    /// 60s]
    #[arg(long, value_name = "DURATION", value_parser = options::parse_duration, help_heading = "Screen")]
    pub stuck_after: Option<Duration>,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl DemoOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let Self { display, audit_log, stuck_after, ensemble, play: _ } = self.clone();
        SharedOptions {
            locks: WhichLocks { stuck_after, ..WhichLocks::default() },
            display,
            changes: ChangeOptions { audit_log, ..ChangeOptions::default() },
            ensemble,
            ..SharedOptions::default()
        }
    }
}

/// Runs the tour on a sandbox in this process, which ends with the tour.
pub async fn on_sandbox(settings: &ResolvedOptions, plays: bool) -> anyhow::Result<ExitAnswer> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(SandboxError::from)?;
    let sandbox = Sandbox::start(listener, sandbox::SandboxConfig::default())?;
    let connection = ConnectOptions {
        connect: sandbox.connect_string(),
        session_timeout: SESSION_TIMEOUT,
        role: SessionRole::Console,
        auth: Vec::new(),
        tls: None,
        kerberos: None,
    };
    let tour = Tour::new(Script::built_in(), ZnodePath::root().child(SANDBOX_NODE), true, plays);
    // Only the sandbox is asked: an AdminServer on this machine belongs to another server.
    let survey = SurveyOptions { by: ViewBy::FourLetter, ..SurveyOptions::new(connection.clone()) };
    // Deletions in the sandbox must not appear in the user's audit log.
    let audit_log = std::env::temp_dir().join(format!("lockscope-demo-{:016x}.jsonl", fastrand::u64(..)));
    let mut options = tui_options(settings, connection, survey, ZnodePath::root(), tour);
    options.settings.audit_log = Some(audit_log.clone());
    let notes = audit_log.with_extension("notes.json");
    options.notes = NotesFollower::new(Some(Notebook::at(notes.clone())), None, &options.settings.connect);
    let shown = Box::pin(tui::run(options, None, Vec::new())).await;
    sandbox.stop().await;
    // The file is missing when nothing was deleted.
    for file in [audit_log, notes.with_extension("lock"), notes] {
        let _ = std::fs::remove_file(file);
    }
    shown?;
    Ok(ExitAnswer::Yes)
}

/// Runs the tour on an ensemble, below a node of its own, which is removed however the tour ends.
pub async fn on_ensemble(settings: &ResolvedOptions, plays: bool) -> anyhow::Result<ExitAnswer> {
    if !tui::terminal::is_there() {
        return Err(TuiError::NoTerminal.into());
    }
    let (connection, survey) = (settings.connect_options()?, settings.survey_options()?);
    let namespace = Namespace::make(connection.clone()).await?;
    let path = namespace.path().clone();
    let tour = Tour::new(Script::built_in(), path.clone(), false, plays);
    let options = tui_options(settings, connection, survey, path, tour);
    let shown = Box::pin(AssertUnwindSafe(tui::run(options, None, Vec::new())).catch_unwind()).await;
    let removed = namespace.remove().await;
    shown.unwrap_or_else(|panic| resume_unwind(panic))?;
    removed?;
    Ok(ExitAnswer::Yes)
}

fn tui_options(
    settings: &ResolvedOptions,
    connection: ConnectOptions,
    survey: SurveyOptions,
    root: ZnodePath,
    tour: Tour,
) -> TuiOptions {
    let observe = ObserveOptions {
        connection,
        roots: vec![root],
        named: Vec::new(),
        recipes: Vec::new(),
        expected: Vec::new(),
        clients: Vec::new(),
        max_backlog: MAX_BACKLOG,
    };
    // The tour must not appear in the user's recording.
    let past = PastOptions::default().place();
    let options = settings.tui_options(observe, survey);
    // The tour changes only what it makes itself.
    TuiOptions {
        settings: Settings { write: true, ..options.settings },
        tour: Some(tour),
        past,
        notes: NotesFollower::default(),
        guard: Some(ProtectionGuard::of_nothing()),
        ..options
    }
}

impl Choice for ServerBehaviour {
    const ALL: &'static [Self] = &[Self::ZooKeeper, Self::ZooKeeper35, Self::Keeper];

    fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::ZooKeeper => ("zookeeper", "Apache ZooKeeper 3.8.0"),
            Self::ZooKeeper35 => ("zookeeper-3.5", "Apache ZooKeeper 3.5.4"),
            Self::Keeper => ("keeper", "ClickHouse Keeper 25.12"),
        }
    }
}

/// The options of `lockscope sandbox`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct SandboxOptions {
    /// Port of 127.0.0.1 to listen on; 0 takes any free port
    #[arg(long, value_name = "PORT", default_value_t = 2181)]
    pub port: u16,
    /// Shortest session timeout that clients get
    #[arg(long, value_name = "DURATION", value_parser = options::parse_session_timeout, default_value = "200ms")]
    pub min_session_timeout: Duration,
    /// Longest session timeout that clients get
    #[arg(long, value_name = "DURATION", value_parser = options::parse_session_timeout, default_value = "1m")]
    pub max_session_timeout: Duration,
    /// The server to behave like: ZooKeeper 3.8.0, ZooKeeper 3.5.4, which has no recursive watches
    /// and no multi-read, or ClickHouse Keeper 25.12, whose watches and stats differ
    #[arg(long, value_name = "SERVER", value_parser = options::choice_parser::<ServerBehaviour>(), default_value = "zookeeper")]
    pub behave_as: ServerBehaviour,
    /// Write a log of lockscope's own work to this file
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
}

/// The first line of output.
#[derive(Serialize)]
struct Address {
    address: String,
}

/// Prints the address, and serves until SIGINT or SIGTERM. Fails when the address cannot be
/// printed, because no client could find the server.
pub async fn run_sandbox(options: &SandboxOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let interrupted = interrupted()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(SandboxError::from)?;
    let config = SandboxConfig {
        min_session_timeout: options.min_session_timeout,
        max_session_timeout: options.max_session_timeout.max(options.min_session_timeout),
        behaviour: options.behave_as,
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::start(listener, config)?;
    print(out, |out| write_json(out, &Address { address: sandbox.connect_string() }))?;
    interrupted.await;
    sandbox.stop().await;
    Ok(ExitAnswer::Yes)
}

//! `lockscope sandbox`: a single-server ZooKeeper in memory.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::choice::{self, Choice};
use super::duration;
use super::exit_answer::ExitAnswer;
use super::output::{print, write_json};
use lockscope_sandbox::{Behaviour, Sandbox, SandboxConfig, SandboxError};

impl Choice for Behaviour {
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
    #[arg(long, value_name = "DURATION", value_parser = duration::session_timeout, default_value = "200ms")]
    pub min_session_timeout: Duration,
    /// Longest session timeout that clients get
    #[arg(long, value_name = "DURATION", value_parser = duration::session_timeout, default_value = "1m")]
    pub max_session_timeout: Duration,
    /// The server to behave like: ZooKeeper 3.8.0, ZooKeeper 3.5.4, which has no recursive watches
    /// and no multi-read, or ClickHouse Keeper 25.12, whose watches and stats differ
    #[arg(long, value_name = "SERVER", value_parser = choice::parser::<Behaviour>(), default_value = "zookeeper")]
    pub behave_as: Behaviour,
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
pub(super) async fn run(options: &SandboxOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(SandboxError::from)?;
    let config = SandboxConfig {
        min_session_timeout: options.min_session_timeout,
        max_session_timeout: options.max_session_timeout.max(options.min_session_timeout),
        behaviour: options.behave_as,
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::start(listener, config)?;
    print(out, |out| write_json(out, &Address { address: sandbox.connect_string() }))?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    sandbox.stop().await;
    Ok(ExitAnswer::Yes)
}

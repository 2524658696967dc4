//! `lockscope sandbox`: a ZooKeeper of one server, in memory.

use std::io::Write;
use std::net::Ipv4Addr;

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::CliError;
use super::arguments::SandboxOptions;
use crate::report;
use crate::sandbox::{Sandbox, SandboxConfig, SandboxError};

/// The first line of output.
#[derive(Serialize)]
struct Address {
    address: String,
}

/// Says where it listens, and serves until SIGINT or SIGTERM. Nobody could find it who does not read that: it ends then.
pub(super) async fn run(options: &SandboxOptions, out: &mut impl Write) -> Result<(), CliError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(SandboxError::from)?;
    let config = SandboxConfig {
        min_session_timeout: options.min_session_timeout,
        max_session_timeout: options.max_session_timeout.max(options.min_session_timeout),
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::start(listener, config)?;
    let line = report::json::to_string(&Address { address: sandbox.connect_string() }).unwrap_or_default();
    writeln!(out, "{line}").and_then(|()| out.flush())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    sandbox.stop().await;
    Ok(())
}

//! `lockscope check`: why locks are stuck, for monitoring.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use tokio::time::{Instant, timeout_at};

use super::duration;
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{print, write_json};
use super::past::{self, Moment, MomentOptions};
use super::resolved::ResolvedOptions;
use super::unreadable::{every_root_is_readable, some_root_is_readable};
use super::verdict::Verdict;
use crate::diagnose::Severity;
use crate::record::PastTime;
use crate::report::{Check, lines};

/// How often each server is asked at the least while it is looked: what is only believed when it was seen twice must be seen.
const VIEWS: u32 = 3;

/// What `lockscope check` takes.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct CheckOptions {
    /// Exit with 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY", default_value = "warning")]
    pub fail_on: Severity,
    /// Look for this long, as in 6s or 1m
    #[arg(long = "for", value_name = "DURATION", default_value = "6s", conflicts_with = "store", value_parser = duration::parse)]
    pub look_for: Duration,
    #[command(flatten)]
    pub past: MomentOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

impl ValueEnum for Severity {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Info, Self::Warning, Self::Critical]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.id()).help(match self {
            Self::Info => "Any finding",
            Self::Warning => "What somebody should look at",
            Self::Critical => "Locks that will not be granted again by themselves",
        }))
    }
}

/// Prints what was found at a moment of a recording.
pub(super) fn run_past(
    settings: &ResolvedOptions,
    fail_on: Severity,
    store: &Path,
    at: Option<PastTime>,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let Moment { at, state, ensemble, since } = past::moment(store, at, settings.utc)?;
    let check = Check::new(&ensemble, &state.table, &state.diagnosis, at, fail_on, at.since(since));
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &check),
        Format::Table => lines::check(out, &state.table, state.diagnosis.findings(), check.not_seen(), false),
    })?;
    Ok(if check.passed() { Verdict::Yes } else { Verdict::No })
}

/// Looks for `look_for` from the moment when everything was read, and prints the findings. When a root cannot be read, the findings
/// below the others are printed, and the command fails.
pub(super) async fn run(
    settings: &ResolvedOptions,
    fail_on: Severity,
    look_for: Duration,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let mut live = LiveTable::start(settings)?;
    live.survey(settings, true, look_for / VIEWS)?;
    let looked = look(&mut live, look_for).await;
    let ensemble = live.ensemble();
    let (table, diagnosis, at) = live.stop().await;
    looked?;
    some_root_is_readable(&table, &settings.roots)?;
    let check = Check::new(&ensemble, &table, &diagnosis, at, fail_on, look_for);
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &check),
        Format::Table => lines::check(out, &table, diagnosis.findings(), check.not_seen(), true),
    })?;
    every_root_is_readable(&table, &settings.roots)?;
    Ok(if check.passed() { Verdict::Yes } else { Verdict::No })
}

async fn look(live: &mut LiveTable, look_for: Duration) -> anyhow::Result<()> {
    live.read_once().await?;
    let end = Instant::now() + look_for;
    while let Ok(events) = timeout_at(end, live.next()).await {
        events?;
    }
    Ok(())
}

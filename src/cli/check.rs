//! `lockscope check`: why locks are stuck, for monitoring.

use std::io::{BufWriter, Write};
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use tokio::time::{Instant, timeout_at};

use super::duration;
use super::error::{CliError, Verdict};
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::resolved::ResolvedOptions;
use super::shorten::{short_name, short_sentence};
use super::unreadable::{every_root_is_readable, some_root_is_readable};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::LockTable;
use crate::report::{Check, json};
use crate::text::human::plural;
use crate::znode::escaped;

/// What `lockscope check` takes.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct CheckOptions {
    /// Exit with 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY", default_value = "warning")]
    pub fail_on: Severity,
    /// Look for this long, as in 6s or 1m
    #[arg(long = "for", value_name = "DURATION", default_value = "6s", value_parser = duration::parse)]
    pub look_for: Duration,
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

/// Looks for `look_for` from the moment when everything was read, and prints the findings. When a root cannot be read, the findings
/// below the others are printed, and the command fails.
pub(super) async fn run(
    settings: &ResolvedOptions,
    fail_on: Severity,
    look_for: Duration,
    out: &mut impl Write,
) -> Result<Verdict, CliError> {
    let mut live = LiveTable::start(settings)?;
    live.survey(settings, true)?;
    let looked = look(&mut live, look_for).await;
    let ensemble = live.ensemble();
    let (table, diagnosis, at) = live.stop().await;
    looked?;
    some_root_is_readable(&table, &settings.roots)?;
    let check = Check::new(&ensemble, &table, &diagnosis, at, fail_on, look_for);
    let mut out = BufWriter::new(out);
    match settings.format {
        Format::Json => {
            json::to_writer(&mut out, &check).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Table => {
            let findings: Vec<&Finding> = diagnosis.findings().collect();
            for_people(&mut out, &findings, table.lock_count())?;
            not_covered(&mut out, &table, check.not_seen())?;
        }
    }
    out.flush()?;
    every_root_is_readable(&table, &settings.roots)?;
    Ok(if check.passed() { Verdict::Yes } else { Verdict::No })
}

/// Writes what the answer does not cover.
fn not_covered(out: &mut impl Write, table: &LockTable, not_seen: &[Code]) -> std::io::Result<()> {
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", escaped(path.as_str()), escaped(why))?;
    }
    for (server, why) in table.view().missing() {
        writeln!(out, "No answer from {}: {}", escaped(server), escaped(why))?;
    }
    if !not_seen.is_empty() {
        let codes: Vec<&str> = not_seen.iter().map(|code| code.id()).collect();
        writeln!(out, "Not looked for, in so short a time: {}", codes.join(", "))?;
    }
    Ok(())
}

async fn look(live: &mut LiveTable, look_for: Duration) -> Result<(), CliError> {
    live.read_once().await?;
    let end = Instant::now() + look_for;
    while let Ok(events) = timeout_at(end, live.next()).await {
        events?;
    }
    Ok(())
}

fn for_people(out: &mut impl Write, findings: &[&Finding], locks: usize) -> std::io::Result<()> {
    if findings.is_empty() {
        writeln!(out, "Nothing is wrong with {}.", plural(locks, "lock", "locks"))?;
    }
    for finding in findings {
        let name_in_lock = finding.lock.name.as_deref().map(|name_in_lock| format!(" {}", short_name(name_in_lock)));
        let lock = short_name(finding.lock.path.as_str()) + &name_in_lock.unwrap_or_default();
        writeln!(out, "{:<8}  {}  {lock}", finding.severity.id(), finding.code)?;
        writeln!(out, "          {}", short_sentence(&finding.summary))?;
        writeln!(out, "          {}", finding.remedy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lock_is_one_lock() {
        let printed = |locks| {
            let mut out = Vec::new();
            for_people(&mut out, &[], locks).expect("memory takes it");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(printed(1), "Nothing is wrong with 1 lock.\n");
        assert_eq!(printed(2), "Nothing is wrong with 2 locks.\n");
    }
}

//! `lockscope check`: why locks are stuck, for monitoring.

use std::io::{BufWriter, Write};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::arguments::Format;
use super::follow::Follower;
use super::human::{name, sentence};
use super::settings::Settings;
use super::unreadable::unreadable_roots;
use super::{CliError, Verdict};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::LockTable;
use crate::report::{Check, json};
use crate::znode::{escaped, plural};

/// Looks for so long, from the moment when everything was read, and prints what was found. Where a root cannot be read, what
/// was found below the others is printed, and the command fails.
pub(super) async fn run(
    settings: &Settings,
    format: Format,
    fail_on: Severity,
    during: Duration,
    out: &mut impl Write,
) -> Result<Verdict, CliError> {
    let mut follower = Follower::start(settings)?;
    follower.survey(settings, true)?;
    let looked = look(&mut follower, during).await;
    let ensemble = follower.ensemble();
    let (table, diagnosis, at) = follower.stop().await;
    looked?;
    super::snapshot::check_roots(&table, &settings.roots)?;
    let check = Check::new(&ensemble, &table, &diagnosis, at, fail_on, during);
    let mut out = BufWriter::new(out);
    match format {
        Format::Json => {
            json::to_writer(&mut out, &check).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Table => {
            let findings: Vec<&Finding> = diagnosis.findings().collect();
            for_people(&mut out, &findings, table.lock_count())?;
            not_looked_at(&mut out, &table, check.not_seen())?;
        }
    }
    out.flush()?;
    unreadable_roots(&table, &settings.roots)?;
    Ok(if check.passed() { Verdict::Yes } else { Verdict::No })
}

/// What the answer does not cover.
fn not_looked_at(out: &mut impl Write, table: &LockTable, not_seen: &[Code]) -> std::io::Result<()> {
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", escaped(path.as_str()), escaped(why))?;
    }
    for (server, why) in table.view().missing() {
        writeln!(out, "Not told by {}: {}", escaped(server), escaped(why))?;
    }
    if !not_seen.is_empty() {
        let codes: Vec<&str> = not_seen.iter().map(|code| code.id()).collect();
        writeln!(out, "Not looked for, in so short a time: {}", codes.join(", "))?;
    }
    Ok(())
}

async fn look(follower: &mut Follower, during: Duration) -> Result<(), CliError> {
    while follower.synced().is_none() {
        follower.next().await?;
    }
    let end = Instant::now() + during;
    while let Ok(told) = timeout_at(end, follower.next()).await {
        told?;
    }
    Ok(())
}

fn for_people(out: &mut impl Write, findings: &[&Finding], locks: usize) -> std::io::Result<()> {
    if findings.is_empty() {
        writeln!(out, "Nothing is wrong with {}.", plural(locks as u64, "lock", "locks"))?;
    }
    for finding in findings {
        let of_several = finding.lock.name.as_deref().map(|of_several| format!(" {}", name(of_several)));
        let lock = name(finding.lock.path.as_str()) + &of_several.unwrap_or_default();
        writeln!(out, "{:<8}  {}  {lock}", finding.severity.id(), finding.code)?;
        writeln!(out, "          {}", sentence(&finding.summary))?;
        writeln!(out, "          {}", finding.remedy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lock_is_one_lock() {
        let said = |locks| {
            let mut out = Vec::new();
            for_people(&mut out, &[], locks).expect("memory takes it");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(said(1), "Nothing is wrong with 1 lock.\n");
        assert_eq!(said(2), "Nothing is wrong with 2 locks.\n");
    }
}

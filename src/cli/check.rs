//! `lockscope check`: why locks are stuck, for monitoring.

use std::io::{BufWriter, Write};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::arguments::Format;
use super::follow::Follower;
use super::settings::Settings;
use super::{CliError, Verdict};
use crate::diagnose::{Finding, Severity};
use crate::report::Check;
use crate::znode::escaped;

/// Looks for so long, from the moment when everything was read, and prints what was found.
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
    let findings: Vec<&Finding> = diagnosis.findings().collect();
    let check = Check::new(&ensemble, table.lock_count(), at, fail_on, findings.clone());
    let mut out = BufWriter::new(out);
    match format {
        Format::Json => {
            serde_json::to_writer(&mut out, &check).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Table => for_people(&mut out, &findings, table.lock_count())?,
    }
    for (server, why) in table.view().missing().filter(|_| format == Format::Table) {
        writeln!(out, "Not told by {}: {}", escaped(server), escaped(why))?;
    }
    out.flush()?;
    Ok(if check.passed() { Verdict::Yes } else { Verdict::No })
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
        writeln!(out, "Nothing is wrong with {locks} locks.")?;
    }
    for finding in findings {
        let name = finding.lock.name.as_deref().map(|name| format!(" {}", escaped(name))).unwrap_or_default();
        writeln!(out, "{:<8}  {}  {}{name}", finding.severity.id(), finding.code, escaped(finding.lock.path.as_str()))?;
        writeln!(out, "          {}", finding.summary)?;
        writeln!(out, "          {}", finding.remedy)?;
    }
    Ok(())
}

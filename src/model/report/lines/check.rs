//! The findings, and what the check does not cover.

use std::io::{self, Write};

use super::servers::missing_answers;
use super::shorten::{short_lock, short_sentence};
use crate::diagnose::{Diagnosis, LastLook, OpenCheck, Severity, WhyOpen};
use crate::queue::LockTable;
use crate::text::human::{duration, plural};
use crate::verdict::{LookedAt, Needs, Unsought, Verdict};
use lockscope_base::znode::escaped;

/// Maximum number of open checks that are named.
const MAX_NAMED: usize = 10;

/// Writes the findings in their order, followed by what is not decided and what the check could not
/// cover. `can_look_longer` is false for a recording.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn check(
    out: &mut impl Write,
    table: &LockTable,
    diagnosis: &Diagnosis,
    verdict: &Verdict,
    can_look_longer: bool,
) -> io::Result<()> {
    if let Some(servers) = verdict.servers() {
        writeln!(out, "{:<8}  {}", servers.severity().id(), escaped(&servers.to_string()))?;
        writeln!(out, "          {}", servers.remedy())?;
    }
    if !table.is_live() {
        return missing_answers(out, table.view());
    }
    if diagnosis.findings().len() == 0 {
        let looked = verdict.looked_at().map(|looked| format!(", looked at for {}", duration(looked.lasted())));
        let locks = plural(table.lock_count(), "lock", "locks");
        writeln!(out, "No finding at {locks}{}.", looked.unwrap_or_default())?;
    }
    for finding in diagnosis.findings() {
        let lock = short_lock(&finding.lock.path, finding.lock.name.as_deref());
        writeln!(out, "{:<8}  {}  {lock}", finding.severity.id(), finding.code)?;
        writeln!(out, "          {}", short_sentence(&finding.summary))?;
        writeln!(out, "          {}", finding.remedy)?;
    }
    diagnosis.last_look().map_or(Ok(()), |look| write_open(out, look))?;
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", escaped(path.as_str()), escaped(why))?;
    }
    missing_answers(out, table.view())?;
    write_unsought(out, verdict.looked_at().map_or(&[], LookedAt::unsought), can_look_longer)
}

/// Writes the checks that are not decided yet, each with its lock.
fn write_open(out: &mut impl Write, last: &LastLook) -> io::Result<()> {
    for OpenCheck { lock, check, why, known_in, .. } in last.open().iter().take(MAX_NAMED) {
        let lock = short_lock(&lock.path, lock.name.as_deref());
        let when = match (why, known_in) {
            (WhyOpen::NoAnswer, _) => "a server does not answer any more".to_owned(),
            (WhyOpen::Lasts, Some(known_in)) => format!("known in {}", duration(*known_in)),
            (WhyOpen::Lasts, None) => "it must last".to_owned(),
        };
        writeln!(out, "Not decided yet: {lock}  {check} ({when})")?;
    }
    match last.open_count(Severity::Info).saturating_sub(MAX_NAMED) {
        0 => Ok(()),
        more => writeln!(out, "Not decided yet: {}", plural(more, "more check", "more checks")),
    }
}

/// Writes the kinds of findings whose absence proves nothing.
fn write_unsought(out: &mut impl Write, unsought: &[Unsought], can_look_longer: bool) -> io::Result<()> {
    let way = if can_look_longer { " (look longer with --for)" } else { "" };
    let heads = [
        format!("Could not be checked in so short a time{way}"),
        "Could not be checked without the servers' answers".to_owned(),
        "Could not be checked without a recording of the time before".to_owned(),
    ];
    let place = |needs| match needs {
        Needs::Longer(_) => 0,
        Needs::Servers => 1,
        Needs::Past => 2,
    };
    for (at, head) in heads.iter().enumerate() {
        let kinds = unsought.iter().filter(|kind| place(kind.needs) == at).map(|kind| match kind.needs {
            Needs::Longer(needed) => format!("{} {}", kind.code, duration(needed)),
            Needs::Servers | Needs::Past => kind.code.to_string(),
        });
        let kinds: Vec<String> = kinds.collect();
        if !kinds.is_empty() {
            writeln!(out, "{head}: {}", kinds.join(", "))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::diagnose::Thresholds;
    use crate::testing::{seen, table};
    use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

    #[test]
    fn the_number_of_locks_is_grammatical_and_missing_kinds_are_named() {
        let printed = |locks: &[&str], seconds| {
            let stat = ZnodeStat::of_new(Zxid(2), Timestamp(0), Some(SessionId(7)));
            let table = table(locks.iter().map(|path| seen(path, stat, b"")), Timestamp(0));
            let mut diagnosis = Diagnosis::new(Thresholds::default());
            diagnosis.examine(&table, Timestamp(0));
            let verdict = Verdict::of(&table, &diagnosis, Duration::from_secs(seconds), Severity::Warning);
            let mut out = Vec::new();
            check(&mut out, &table, &diagnosis, &verdict, true).expect("memory takes it");
            String::from_utf8(out).expect("text")
        };
        let one = printed(&["/a/lock-0000000000"], 3_600);
        assert!(one.starts_with("No finding at 1 lock, looked at for 1h00m.\n"), "{one}");
        let two = printed(&["/a/lock-0000000000", "/b/lock-0000000000"], 6);
        let lines: Vec<&str> = two.lines().collect();
        assert_eq!(lines[0], "No finding at 2 locks, looked at for 6.0s.");
        let short =
            "Could not be checked in so short a time (look longer with --for): member-disagrees 11s, empty-parent ";
        assert!(lines[1].starts_with(short), "{two}");
        let servers = "Could not be checked without the servers' answers: ghost, orphan-suspected, lost-wake-up, ";
        assert!(lines[2].starts_with(servers), "{two}");
    }
}

//! The findings, and what the check does not cover.

use std::io::{self, Write};

use super::shorten::{short_lock, short_sentence};
use crate::diagnose::{Finding, NotSeen};
use crate::queue::LockTable;
use crate::text::human::{duration, plural};
use lockscope_base::znode::escaped;

/// Writes the findings in their order, followed by what the check could not cover.
///
/// `not_seen` are the kinds of findings that need a longer look. `can_look_longer` is false for a
/// recording.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn check<'a>(
    out: &mut impl Write,
    table: &LockTable,
    findings: impl IntoIterator<Item = &'a Finding>,
    not_seen: &[NotSeen],
    can_look_longer: bool,
) -> io::Result<()> {
    let mut findings = findings.into_iter().peekable();
    if findings.peek().is_none() {
        writeln!(out, "Nothing is wrong with {}.", plural(table.lock_count(), "lock", "locks"))?;
    }
    for finding in findings {
        let lock = short_lock(&finding.lock.path, finding.lock.name.as_deref());
        writeln!(out, "{:<8}  {}  {lock}", finding.severity.id(), finding.code)?;
        writeln!(out, "          {}", short_sentence(&finding.summary))?;
        writeln!(out, "          {}", finding.remedy)?;
    }
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", escaped(path.as_str()), escaped(why))?;
    }
    for (server, why) in table.view().missing() {
        writeln!(out, "No answer from {}: {}", escaped(server), escaped(why))?;
    }
    if !not_seen.is_empty() {
        let each = not_seen.iter().map(|not_seen| format!("{} {}", not_seen.code, duration(not_seen.needs)));
        let each = each.collect::<Vec<_>>().join(", ");
        let way = if can_look_longer { " (look longer with --for)" } else { "" };
        writeln!(out, "Could not be checked in so short a time{way}: {each}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::diagnose::Code;
    use crate::testing::{seen, table};
    use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

    #[test]
    fn the_number_of_locks_is_grammatical_and_missing_kinds_are_named() {
        let printed = |locks: &[&str], not_seen: &[NotSeen]| {
            let (mut out, stat) = (Vec::new(), ZnodeStat::of_new(Zxid(2), Timestamp(0), Some(SessionId(7))));
            let table = table(locks.iter().map(|path| seen(path, stat, b"")), Timestamp(0));
            check(&mut out, &table, [], not_seen, true).expect("memory takes it");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(printed(&["/a/lock-0000000000"], &[]), "Nothing is wrong with 1 lock.\n");
        let not_seen = NotSeen { code: Code::Ghost, needs: Duration::from_secs(11) };
        let two = printed(&["/a/lock-0000000000", "/b/lock-0000000000"], &[not_seen]);
        let expected = "Nothing is wrong with 2 locks.\nCould not be checked in so short a time (look longer with --for): ghost 11s\n";
        assert_eq!(two, expected);
    }
}

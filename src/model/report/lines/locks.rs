//! The locks, one line each, with the columns of the screen.

use std::borrow::Cow;
use std::io::{self, Write};

use super::servers::missing_answers;
use super::shorten::{short_lock, short_name};
use crate::diagnose::Diagnosis;
use crate::queue::{Contender, HoldBounds, LockQueue, LockTable};
use crate::text::human::{bounded, duration};
use crate::text::{Align, Charset, columns};
use lockscope_base::znode::{Timestamp, ZnodePath, escaped};

/// Width of a holder's name, address and session, in columns.
const HOLDER_COLUMNS: usize = 44;

const HEADINGS: [&str; 8] = ["LOCK", "RECIPE", "HOLDER", "HELD", "WAIT", "OLDEST", "NEXT", "FINDING"];

/// Text is aligned to the left; numbers and times are aligned to the right.
const ALIGN: [Align; HEADINGS.len()] =
    [Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];

/// Writes a line for each lock with its worst finding, followed by the nodes that could not be read,
/// and by the servers that do not answer everything.
///
/// `roots` is empty for a recording, which has its own roots.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn locks(
    out: &mut impl Write,
    table: &LockTable,
    diagnosis: &Diagnosis,
    roots: &[ZnodePath],
    now: Timestamp,
) -> io::Result<()> {
    if table.lock_count() == 0 && roots.is_empty() {
        writeln!(out, "No locks.")?;
    } else if table.lock_count() == 0 {
        let roots: Vec<_> = roots.iter().map(|root| escaped(root.as_str())).collect();
        writeln!(out, "No locks below {}.", roots.join(", "))?;
    } else {
        let mut rows = vec![HEADINGS.map(Cow::Borrowed)];
        rows.extend(table.locks().map(|lock| row(table, lock, diagnosis, now)));
        write!(out, "{}", columns(&rows, ALIGN))?;
    }
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", short_name(path.as_str()), escaped(why))?;
    }
    missing_answers(out, table.view())
}

fn row(
    table: &LockTable,
    lock: &LockQueue,
    diagnosis: &Diagnosis,
    now: Timestamp,
) -> [Cow<'static, str>; HEADINGS.len()] {
    let path = short_lock(lock.path(), lock.name());
    let held = match lock.first_holder().map(|holder| table.hold_bounds(holder, now)) {
        None => "-".into(),
        Some(None) => "?".into(),
        Some(Some(HoldBounds { at_least, at_most })) => bounded(at_least, at_most, Charset::Unicode).into(),
    };
    let oldest = |waiter: &Contender| duration(table.server_time(now).since(waiter.created_at)).into();
    let next = lock.next_sequence().map_or("-".into(), |next| next.to_string().into());
    [
        path.into(),
        lock.recipe().title().into(),
        holders(table, lock),
        held,
        lock.waiting().to_string().into(),
        lock.first_waiter().map_or("-".into(), oldest),
        next,
        diagnosis.worst(lock.id()).map_or("".into(), |finding| finding.code.id().into()),
    ]
}

/// Returns the first holder, and the number of further ones.
fn holders(table: &LockTable, lock: &LockQueue) -> Cow<'static, str> {
    let Some(first) = lock.first_holder() else { return "-".into() };
    // Two spaces separate the columns, so a cell has no two spaces.
    let first = table.identity_of(first).fit(HOLDER_COLUMNS, Charset::Unicode).replace("  ", " ");
    match lock.holding() {
        0 | 1 if lock.is_assumed() => format!("{first} (assumed)").into(),
        0 | 1 => first.into(),
        several => format!("{first} +{}", several - 1).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Thresholds;
    use crate::queue::Change;
    use crate::testing::{path, seen, table};
    use crate::text::width;
    use lockscope_base::znode::{SessionId, ZnodeStat, Zxid};

    const NOW: Timestamp = Timestamp(1_000_000);

    fn stat(czxid: i64, age_ms: i64) -> ZnodeStat {
        let stat = ZnodeStat::of_new(Zxid(czxid), Timestamp(NOW.0 - age_ms), Some(SessionId(czxid)));
        ZnodeStat { cversion: 3, num_children: 3, ..stat }
    }

    fn node(at: &str, czxid: i64, age_ms: i64, data: &str) -> Change {
        seen(at, stat(czxid, age_ms), data.as_bytes())
    }

    fn printed(changes: Vec<Change>) -> String {
        let table = table(changes, NOW);
        let mut out = Vec::new();
        let mut diagnosis = Diagnosis::new(Thresholds::default());
        diagnosis.examine(&table, NOW);
        locks(&mut out, &table, &diagnosis, &[path("/")], NOW).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_lock_is_a_line_and_all_text_from_znodes_is_escaped() {
        let shown = printed(vec![
            Change::Listed { path: path("/locks/billing"), stat: stat(1, 900_000) },
            node("/locks/billing/lock-0000000000", 0x10, 842_000, "10.0.4.17"),
            node("/locks/billing/lock-0000000001", 0x11, 38_000, ""),
            node("/锁/r-0000000000", 0x20, 5_000, &"long".repeat(1_000)),
            node("/shared/read-0000000003", 0x30, 1_000, "\u{1b}[2J\n"),
            node("/shared/read-0000000004", 0x31, 900, ""),
            Change::Unreadable { path: path("/se\u{7}cret"), why: "no READ\u{1b}".to_owned() },
        ]);
        insta::assert_snapshot!(shown, @r"
        LOCK            RECIPE         HOLDER            HELD  WAIT  OLDEST  NEXT  FINDING
        /locks/billing  queue          10.0.4.17 0x10  14m02s     1     38s     3
        /shared         shared lock    0x30 +1          ≤1.0s     0       -     5
        /锁             unknown queue  0x20 (assumed)   ≤5.0s     0       -     1
        Not readable: /se\u{7}cret: no READ\u{1b}
        ");
    }

    #[test]
    fn one_name_that_is_too_long_does_not_widen_every_line() {
        let long = format!("/locks/{}", "x".repeat(5_000));
        let shown = printed(vec![
            node(&format!("{long}/lock-0000000000"), 0x10, 1_000, ""),
            node("/locks/a/lock-0000000000", 0x11, 1_000, ""),
        ]);
        assert!(shown.lines().all(|line| width(line) < 130), "{shown}");
        assert!(shown.contains("/locks/xxx") && shown.contains('…'), "{shown}");
    }

    #[test]
    fn an_ensemble_without_locks_says_so() {
        assert_eq!(printed(vec![]), "No locks below /.\n");
    }
}

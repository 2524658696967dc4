//! The answer to `dump`.

use chrono::NaiveDateTime;

use super::{Read, session, whole_lines};
use crate::server_view::{Expiry, ListedSession};
use lockscope_base::znode::SessionId;

/// The beginning of the line before the sessions and their expiry times.
const SETS: &str = "Session Sets (";

/// The beginning of the line before the sessions and their ephemeral nodes.
const EPHEMERALS: &str = "Sessions with Ephemerals";

/// Reads the sessions in the answer to `dump` of a leader or standalone server.
///
/// The answer contains `4 expire at DATE:`, followed by a line with a tab for each session. `None`
/// for a follower, which does not know when sessions expire.
pub fn dump(answer: &str) -> Option<Read<ListedSession>> {
    let mut lines = whole_lines(answer).skip_while(|line| !line.starts_with(SETS));
    // `Session Sets (2)/(4):` contains the number of times and the number of sessions.
    let promised = lines.next()?.strip_suffix("):")?.rsplit_once('(')?.1.parse::<usize>().ok()?;
    let (mut found, mut understood) = (Vec::new(), true);
    let mut expiry = None;
    for line in lines {
        if line.starts_with("ephemeral nodes dump") {
            break;
        } else if let Some(text) = line.strip_prefix('\t') {
            match (session(text), &expiry) {
                (Some(id), Some(expiry)) => found.push(ListedSession { id, expiry: *expiry, expires_at: None }),
                _ => understood = false,
            }
        } else if let Some((_, date)) = line.split_once(" expire at ") {
            expiry = date.strip_suffix(':').and_then(java_date);
        } else {
            understood = false;
        }
    }
    let whole = understood && found.len() == promised;
    Some((found, whole))
}

/// Reads the sessions with ephemeral nodes in the answer to `dump`, each with the absolute path of a
/// node. A path that begins like a session's line is not told from one.
pub fn ephemerals(answer: &str) -> impl Iterator<Item = (SessionId, &str)> {
    let lines = whole_lines(answer).skip_while(|line| !line.starts_with(EPHEMERALS)).skip(1);
    let lines = lines.take_while(|line| *line != "Connections dump:");
    let mut owner = None;
    // `ClickHouse` Keeper writes a space before a path, and no colon behind a session.
    lines.filter_map(move |line| match line.strip_prefix(['\t', ' ']) {
        Some(path) => Some((owner?, path)),
        None => {
            owner = session(line.trim_end_matches(':'));
            None
        }
    })
}

/// Reads Java's text of a date, `Sat Nov 21 07:57:28 UTC 2026`. Names of time zones are ambiguous,
/// so only the differences between such dates are meaningful, except in UTC.
fn java_date(text: &str) -> Option<Expiry> {
    let mut parts = text.split_ascii_whitespace();
    let (_day, month, day, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let (zone, year) = match (parts.next()?, parts.next()) {
        (zone, Some(year)) => (zone, year),
        (year, None) => ("", year),
    };
    let date = NaiveDateTime::parse_from_str(&format!("{year} {month} {day} {time}"), "%Y %b %d %H:%M:%S").ok()?;
    Some(Expiry::Date { millis: date.and_utc().timestamp_millis(), utc: matches!(zone, "UTC" | "GMT" | "Z") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("../captures/standalone-dump.txt");

    #[test]
    fn a_real_answer_contains_the_expiries_of_sessions() {
        let (found, whole) = dump(REAL).expect("a standalone server knows");
        assert!(whole);
        assert_eq!(found.len(), 4);
        assert!(found.iter().any(|one| one.id == SessionId(0x100_00b2_e295_0008)));
        assert!(matches!(found[0].expiry, Expiry::Date { utc: true, .. }));
        assert!(dump(include_str!("../captures/leader-dump.txt")).expect("a leader knows").1);
    }

    #[test]
    fn a_real_answer_contains_the_ephemeral_nodes_of_sessions() {
        let found: Vec<_> = ephemerals(REAL).collect();
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], (SessionId(0x100_00b2_e295_000b), "/eph (odd), é name"));
        assert_eq!(found[3], (SessionId(0x100_00b2_e295_0008), "/held/x-0000000000"));
        for cut in (0..REAL.len()).filter(|cut| REAL.is_char_boundary(*cut)) {
            assert!(ephemerals(&REAL[..cut]).all(|node| found.contains(&node)), "{cut}");
        }
    }

    #[test]
    fn the_answer_of_keeper_contains_the_ephemeral_nodes_and_no_expiries() {
        let answer = "Sessions dump (2):\n0x0000000000000001\n0x0000000000000002\nSessions with Ephemerals (1):\n\
             0x0000000000000001\n /clickhouse/task_queue/ddl\n";
        assert_eq!(dump(answer), None);
        assert_eq!(ephemerals(answer).collect::<Vec<_>>(), [(SessionId(1), "/clickhouse/task_queue/ddl")]);
    }

    #[test]
    fn a_follower_does_not_know_when_sessions_expire() {
        assert_eq!(dump(include_str!("../captures/follower-dump.txt")), None);
    }

    #[test]
    fn a_list_that_is_truncated_within_its_sessions_is_not_whole() {
        let end = REAL.find("ephemeral nodes").expect("the next part");
        for cut in 0..end {
            assert!(!dump(&REAL[..cut]).is_some_and(|(_, whole)| whole), "{cut}");
        }
    }

    #[test]
    fn dates_of_other_zones_keep_their_differences() {
        let millis = |text| match java_date(text) {
            Some(Expiry::Date { millis, utc: false }) => millis,
            other => panic!("{text}: {other:?}"),
        };
        let (first, second) = ("Sat Mar 01 09:59:59 CET 2025", "Sat Mar 01 10:00:01 CET 2025");
        assert_eq!(millis(second) - millis(first), 2_000);
        assert_eq!(java_date("yesterday"), None);
    }
}

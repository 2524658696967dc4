//! The answer to `dump`.

use chrono::NaiveDateTime;

use super::{Read, session, whole_lines};
use crate::server_view::{Expiry, ListedSession};

/// What starts the list of sessions with the times at which they expire.
const SETS: &str = "Session Sets (";

/// Reads the sessions in the answer to `dump` of a leader or standalone server: `4 expire at DATE:`, then a line with a tab for each
/// session. `None` when the server does not know when sessions expire: a follower does not.
pub fn dump(answer: &str) -> Option<Read<ListedSession>> {
    let mut lines = whole_lines(answer).skip_while(|line| !line.starts_with(SETS));
    // `Session Sets (2)/(4):` counts the times and the sessions.
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

/// `Sat Nov 21 07:57:28 UTC 2026`, Java's text of a date. The name of a time zone is ambiguous, so all but those of UTC
/// give a time of which only differences mean something.
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
    use lockscope_base::znode::SessionId;

    const REAL: &str = include_str!("../captures/standalone-dump.txt");

    #[test]
    fn a_real_servers_answer_says_when_sessions_expire() {
        let (found, whole) = dump(REAL).expect("a standalone server knows");
        assert!(whole);
        assert_eq!(found.len(), 4);
        assert!(found.iter().any(|one| one.id == SessionId(0x100_00b2_e295_0008)));
        assert!(matches!(found[0].expiry, Expiry::Date { utc: true, .. }));
        assert!(dump(include_str!("../captures/leader-dump.txt")).expect("a leader knows").1);
    }

    #[test]
    fn a_follower_does_not_know_when_sessions_expire() {
        assert_eq!(dump(include_str!("../captures/follower-dump.txt")), None);
    }

    #[test]
    fn a_list_that_is_cut_within_its_sessions_is_not_whole() {
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

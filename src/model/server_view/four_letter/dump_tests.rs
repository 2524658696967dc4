//! Tests of `dump`.

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

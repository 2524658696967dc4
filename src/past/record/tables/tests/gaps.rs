//! Tests of rows around gaps: they have bounds, and claim nothing more.

use super::fixture::{RecordedFixture, Row};
use crate::fixture::TableFixture;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{Change, ConnectionState};

fn gaps(fixture: &RecordedFixture) -> Vec<String> {
    fixture.texts("SELECT began_at || ' ' || ifnull(ended_at, 'open') || ' ' || reason FROM gap ORDER BY id")
}

fn by_ending(rows: &[Row], ending: &str) -> Vec<Row> {
    rows.iter().filter(|row| row.ending == ending).cloned().collect()
}

#[test]
fn contenders_found_again_continue_and_missing_ones_ended_within_the_gap() {
    let mut fixture = RecordedFixture::new();
    let (goes_on, t1) = fixture.create("/a/lock-", 1);
    let (leaves, t2) = fixture.create("/a/lock-", 2);
    let (gone, t3) = fixture.create("/b/lock-", 3);
    let (heir, t4) = fixture.create("/b/lock-", 4);
    let seen = fixture.cut();
    fixture.ensemble.tree.remove(&leaves);
    fixture.ensemble.tree.remove(&gone);
    let comes = fixture.ensemble.put_numbered("/b/lock-", 5);
    fixture.pass(5_000);
    let again = fixture.read_again();
    fixture.finish();
    let within = Some((seen.0, again.0));
    let rows = fixture.rows();
    let of = |path: &lockscope_base::znode::ZnodePath| {
        rows.iter().find(|row| row.node == path.name() && row.enqueued_at != Some(0)).cloned()
    };
    let exact = |at: Timestamp| Some((at.0, at.0));
    assert_eq!(
        of(&goes_on),
        Some(Row {
            node: goes_on.name().into(),
            enqueued_at: Some(t1.0),
            acquired: exact(t1),
            ended: None,
            ending: "open".into()
        })
    );
    let unknown = by_ending(&rows, "unknown");
    assert_eq!(unknown.len(), 2, "{rows:?}");
    let ended = |session_came: Timestamp| unknown.iter().find(|row| row.enqueued_at == Some(session_came.0)).unwrap();
    // Both are gone; the bound is the beginning of the reading.
    for came in [t2, t3] {
        let ended = ended(came).ended.unwrap();
        assert!(ended.0 == seen.0 && ended.1 > seen.0 + 5_000 && ended.1 <= again.0, "{ended:?} {within:?}");
    }
    let heir = rows.iter().find(|row| row.enqueued_at == Some(t4.0) && row.node == heir.name()).unwrap();
    let acquired = heir.acquired.expect("a holder");
    assert!(acquired.0 >= seen.0 && acquired.1 <= again.0 && acquired.0 < acquired.1, "{acquired:?}");
    assert!(rows.iter().any(|row| row.node == comes.name() && row.ending == "open" && row.acquired.is_none()));
    assert_eq!(gaps(&fixture), [format!("{} {} cut", seen.0, again.0)]);
    let held = fixture.texts(&format!(
        "SELECT held_at_least_ms || ' ' || held_at_most_ms FROM hold WHERE ending = 'unknown' AND enqueued_at = {}",
        t3.0
    ));
    let end = ended(t3).ended.unwrap();
    assert_eq!(held, [format!("{} {}", seen.0 - t3.0, end.1 - t3.0)]);
}

#[test]
fn a_lasting_gap_is_open_and_nothing_is_claimed_about_it() {
    let mut fixture = RecordedFixture::new();
    let (_, t1) = fixture.create("/a/lock-", 1);
    fixture.flush();
    fixture.flush();
    let seen = fixture.cut();
    fixture.pass(60_000);
    fixture.flush();
    assert_eq!(gaps(&fixture), [format!("{} open cut", seen.0)]);
    assert_eq!(fixture.texts("SELECT CAST(held_at_least_ms AS TEXT) FROM hold"), [(seen.0 - t1.0).to_string()]);
}

#[test]
fn events_that_came_too_fast_are_a_gap_with_that_reason() {
    let mut fixture = RecordedFixture::new();
    fixture.create("/a/lock-", 1);
    fixture.apply(Change::Connection(ConnectionState::Overloaded { reason: "too many events".to_owned() }));
    fixture.read_again();
    fixture.finish();
    assert!(gaps(&fixture)[0].ends_with(" too many events"), "{:?}", gaps(&fixture));
    assert_eq!(fixture.texts("SELECT ending FROM contender"), ["open"]);
}

#[test]
fn after_a_kill_contenders_found_again_continue_and_others_ended_within_the_gap() {
    let mut fixture = RecordedFixture::new();
    let (stays, t1) = fixture.create("/a/lock-", 1);
    let (heir, t2) = fixture.create("/a/lock-", 2);
    let (gone, t3) = fixture.create("/b/lock-", 3);
    fixture.flush();
    fixture.pass(1_000);
    fixture.flush();
    // The program was killed, so nobody sees this.
    let until = fixture.texts("SELECT CAST(max(until_at) AS TEXT) FROM recording")[0].parse::<i64>().unwrap();
    fixture.ensemble.tree.remove(&gone);
    fixture.pass(30_000);
    let again = fixture.restart();
    fixture.finish();
    let rows = fixture.rows();
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!((rows[0].enqueued_at, rows[0].acquired, rows[0].ended), (Some(t1.0), Some((t1.0, t1.0)), None));
    assert_eq!((rows[1].enqueued_at, rows[1].acquired), (Some(t2.0), None));
    assert_eq!((rows[2].enqueued_at, rows[2].ended, &*rows[2].ending), (Some(t3.0), Some((until, again.0)), "unknown"));
    assert_eq!(gaps(&fixture), [format!("{until} {} the recorder was not running", again.0)]);
    // Once more, with a hand-over in between.
    fixture.ensemble.tree.remove(&stays);
    fixture.pass(30_000);
    let third = fixture.restart();
    fixture.finish();
    let rows = fixture.rows();
    let acquired = rows[1].acquired.expect("a holder");
    assert!(acquired.0 >= again.0 && acquired.1 <= third.0, "{acquired:?} {again:?} {third:?}");
    assert_eq!((&*rows[0].ending, &*rows[1].node), ("unknown", heir.name()));
    assert_eq!(gaps(&fixture).len(), 2);
    assert_eq!(fixture.texts("SELECT CAST(count(*) AS TEXT) FROM recording"), ["3"]);
}

#[test]
fn runs_that_read_nothing_extend_the_gap() {
    let mut fixture = RecordedFixture::new();
    fixture.create("/a/lock-", 1);
    fixture.finish();
    for _ in 0..2 {
        fixture.tables = crate::record::tables::TableRecorder::resume(&fixture.connection, false).unwrap();
        fixture.ensemble.table = lockscope_model::queue::LockTable::new([]);
        fixture.pass(10_000);
        fixture.apply(Change::Connection(ConnectionState::Connecting { attempt: 1, reason: None, next_try: None }));
        fixture.flush();
    }
    assert_eq!(gaps(&fixture).len(), 1, "{:?}", gaps(&fixture));
    fixture.restart();
    fixture.finish();
    assert_eq!(gaps(&fixture).len(), 1, "{:?}", gaps(&fixture));
    assert!(!gaps(&fixture)[0].contains("open"));
    assert_eq!(fixture.texts("SELECT ending FROM contender"), ["open"]);
}

#[test]
fn the_first_look_finds_existing_holders_with_bounds() {
    let mut ensemble = TableFixture::new();
    ensemble.put_numbered("/a/lock-", 1);
    ensemble.put_numbered("/a/lock-", 2);
    ensemble.now.0 += 60_000;
    let mut fixture = RecordedFixture::with(ensemble, false);
    fixture.ensemble.table = lockscope_model::queue::LockTable::new([]);
    fixture.tables = crate::record::tables::TableRecorder::resume(&fixture.connection, false).unwrap();
    let found = fixture.read_again();
    fixture.finish();
    let rows = fixture.rows();
    let (after, before) = rows[0].acquired.expect("a holder");
    assert!(after <= before && before <= found.0 && after <= found.0 - 60_000, "{after} {before} {found:?}");
    assert_eq!(rows[1].acquired, None);
    assert_eq!(gaps(&fixture).len(), 1, "before the first reading nothing is known: {:?}", gaps(&fixture));
}

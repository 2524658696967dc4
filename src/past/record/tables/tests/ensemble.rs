//! The ensemble's time line as rows.

use rusqlite::Connection;

use crate::record::tables::timeline::EnsembleRows;
use crate::record::tables::{create, forget_before, merge, timeline};
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp};
use lockscope_model::ensemble::{EnsembleEvent, EnsembleEventKind, EnsembleLine};

fn file() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    create(&connection).unwrap();
    connection
}

fn write(connection: &Connection, rows: &mut EnsembleRows) {
    for row in std::mem::take(&mut rows.changed) {
        timeline::write(connection, &row).unwrap();
    }
}

/// Returns `ID WHAT BEGAN ENDED` of each row.
fn told(connection: &Connection) -> Vec<String> {
    let query =
        "SELECT id || ' ' || what || ' ' || began_before || ' ' || ifnull(ended_after || '-' || ended_before, 'open')
        FROM ensemble_event ORDER BY id";
    let mut query = connection.prepare(query).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn an_event_is_one_row_that_is_open_while_it_lasts() {
    let (connection, mut line) = (file(), EnsembleLine::default());
    let mut rows = EnsembleRows::new(1, Vec::new(), None);
    rows.happened(&line, Timestamp(5));
    line.lost_sight(Timestamp(10), "cut");
    rows.happened(&line, Timestamp(11));
    rows.happened(&line, Timestamp(12));
    assert_eq!(rows.changed.len(), 1);
    write(&connection, &mut rows);
    assert_eq!(told(&connection), ["1 not-seen 10 open"]);
    line.sees_again(Timestamp(20));
    line.lost_sight(Timestamp(30), "cut");
    rows.happened(&line, Timestamp(31));
    write(&connection, &mut rows);
    assert_eq!(told(&connection), ["1 not-seen 10 20-20", "2 not-seen 30 open"]);

    let transaction = connection.unchecked_transaction().unwrap();
    forget_before(&transaction, Timestamp(25)).unwrap();
    transaction.commit().unwrap();
    assert_eq!(told(&connection), ["2 not-seen 30 open"]);
}

#[test]
fn the_next_run_ends_what_another_left_open_and_goes_on_with_its_own() {
    let (connection, mut line) = (file(), EnsembleLine::default());
    let mut rows = EnsembleRows::new(1, Vec::new(), None);
    line.lost_sight(Timestamp(10), "cut");
    line.sees_again(Timestamp(20));
    line.lost_sight(Timestamp(30), "cut");
    rows.happened(&line, Timestamp(31));
    write(&connection, &mut rows);

    // The recorder could not write for a while, and goes on with the same line.
    let next = || EnsembleRows::new(3, timeline::unfinished(&connection).unwrap(), Some(Timestamp(40)));
    let mut again = next();
    again.happened(&line, Timestamp(50));
    line.sees_again(Timestamp(60));
    again.happened(&line, Timestamp(61));
    write(&connection, &mut again);
    assert_eq!(told(&connection), ["1 not-seen 10 20-20", "2 not-seen 30 60-60"]);

    // A console that starts anew knows nothing of it.
    line.lost_sight(Timestamp(70), "cut");
    again.happened(&line, Timestamp(71));
    write(&connection, &mut again);
    let mut anew = EnsembleRows::new(4, timeline::unfinished(&connection).unwrap(), Some(Timestamp(80)));
    anew.happened(&EnsembleLine::default(), Timestamp(90));
    write(&connection, &mut anew);
    assert_eq!(told(&connection)[2], "3 not-seen 70 80-90");
}

#[test]
fn an_excerpt_has_the_events_that_touch_it() {
    let connection = file();
    let insert = "INSERT INTO ensemble_event (what, began_after, began_before, ended_after, ended_before, source)
        VALUES ('no-majority', 10, 12, 20, 22, 'watched'), ('no-majority', 30, 31, 50, 52, 'watched'), ('no-majority', 60, 61, 70, 72, 'log')";
    connection.execute(insert, []).unwrap();
    let time = TimeRange { from: Timestamp(22), to: Timestamp(40) };
    let mut rows = EnsembleRows::new(1, Vec::new(), None);
    rows.will_be_given();
    let mut line = EnsembleLine::default();
    line.lost_sight(Timestamp(25), "cut");
    rows.happened(&line, Timestamp(26));
    rows.give(timeline::within(&connection, time).unwrap());
    let excerpt = file();
    write(&excerpt, &mut rows);
    assert_eq!(told(&excerpt), ["1 no-majority 12 20-22", "2 no-majority 31 open"]);
}

#[test]
fn a_log_completes_the_times_that_only_it_knows_and_only_once() {
    let (recording, log) = (file(), file());
    let insert = "INSERT INTO ensemble_event (what, epoch, began_after, began_before, ended_after, ended_before, source)
        VALUES ('leader-changed', 2, 10, 12, 10, 12, 'log'), ('leader-changed', 3, 30, 31, 30, 31, 'log'), ('leader-changed', 4, 50, 51, 50, 51, 'log')";
    log.execute(insert, []).unwrap();
    let seen = "INSERT INTO ensemble_event (what, epoch, began_after, began_before, ended_after, ended_before, source)
        VALUES ('leader-changed', 3, 29, 33, 29, 33, 'watched')";
    recording.execute(seen, []).unwrap();
    let times = || [(0, 20), (32, 40)].map(|(from, to)| TimeRange { from: Timestamp(from), to: Timestamp(to) });
    for _ in 0..2 {
        merge::complete_ensemble(&recording, &log, times().into_iter()).unwrap();
        assert_eq!(told(&recording), ["1 leader-changed 33 29-33", "2 leader-changed 12 10-12"]);
    }
}

#[test]
fn an_event_of_a_log_is_a_row_although_no_server_was_asked() {
    let connection = file();
    let mut rows = EnsembleRows::new(7, Vec::new(), None);
    let bounds = TimeBounds::between(Timestamp(3), Timestamp(9));
    rows.add(&EnsembleEvent::moment(EnsembleEventKind::LeaderChanged, None, bounds).with_epoch(Some(2)));
    write(&connection, &mut rows);
    assert_eq!(told(&connection), ["7 leader-changed 9 3-9"]);
}

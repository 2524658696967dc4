//! Tests of locks whose data is the time until which they are locked.

use std::time::Duration;

use crate::queue::{Change, Contender, LockEvent, LockTable};
use crate::testing::{path, seen, table};
use lockscope_base::znode::{Timestamp, ZnodeStat, Zxid};

/// 2024-05-01 14:41:07 UTC.
const NOW: Timestamp = Timestamp(1_714_574_467_000);

fn holding(table: &LockTable) -> Vec<(String, usize)> {
    table.locks().map(|lock| (lock.path().name().to_owned(), lock.holding())).collect()
}

#[test]
fn a_job_is_locked_until_the_time_in_its_data() {
    let job = |name: &str, changed_by: i64, until: &str| {
        let stat = ZnodeStat { mzxid: Zxid(changed_by), ..ZnodeStat::of_new(Zxid(7), Timestamp(0), None) };
        seen(&format!("/shedlock/{name}"), stat, until.as_bytes())
    };
    let found = [
        job("cleanup", 7, "2024-05-01T13:41:07.000Z"),
        job("notes", 7, "no time"),
        job("report", 7, "2024-05-01T14:41:17.000Z"),
    ];
    let mut table = table(found, NOW);
    let of = |cleanup, report| vec![("cleanup".to_owned(), cleanup), ("report".to_owned(), report)];
    assert_eq!(holding(&table), of(0, 1));
    let report = table.find(&path("/shedlock/report"), None).and_then(|id| table.lock(id)).expect("the lock");
    let until = report.first_holder().and_then(Contender::locked_until);
    assert_eq!(until, Some(Timestamp(NOW.0 + 10_000)));
    let held = report.first_holder().and_then(|holder| table.clock().hold_bounds(holder, Timestamp(NOW.0 + 2_000)));
    let held = held.expect("it is held");
    assert_eq!(held.at_least, Duration::from_secs(2), "the node is older than its lock");

    let over = Timestamp(NOW.0 + 10_000);
    let events: Vec<_> = table.apply(Change::Heard { at: over }, over).iter().map(|event| event.event).collect();
    assert_eq!((holding(&table), &events[..]), (of(0, 0), &[LockEvent::Released][..]));
    table.apply(job("cleanup", 9, "2024-05-01T15:41:07.000Z"), over);
    assert_eq!(holding(&table), of(1, 0));
    // The job ends early.
    table.apply(job("cleanup", 10, "2024-05-01T14:41:08.000Z"), over);
    assert_eq!(holding(&table), of(0, 0));
}

//! What waiting costs, compared with a plain simulation that looks at each second.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::TableFixture;
use crate::queue::{Change, LockId, WaiterTime, stand_by};
use crate::testing::steps::{Step, apply_step, step};
use crate::testing::{connected, lost};
use lockscope_base::znode::{SessionId, Timestamp};

/// What each lock and each of its holders cost in a second, in waiter-seconds.
type Second = BTreeMap<(LockId, Option<Option<SessionId>>), f64>;

/// Returns what the table as it stands costs in a second.
fn second(fixture: &TableFixture) -> Second {
    let mut second = Second::new();
    for lock in fixture.table.locks().filter(|lock| lock.waiting() > 0) {
        if lock.holding() > 0 && stand_by(lock.recipe(), lock.path()) {
            continue;
        }
        let waiting = f64::from(u32::try_from(lock.waiting()).unwrap());
        second.insert((lock.id(), None), waiting);
        let share = waiting / f64::from(u32::try_from(lock.holding()).unwrap());
        for row in lock.rows(0..lock.holding().min(8)) {
            *second.entry((lock.id(), Some(row.contender.session()))).or_default() += share;
        }
    }
    second
}

/// Returns the sum of the last ten minutes, of the oldest of which only a part is within them.
fn expected(seconds: &BTreeMap<i64, Second>, now: Timestamp) -> Second {
    let (minute, into) = (now.0.div_euclid(60_000), now.0.rem_euclid(60_000));
    let mut sums = Second::new();
    for (at, costs) in seconds.range((minute - 10) * 60_000..now.0) {
        let is_oldest = at.div_euclid(60_000) == minute - 10;
        let part = if is_oldest { f64::from(i32::try_from(60_000 - into).unwrap()) / 60_000.0 } else { 1.0 };
        for (key, cost) in costs {
            *sums.entry(*key).or_default() += cost * part;
        }
    }
    sums
}

fn at_once(fixture: &mut TableFixture, changes: impl IntoIterator<Item = Change>) {
    for change in changes {
        fixture.table.apply(change, fixture.now);
    }
}

proptest! {
    #[test]
    fn the_costs_are_those_of_a_look_at_each_second(
        steps in prop::collection::vec((step(), 0..90_i64), 1..60), apart in 1..4_i64,
    ) {
        let mut fixture = TableFixture::new();
        fixture.now = Timestamp(fixture.now.0.div_euclid(1_000) * 1_000);
        let mut seconds = BTreeMap::new();
        for (serial, (step, lasts)) in (0_u32..).zip(&steps) {
            if let Step::Miss(missed) = step {
                at_once(&mut fixture, [lost()]);
                // What came after the last message was not seen.
                seconds.split_off(&fixture.table.last_true().unwrap().0);
                for (more, step) in (0_u32..).zip(missed) {
                    apply_step(&mut fixture, step, 10_000 + serial * 100 + more);
                }
                fixture.now.0 += lasts * 1_000;
                let walk = fixture.walk();
                at_once(&mut fixture, [connected()].into_iter().chain(walk));
            }
            let changes = apply_step(&mut fixture, step, serial);
            at_once(&mut fixture, changes);
            let costs = second(&fixture);
            for _ in 0..lasts * apart {
                seconds.insert(fixture.now.0, costs.clone());
                fixture.now.0 += 1_000;
            }
            let (table, now) = (&fixture.table, fixture.now);
            let expected = expected(&seconds, now);
            let is = |found: WaiterTime, expected: f64| (found.0.as_secs_f64() - expected).abs() < 0.001;
            for ((lock, session), cost) in &expected {
                let found = match session {
                    None => table.waits().of_lock(*lock, now),
                    Some(session) => table.waits().of_holder((*lock, *session), now),
                };
                prop_assert!(is(found, *cost), "{lock:?} {session:?}: {found:?}, not {cost}");
            }
            let all: f64 = expected.iter().filter(|((_, session), _)| session.is_none()).map(|(_, cost)| cost).sum();
            prop_assert!(is(table.waits().of_all(now), all), "{:?}, not {all}", table.waits().of_all(now));
        }
    }
}

#[test]
fn the_client_that_made_others_wait_most_comes_first_and_what_is_long_ago_is_forgotten() {
    let mut fixture = TableFixture::new();
    fixture.now = Timestamp(1_020_000);
    let [first, _, _] = [1, 2, 3].map(|owner| fixture.create("/a/lock-", owner));
    fixture.create("/b/lock-", 4);
    fixture.create("/b/lock-", 5);
    fixture.now.0 += 60_000;
    fixture.delete(&first);
    fixture.now.0 += 59_000;
    let told = |fixture: &TableFixture| {
        let most = fixture.table.most_waited_for(3, fixture.now).into_iter();
        most.map(|one| (one.client.session.map(|id| id.0), one.waited.0.as_secs(), one.waiters)).collect::<Vec<_>>()
    };
    assert_eq!(told(&fixture), [(Some(1), 120, 2), (Some(4), 119, 1), (Some(2), 59, 1)]);
    assert_eq!(fixture.table.waits().seen(fixture.now).as_secs(), 20 + 119);
    fixture.now.0 += 480_000;
    assert_eq!(fixture.table.waits().of_all(fixture.now).0.as_secs(), 120 + 59 + 119 + 2 * 480);
    fixture.now.0 += 301_000;
    assert_eq!(told(&fixture)[..2], [(Some(2), 600, 1), (Some(4), 600, 1)]);
    fixture.apply(Change::Heard { at: fixture.now });
    fixture.apply(lost());
    fixture.now.0 += 300_000;
    let seen = fixture.table.waits().seen(fixture.now).as_secs();
    assert!((299..=300).contains(&seen), "{seen} s are seen");
}

#[test]
fn of_very_many_holders_the_costliest_are_remembered() {
    let mut fixture = TableFixture::new();
    for owner in 1..=3 {
        fixture.create("/worst/lock-", owner);
    }
    for (lock, owner) in (0..5_000).flat_map(|lock| [(lock, 10), (lock, 11)]) {
        fixture.create(&format!("/l{lock}/lock-"), owner);
    }
    let holders = fixture.table.waits().holders(fixture.now).len();
    assert!((500..=1_024).contains(&holders), "{holders} holders");
    let worst = fixture.table.most_waited_for(1, fixture.now).pop().map(|one| (one.lock.to_string(), one.waiters));
    assert_eq!(worst, Some(("/worst".to_owned(), 2)));
    assert_eq!(fixture.table.waits().locks().count(), 5_001);
}

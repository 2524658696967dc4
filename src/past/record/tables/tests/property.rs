//! Property tests: the rows match the events for any sequence of steps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fixture::RecordedFixture;
use crate::fixture::session_runs_out;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::queue::LockEvent;

#[derive(Clone, Debug)]
enum Step {
    Create {
        place: usize,
        session: i64,
    },
    Delete(prop::sample::Index),
    Expire(i64),
    Flush,
    /// Steps that are not seen.
    Cut(Vec<Step>),
    Kill(Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    let simple = prop_oneof![
        6 => (0..5_usize, 1..6_i64).prop_map(|(place, session)| Step::Create { place, session }),
        5 => any::<prop::sample::Index>().prop_map(Step::Delete),
        1 => (1..6_i64).prop_map(Step::Expire),
    ];
    let missed = || prop::collection::vec(simple.clone(), 0..6);
    prop_oneof![12 => simple.clone(), 4 => Just(Step::Flush), 1 => missed().prop_map(Step::Cut), 1 => missed().prop_map(Step::Kill)]
}

const PLACES: [&str; 5] =
    ["/a/lock-", "/b/c/lock-", "/rw/read-", "/rw/write-", "/s/locks/_c_00000000-0000-4000-8000-000000000000-lock-"];

/// Takes one step, seen or unseen.
fn apply_step(fixture: &mut RecordedFixture, step: &Step, seen: bool) {
    fixture.pass(7);
    match step {
        Step::Create { place, session } => {
            let path = fixture.ensemble.put_numbered(PLACES[*place], *session);
            if seen {
                fixture.apply(fixture.ensemble.observed(&path));
            }
        }
        Step::Delete(which) => {
            let paths: Vec<ZnodePath> = fixture.ensemble.tree.keys().cloned().collect();
            if !paths.is_empty() {
                remove(fixture, which.get(&paths), seen);
            }
        }
        Step::Expire(session) => {
            let owner = Some(SessionId(*session));
            let theirs = fixture.ensemble.tree.iter().filter(|(_, node)| node.stat.ephemeral_owner == owner);
            let theirs: Vec<ZnodePath> = theirs.map(|(path, _)| path.clone()).collect();
            if seen {
                fixture.pass(5_000);
                fixture.apply(session_runs_out(*session, fixture.ensemble.now));
            }
            for path in &theirs {
                remove(fixture, path, seen);
            }
        }
        Step::Flush => fixture.flush(),
        Step::Cut(missed) => {
            fixture.cut();
            for step in missed {
                apply_step(fixture, step, false);
            }
            fixture.read_again();
        }
        Step::Kill(missed) => {
            for step in missed {
                apply_step(fixture, step, false);
            }
            fixture.restart();
        }
    }
}

fn remove(fixture: &mut RecordedFixture, path: &ZnodePath, seen: bool) {
    if seen {
        fixture.delete(path);
    } else {
        fixture.ensemble.tree.remove(path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn without_a_gap_the_sums_of_the_rows_are_those_of_the_happenings(steps in prop::collection::vec(step(), 1..80)) {
        let mut fixture = RecordedFixture::new();
        let steps = steps.iter().filter(|step| !matches!(step, Step::Cut(_) | Step::Kill(_)));
        steps.for_each(|step| apply_step(&mut fixture, step, true));
        fixture.finish();
        let (rows, happenings) = (fixture.rows(), &fixture.happenings);
        let certain = || happenings.iter().filter(|happening| !happening.may_have_expired);
        let count = |event| happenings.iter().filter(|happening| happening.event == event).count();
        let count_certain = |event| certain().filter(|happening| happening.event == event).count();
        let ended = |ending: &str| rows.iter().filter(|row| row.ending == ending).count();
        prop_assert_eq!(rows.len(), count(LockEvent::Enqueued));
        prop_assert_eq!(rows.iter().filter(|row| row.acquired.is_some()).count(), count(LockEvent::Acquired));
        prop_assert_eq!(count(LockEvent::Expired), ended("expired"));
        // An uncertain end is settled when the servers list the session later.
        let gone = |held: bool| rows.iter().filter(|row| row.ending == "gone" && row.acquired.is_some() == held).count();
        for (event, held) in [(LockEvent::Released, true), (LockEvent::Left, false)] {
            prop_assert!((count_certain(event)..=count(event)).contains(&gone(held)), "{:?}", event);
        }
        let ended_by_somebody = count(LockEvent::Released) + count(LockEvent::Left);
        prop_assert_eq!(ended("gone") + ended("unknown"), ended_by_somebody);
        if certain().count() == happenings.len() {
            let held: i64 = rows.iter().filter(|row| row.ending == "gone").filter_map(|row| Some(row.ended?.1 - row.acquired?.0)).sum();
            let reported = happenings.iter().filter(|happening| happening.event == LockEvent::Released);
            prop_assert_eq!(held, reported.map(|happening| i64::try_from(happening.held_ms.unwrap_or_default()).unwrap()).sum::<i64>());
        }
        let waited: i64 = rows.iter().filter_map(|row| Some(row.acquired?.0 - row.enqueued_at?)).sum();
        let reported = happenings.iter().filter(|happening| happening.event == LockEvent::Acquired);
        prop_assert_eq!(waited, reported.map(|happening| i64::try_from(happening.waited_ms.unwrap_or_default()).unwrap()).sum::<i64>());
    }

    #[test]
    fn whoever_stands_is_open_once_and_all_others_have_ended_between_bounds(steps in prop::collection::vec(step(), 1..80)) {
        let mut fixture = RecordedFixture::new();
        for step in &steps {
            apply_step(&mut fixture, step, true);
        }
        fixture.finish();
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        for row in fixture.rows() {
            prop_assert_eq!(row.ended.is_none(), row.ending == "open", "{:?}", row);
            let bounds = [row.enqueued_at.map(|at| (at, at)), row.acquired, row.ended];
            let bounds: Vec<(i64, i64)> = bounds.into_iter().flatten().collect();
            prop_assert!(bounds.iter().all(|(after, before)| after <= before), "{:?}", row);
            prop_assert!(bounds.windows(2).all(|pair| pair[0].0 <= pair[1].1), "{:?}", row);
            if row.ending == "open" {
                *open.entry(row.node).or_default() += 1;
            }
        }
        let table = &fixture.ensemble.table;
        let mut stand: BTreeMap<String, usize> = BTreeMap::new();
        let rows = table.locks().flat_map(|lock| lock.rows(0..lock.len()));
        let mut holding = 0;
        for row in rows {
            *stand.entry(row.contender.node.to_string()).or_default() += 1;
            holding += usize::from(row.state == lockscope_model::queue::ContenderState::Holds);
        }
        prop_assert_eq!(&open, &stand);
        prop_assert_eq!(fixture.tables.standing(), table.contender_count());
        let held = fixture.rows().iter().filter(|row| row.ending == "open" && row.acquired.is_some()).count();
        prop_assert_eq!(held, holding);
    }
}

//! A table that was written to a file and read again goes on unchanged. A damaged one is refused.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::TableFixture;
use super::property::summary;
use crate::queue::{Change, LockTable};
use crate::testing::steps::{Step, apply_step, step};

fn written(table: &LockTable) -> Vec<u8> {
    postcard::to_allocvec(table).expect("a table is serializable")
}

pub(super) fn restored(table: &LockTable) -> LockTable {
    let evidence = postcard::to_allocvec(&table.session_evidence()).expect("evidence is serializable");
    let read: LockTable = postcard::from_bytes(&written(table)).expect("a serialized table can be read");
    let elections = postcard::to_allocvec(table.elections()).expect("elections are serializable");
    let ensemble = postcard::to_allocvec(&table.ensemble_state()).expect("the state is serializable");
    read.with_session_evidence(postcard::from_bytes(&evidence).expect("serialized evidence can be read"))
        .with_elections(postcard::from_bytes(&elections).expect("serialized elections can be read"))
        .with_ensemble_state(postcard::from_bytes(&ensemble).expect("a serialized state can be read"))
}

fn changes(fixture: &mut TableFixture, steps: &[Step]) -> Vec<Change> {
    (0_u32..).zip(steps).flat_map(|(serial, step)| apply_step(fixture, step, serial)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../../tests/regressions/restored.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_restored_table_says_and_does_what_the_first_one_does(steps in prop::collection::vec(step(), 1..80), every in 1..9_usize) {
        let mut fixture = TableFixture::new();
        let mut other = restored(&fixture.table);
        for (number, change) in changes(&mut fixture.clone(), &steps).into_iter().enumerate() {
            if number % every == 0 {
                other = restored(&other);
                prop_assert!(other.is_consistent());
            }
            let happened = fixture.apply(change.clone());
            prop_assert_eq!(other.apply(change, fixture.now), happened);
            prop_assert_eq!(summary(&other), summary(&fixture.table));
        }
    }

    #[test]
    fn a_damaged_table_is_refused_or_can_be_used(
        steps in prop::collection::vec(step(), 1..40),
        after in prop::collection::vec(step(), 1..40),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut fixture = TableFixture::new();
        for change in changes(&mut fixture.clone(), &steps) {
            fixture.apply(change);
        }
        let mut bytes = written(&fixture.table);
        for (place, value) in damages {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let Ok(mut damaged) = postcard::from_bytes::<LockTable>(&bytes) else { return Ok(()) };
        if !damaged.is_consistent() {
            return Ok(());
        }
        damaged.recount();
        for change in changes(&mut fixture.clone(), &after) {
            damaged.apply(change, fixture.now);
            for lock in damaged.locks() {
                lock.rows(0..10).for_each(drop);
                (0..3).for_each(|position| drop(lock.waits_for(position, 3)));
            }
        }
    }
}

//! Tests of contenders that are created faster than they are read.

use std::time::Duration;

use proptest::prelude::*;

use super::model::Model;
use super::{curator, in_table};
use crate::testing::{self, path};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::follow::WatchStyle;
use lockscope_model::queue::LockTable;

fn connected() -> LockTable {
    let mut table = LockTable::new([]);
    table.apply(testing::connected(), Timestamp(0));
    table
}

/// Applies the changes from `first` on and returns how many changes there are.
fn apply_from(table: &mut LockTable, model: &Model, first: usize) -> usize {
    for (at, change) in (0..).zip(&model.changes).skip(first) {
        table.apply(change.clone(), Timestamp(at));
    }
    model.changes.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Queues only, because there the names give the order. While reads are paced and lost, no
    /// contender appears before its predecessors.
    #[test]
    fn who_is_counted_is_who_was_seen_to_come_whether_it_was_read_or_not(
        steps in proptest::collection::vec((0..10_u8, 1..30_u64), 1..200),
    ) {
        let mut model = Model::new(&["/"], WatchStyle::Recursive);
        model.create(&path("/q"), false, false);
        model.settle();
        let (mut first, mut next, mut table) = (0, 0, connected());
        let mut applied = apply_from(&mut table, &model, 0);
        for (step, amount) in steps {
            match step {
                0..=3 => {
                    model.create(&path("/q").child(&curator(next)), true, false);
                    next += 1;
                }
                4..=6 if first < next => {
                    model.delete(&path("/q").child(&curator(first)), false);
                    first += 1;
                }
                7 => model.serve(usize::try_from(amount).expect("few")),
                8 => model.pass(Duration::from_millis(amount)),
                _ => model.handle_answer(0),
            }
            model.deliver(usize::MAX);
            model.handle_events();
            applied = apply_from(&mut table, &model, applied);
            let queue: Vec<ZnodePath> = in_table(&table).map(|(at, _)| at).collect();
            let unreported = (first..next).skip(queue.len()).map(|number| path("/q").child(&curator(number)));
            // Contenders whose reads are under way may be missing: they are the latest ones.
            let expected: Vec<ZnodePath> =
                (first..next).take(queue.len()).map(|number| path("/q").child(&curator(number))).collect();
            prop_assert_eq!(&queue, &expected);
            prop_assert!(unreported.count() == 0 || model.sent > 0);
        }
        model.settle();
        apply_from(&mut table, &model, applied);
        let expected: Vec<ZnodePath> = (first..next).map(|number| path("/q").child(&curator(number))).collect();
        prop_assert_eq!(in_table(&table).map(|(at, _)| at).collect::<Vec<_>>(), expected);
        prop_assert!(in_table(&table).all(|(_, czxid)| czxid > 0));
        // Each contender came and went once, read or not.
        let total = table.totals().acquisitions;
        prop_assert!(total <= u64::from(next) && total >= u64::from(first), "{} of {}", total, next);
    }
}

#[test]
fn in_a_storm_reads_are_gathered_and_deleted_contenders_are_never_read() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    model.create(&path("/q"), false, false);
    model.settle();
    let (reads, sent) = (model.reads, model.sent);
    for number in 0..2000 {
        model.create(&path("/q").child(&curator(number)), true, false);
        if number >= 20 {
            model.delete(&path("/q").child(&curator(number - 20)), false);
        }
        model.serve(usize::MAX);
        model.deliver(usize::MAX);
        model.handle_events();
        model.handle_answer(0);
        model.pass(Duration::from_micros(800));
    }
    model.settle();
    let (reads, sent) = (model.reads - reads, model.sent - sent);
    assert!(sent <= 100, "{sent} requests in 1.6 seconds");
    assert!(reads <= 2000, "{reads} reads");
    assert_eq!(model.found(), model.contenders());
    let mut table = connected();
    apply_from(&mut table, &model, 0);
    assert_eq!(table.totals().acquisitions, 1981, "each that held was counted");
}

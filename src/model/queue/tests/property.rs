//! After any changes, seen or missed, the table equals one that is built from the remaining tree.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::TableFixture;
use crate::queue::{Change, ContenderState, LockTable};
use crate::testing::fixture::{Said, said};
use crate::testing::steps::{Step, apply_step, step};
use crate::testing::uuid;
use lockscope_base::recipe::{LockKind, Recipe, RequestMode, WaitRule};
use lockscope_base::znode::ZnodePath;

pub(super) type Summary = BTreeMap<(ZnodePath, Option<String>), (Recipe, Option<crate::queue::WatchEvents>, Vec<Said>)>;

pub(super) fn summary(table: &LockTable) -> Summary {
    let locks = table.locks().filter(|lock| !lock.is_empty());
    locks
        .map(|lock| {
            let name = lock.name().map(str::to_owned);
            ((lock.path().clone(), name), (lock.recipe(), lock.watch_cost(), said(lock)))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_table_equals_one_built_afresh_from_the_final_tree(steps in prop::collection::vec(step(), 1..120)) {
        let mut fixture = TableFixture::new();
        for (serial, step) in (0_u32..).zip(&steps) {
            if let Step::Miss(missed) = step {
                for (more, step) in (0_u32..).zip(missed) {
                    apply_step(&mut fixture, step, 10_000 + serial * 100 + more);
                }
                fixture.reconnect();
            }
            for change in apply_step(&mut fixture, step, serial) {
                fixture.apply(change.clone());
                if serial % 7 == 0 && !matches!(change, Change::Deleted { .. }) {
                    fixture.apply(change);
                }
            }
            prop_assert_eq!(summary(&fixture.table), summary(&fixture.fresh()), "after {:?}", step);
            prop_assert!(fixture.table.locks().all(|lock| lock.returned() == 0), "a sound server brings nothing back");
        }
        let in_queues: usize = fixture.table.locks().map(crate::queue::LockQueue::len).sum();
        prop_assert_eq!(fixture.table.contender_count(), in_queues);
    }

    #[test]
    fn a_read_write_queue_says_what_a_plain_loop_over_it_says(
        requests in prop::collection::vec((any::<bool>(), any::<bool>()), 1..90),
        libraries in prop_oneof![Just(Libraries::Curator), Just(Libraries::Own), Just(Libraries::Both), Just(Libraries::Textbook)],
    ) {
        let (writers, owns): (Vec<bool>, Vec<bool>) = requests.into_iter().unzip();
        let is_own = |at: usize| match libraries {
            Libraries::Curator | Libraries::Textbook => false,
            Libraries::Own => true,
            Libraries::Both => owns[at],
        };
        let mut fixture = TableFixture::new();
        for (number, writer) in (0_u32..).zip(&writers) {
            let id = uuid(number).replacen("-4", if is_own(number as usize) { "-8" } else { "-4" }, 1);
            let prefix = match (libraries, writer) {
                (Libraries::Textbook, true) => "/l/write-".to_owned(),
                (Libraries::Textbook, false) => "/l/read-".to_owned(),
                (_, true) => format!("/l/_c_{id}-__WRIT__"),
                (_, false) => format!("/l/_c_{id}-__READ__"),
            };
            fixture.create(&prefix, i64::from(number) + 1);
        }
        let lock = fixture.lock("/l");
        let said = said(lock);
        let rule = |at: usize| match libraries {
            Libraries::Textbook => WaitRule::NearestWriter,
            _ if is_own(at) => WaitRule::NearestWriter,
            _ => WaitRule::LowestWriter,
        };
        let awaited = |at: usize| naive_wait(&writers, at, rule(at));
        for (at, row) in said.iter().enumerate() {
            let expected: Vec<String> = awaited(at).map(|other| said[other].node.clone()).into_iter().collect();
            prop_assert_eq!(&row.waits_for, &expected);
            let readers = if writers[at] { writers[..at].iter().rev().take_while(|writer| !**writer).count() } else { 0 };
            let holds = row.state == ContenderState::Holds;
            let all: Vec<&str> = match readers {
                0 => row.waits_for.iter().map(String::as_str).collect(),
                _ if holds => Vec::new(),
                readers => said[at - readers..at].iter().map(|reader| reader.node.as_str()).collect(),
            };
            prop_assert_eq!(lock.blockers(at, usize::MAX), all);
            prop_assert_eq!(row.state == ContenderState::Holds, naive_holds(&writers, at));
            let watchers = (0..said.len()).filter(|other| awaited(*other) == Some(at)).count();
            // The cost of a mixed queue is only estimated.
            if !matches!(libraries, Libraries::Both) {
                prop_assert_eq!(lock.cost_of_removal(at).chain, watchers as u64, "of {}", at);
            }
            prop_assert_eq!(row.mode == RequestMode::Read, !writers[at]);
        }
        prop_assert_eq!(lock.kind(), LockKind::ReadWrite);
    }
}

/// The libraries whose clients queue.
#[derive(Clone, Copy, Debug)]
enum Libraries {
    Curator,
    /// Our own, with Curator's names.
    Own,
    Both,
    Textbook,
}

fn naive_holds(writers: &[bool], at: usize) -> bool {
    if writers[at] { at == 0 } else { !writers[..at].contains(&true) }
}

fn naive_wait(writers: &[bool], at: usize, rule: WaitRule) -> Option<usize> {
    if naive_holds(writers, at) {
        return None;
    }
    match rule {
        _ if writers[at] => Some(at - 1),
        WaitRule::LowestWriter => writers[..at].iter().position(|writer| *writer),
        WaitRule::NearestWriter => writers[..at].iter().rposition(|writer| *writer),
    }
}

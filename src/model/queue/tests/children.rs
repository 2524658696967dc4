//! A parent's children are found in their locks, whatever the number of children and locks.

use proptest::prelude::*;

use super::TableFixture;
use super::restored::restored;
use crate::testing::uuid;
use lockscope_base::znode::ZnodePath;

/// Returns the prefix of a node in one of two queues that share a parent but differ in their
/// recipes.
fn prefix(is_curator: bool, owner: i64) -> String {
    let unique = uuid(u32::try_from(owner).expect("a small number"));
    if is_curator { format!("/a/_c_{unique}-lock-") } else { "/a/lock-".to_owned() }
}

fn is_found(fixture: &TableFixture, at: &ZnodePath) -> bool {
    let Some((id, position)) = fixture.table.position(at) else { return false };
    let contender = fixture.table.lock(id).and_then(|lock| lock.contender_at(position));
    contender.is_some_and(|contender| &*contender.node == at.name())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_node_is_found_while_it_is_there_and_no_longer(
        steps in prop::collection::vec((0..10_u8, any::<prop::sample::Index>()), 1..60),
        mostly_comes in any::<bool>(),
        of_two in any::<bool>(),
    ) {
        let mut fixture = TableFixture::new();
        for (owner, (step, which)) in (1..).zip(steps) {
            let nodes: Vec<ZnodePath> = fixture.tree.keys().cloned().collect();
            let goes = if mostly_comes { step < 3 } else { step < 5 };
            if goes && !nodes.is_empty() {
                let gone = &nodes[which.index(nodes.len())];
                fixture.delete(gone);
                prop_assert!(fixture.table.position(gone).is_none(), "{gone} is gone");
            } else {
                fixture.create(&prefix(of_two && step % 2 == 0, owner), owner);
            }
            prop_assert!(fixture.tree.keys().all(|at| is_found(&fixture, at)), "{:?}", fixture.tree.keys());
            prop_assert!(restored(&fixture.table).is_consistent());
            prop_assert_eq!(fixture.table.contender_count(), fixture.tree.len());
        }
    }
}

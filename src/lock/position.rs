//! The position of a node in its queue, from a listing of the parent. Pure.

use super::naming::{NodeMode, QueueNames};

/// The result of a listing of the parent for the owner of a node in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueuePosition<'a> {
    /// The node holds the lock.
    Holds,
    /// The node waits for the deletion of another node.
    Waits {
        /// The name of that node.
        on: &'a str,
        /// Whether the deletion of that node alone makes the own node the holder: there is no other
        /// node to wait for, and none can come in between.
        then_holds: bool,
        /// The name of the nearest node before that one, if the own node has to wait for it as
        /// well.
        ahead: Option<&'a str>,
    },
    /// The own node is not there: somebody else deleted it.
    Gone,
}

/// Returns the position of the node `own` among `children`. It holds if fewer than `max_holders`
/// nodes that it must wait for are before it; `max_holders` is 1 for all locks but semaphores.
///
/// Nodes are ordered by their numbers as signed numbers, as in the other libraries. Two with the
/// same number, which a downgrade creates, are ordered by their names. The work is linear in the
/// number of children.
pub(super) fn position<'a>(
    children: &'a [String],
    own: &str,
    names: &QueueNames,
    max_holders: usize,
) -> QueuePosition<'a> {
    let Some((sequence, mode)) = names.read(own) else { return QueuePosition::Gone };
    let place = (sequence, own);
    let (mut before, mut present) = (0, false);
    let (mut nearest, mut ahead) = (None, None);
    for name in children {
        let Some((sequence, their_mode)) = names.read(name) else { continue };
        let theirs = (sequence, name.as_str());
        present |= theirs == place;
        let matters = mode != NodeMode::Read || their_mode != NodeMode::Read;
        if theirs < place && matters {
            before += 1;
            let this = Some((theirs, their_mode));
            (nearest, ahead) = (nearest.max(this), ahead.max(nearest.min(this)));
        }
    }
    match nearest {
        _ if !present => QueuePosition::Gone,
        Some(((_, on), their_mode)) if before >= max_holders => {
            // A writer may downgrade to reading: then a node with its number exists before its own
            // is deleted. That does not block a reader, and a reader creates no second node.
            let may_downgrade =
                mode == NodeMode::Exclusive && their_mode == NodeMode::Exclusive && names.allow_downgrade();
            let ahead = ahead.map(|((_, name), _)| name);
            QueuePosition::Waits { on, then_holds: before == 1 && !may_downgrade, ahead }
        }
        _ => QueuePosition::Holds,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::{Access, Algorithm, Naming};
    use lockscope_base::znode::{Sequence, SessionId};

    fn names(algorithm: Algorithm) -> QueueNames {
        QueueNames::of(&Naming::Curator, algorithm).expect("the naming fits the algorithm")
    }

    const SHARED: Algorithm = Algorithm::SharedChain(Access::Write);

    fn node(names: &QueueNames, mode: NodeMode, number: i32) -> String {
        names.prefix(mode, Uuid::from_u128(number.unsigned_abs().into()), SessionId(1)) + &Sequence(number).to_string()
    }

    /// Waits for that node, and then holds.
    fn behind_head(on: &str) -> QueuePosition<'_> {
        QueuePosition::Waits { on, then_holds: true, ahead: None }
    }

    /// Waits for that node, and lists again when it goes.
    fn waits<'a>(on: &'a str, ahead: Option<&'a str>) -> QueuePosition<'a> {
        QueuePosition::Waits { on, then_holds: false, ahead }
    }

    #[test]
    fn the_lowest_number_holds_and_each_other_waits_for_the_nearest_before_it() {
        let names = names(Algorithm::Chain);
        let [a, b, c] = [3, 7, 9].map(|number| node(&names, NodeMode::Exclusive, number));
        let children = [c.clone(), "config".to_owned(), a.clone(), b.clone()];
        assert_eq!(position(&children, &a, &names, 1), QueuePosition::Holds);
        assert_eq!(position(&children, &b, &names, 1), behind_head(&a));
        assert_eq!(position(&children, &c, &names, 1), waits(&b, Some(&a)));
    }

    #[test]
    fn the_node_ahead_is_the_second_nearest_in_any_order_of_children() {
        let names = names(Algorithm::ChainAhead);
        let nodes = [3, 7, 9, 12].map(|number| node(&names, NodeMode::Exclusive, number));
        for turn in 0..nodes.len() {
            let mut children = nodes.to_vec();
            children.rotate_left(turn);
            assert_eq!(position(&children, &nodes[3], &names, 1), waits(&nodes[2], Some(&nodes[1])));
            children.reverse();
            assert_eq!(position(&children, &nodes[2], &names, 1), waits(&nodes[1], Some(&nodes[0])));
            assert_eq!(position(&children, &nodes[1], &names, 1), behind_head(&nodes[0]));
        }
    }

    #[test]
    fn an_unlisted_node_is_gone_whatever_nodes_are_before_it() {
        let names = names(Algorithm::Chain);
        let [a, b] = [1, 2].map(|number| node(&names, NodeMode::Exclusive, number));
        assert_eq!(position(&[], &a, &names, 1), QueuePosition::Gone);
        assert_eq!(position(std::slice::from_ref(&a), &b, &names, 1), QueuePosition::Gone);
    }

    #[test]
    fn numbers_are_ordered_as_signed_integers() {
        let names = names(Algorithm::Chain);
        let [last, before, wrapped] = [i32::MAX, i32::MAX - 1, i32::MIN].map(|n| node(&names, NodeMode::Exclusive, n));
        let children = [last.clone(), before.clone(), wrapped.clone()];
        assert_eq!(position(&children, &last, &names, 1), waits(&before, Some(&wrapped)));
        assert_eq!(position(&children, &before, &names, 1), behind_head(&wrapped));
        assert_eq!(position(&children, &wrapped, &names, 1), QueuePosition::Holds);
    }

    #[test]
    fn readers_hold_together_and_wait_for_the_last_writer_before_them() {
        let names = names(SHARED);
        let [r1, r2, r5] = [1, 2, 5].map(|number| node(&names, NodeMode::Read, number));
        let [w3, w4] = [3, 4].map(|number| node(&names, NodeMode::Exclusive, number));
        let children = [&r1, &r2, &w3, &w4, &r5].map(Clone::clone);
        assert_eq!(position(&children, &r1, &names, 1), QueuePosition::Holds);
        assert_eq!(position(&children, &r2, &names, 1), QueuePosition::Holds);
        assert_eq!(position(&children, &w3, &names, 1), waits(&r2, Some(&r1)));
        assert_eq!(position(&children, &w4, &names, 1), waits(&w3, Some(&r2)));
        assert_eq!(position(&children, &r5, &names, 1), waits(&w4, Some(&w3)));
        assert_eq!(position(&[w4.clone(), r5.clone()], &r5, &names, 1), behind_head(&w4));
        assert_eq!(position(&[r2.clone(), w3.clone()], &w3, &names, 1), behind_head(&r2));
    }

    #[test]
    fn a_writer_behind_a_writer_lists_again_after_a_possible_downgrade() {
        let names = names(SHARED);
        let [w3, w4] = [3, 4].map(|number| node(&names, NodeMode::Exclusive, number));
        let r3 = node(&names, NodeMode::Read, 3);
        assert_eq!(position(&[w3.clone(), w4.clone()], &w4, &names, 1), waits(&w3, None));
        assert_eq!(position(&[r3.clone(), w4.clone()], &w4, &names, 1), behind_head(&r3));
    }

    #[test]
    fn a_lease_is_granted_when_fewer_than_the_maximum_are_before() {
        let names = QueueNames::leases();
        let leases = [1, 2, 3].map(|number| node(&names, NodeMode::Lease, number));
        assert_eq!(position(&leases, &leases[1], &names, 2), QueuePosition::Holds);
        assert!(matches!(position(&leases, &leases[2], &names, 2), QueuePosition::Waits { .. }));
        assert_eq!(position(&leases, &leases[2], &names, 3), QueuePosition::Holds);
    }

    proptest! {
        #[test]
        fn a_writer_never_holds_together_with_anybody_else(
            requests in proptest::collection::btree_map(0i32..50, any::<bool>(), 1..20)
        ) {
            let names = names(SHARED);
            let mode = |reads: bool| if reads { NodeMode::Read } else { NodeMode::Exclusive };
            let children: Vec<String> = requests.iter().map(|(number, reads)| node(&names, mode(*reads), *number)).collect();
            let holders: Vec<_> = children.iter().filter(|own| position(&children, own, &names, 1) == QueuePosition::Holds).collect();
            let writers = holders.iter().filter(|name| name.contains("WRIT")).count();
            prop_assert!(!holders.is_empty());
            prop_assert!(writers == 0 || (writers == 1 && holders.len() == 1), "{holders:?}");
        }
    }
}

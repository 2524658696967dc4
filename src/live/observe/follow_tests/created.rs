//! Tests of contenders that turn out to be none.

use super::model::stat;
use crate::testing::{connected, path};
use lockscope_base::znode::{Node, NodeData, Timestamp};
use lockscope_model::follow::{Follower, NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use lockscope_model::queue::LockTable;

fn apply_changes(follower: &mut Follower, table: &mut LockTable) {
    for change in follower.take_changes() {
        table.apply(change, Timestamp(1));
    }
}

fn node(czxid: i64, owner: Option<i64>) -> ReadAnswer {
    ReadAnswer::Node(Node { stat: stat(czxid, czxid, owner, 0), data: NodeData::default() })
}

#[test]
fn a_node_that_turns_out_to_be_no_contender_leaves_the_table() {
    let (mut follower, mut table) = (Follower::new(&[path("/a")], &[]), LockTable::new([]));
    table.apply(connected(), Timestamp(0));
    follower.begin(WatchStyle::Recursive);
    let list = follower.next_read(|_| true).expect("the root's listing");
    follower.answer(&list, ReadAnswer::Children(vec!["lock".to_owned()], stat(1, 1, None, 1)));
    let lock = path("/a/lock");
    assert_eq!(follower.next_read(|_| true), Some(NodeRead::Node(lock.clone())));
    follower.answer(&NodeRead::Node(lock.clone()), node(2, Some(7)));
    apply_changes(&mut follower, &mut table);
    assert_eq!(table.contender_count(), 1);

    follower.event(NodeEvent::Deleted, &lock, None);
    follower.event(NodeEvent::Created, &lock, None);
    follower.report_unread();
    apply_changes(&mut follower, &mut table);
    assert_eq!(table.contender_count(), 1, "it may be the lock's next holder");
    assert_eq!(follower.next_read(|_| true), Some(NodeRead::Node(lock.clone())));
    follower.answer(&NodeRead::Node(lock), node(3, None));
    apply_changes(&mut follower, &mut table);
    assert_eq!(table.contender_count(), 0, "it is a folder");
}

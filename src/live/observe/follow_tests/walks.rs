//! Tests of what is read and reported, run against a model server.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::model::Model;
use super::{curator, in_table};
use crate::testing::path;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat};
use lockscope_model::follow::{
    COUNT_DESCENDANTS_ABOVE, Follower, NodeEvent, NodeRead, ReadAnswer, WatchStyle, outermost,
};
use lockscope_model::queue::{Change, ConnectionState, LockTable, NO_SUCH_NODE};

const ID: &str = "00112233445566778899aabbccddeeff";

/// Paths whose nodes are created and deleted in the property tests: queues, both kinds of
/// semaphore, single nodes, plain nodes.
fn pool() -> Vec<(ZnodePath, bool)> {
    let mut pool = Vec::new();
    for plain in ["/a", "/b", "/a/s", "/a/s/locks", "/a/s/leases", "/a/k", "/a/k-__lock__", "/a/plain", "/b/q"] {
        pool.push((path(plain), false));
    }
    for number in 1..4 {
        pool.push((path(&format!("/a/s/locks/{}", curator(number))), true));
        let lease = format!("/a/s/leases/_c_c3d2e1f0-0000-4000-8000-000000000000-lease-{number:010}");
        pool.push((path(&lease), true));
        pool.push((path(&format!("/a/k/{ID}").replace("ff", &format!("0{number}"))), true));
        pool.push((path(&format!("/a/k-__lock__/{ID}__lock__{number:010}")), true));
        pool.push((path(&format!("/b/q/{}", curator(number))), true));
        // Persistent, but named like a contender.
        pool.push((path(&format!("/b/q/item-{number:010}")), false));
    }
    pool.push((path("/b/lock"), true));
    pool.push((path("/a/leader"), true));
    pool.push((path("/b/q/item-0000000001/lock"), true));
    pool
}

#[derive(Clone, Debug)]
enum Step {
    Create(usize, bool),
    Delete(usize, bool),
    Set(usize, bool),
    Serve(usize),
    Deliver(usize),
    Events,
    Answer(usize),
    Pass(u64),
    Cut,
    Reconnect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = 0..pool().len();
    let step = prop_oneof![
        8 => (node.clone(), any::<bool>()).prop_map(|(node, twice)| Step::Create(node, twice)),
        5 => (node.clone(), any::<bool>()).prop_map(|(node, twice)| Step::Delete(node, twice)),
        2 => (node, any::<bool>()).prop_map(|(node, twice)| Step::Set(node, twice)),
        6 => (1..4_usize).prop_map(Step::Serve),
        6 => (1..5_usize).prop_map(Step::Deliver),
        4 => Just(Step::Events),
        8 => any::<usize>().prop_map(Step::Answer),
        3 => (1..40_u64).prop_map(Step::Pass),
        1 => Just(Step::Cut),
        1 => Just(Step::Reconnect),
    ];
    proptest::collection::vec(step, 0..300)
}

fn run_steps(model: &mut Model, steps: &[Step]) {
    let pool = pool();
    for step in steps {
        match *step {
            Step::Create(node, twice) => drop(model.create(&pool[node].0, pool[node].1, twice)),
            Step::Delete(node, twice) => drop(model.delete(&pool[node].0, twice)),
            Step::Set(node, twice) => model.set(&pool[node].0, twice),
            Step::Serve(count) => model.serve(count),
            Step::Deliver(count) => model.deliver(count),
            Step::Events => model.handle_events(),
            Step::Answer(which) => model.handle_answer(which),
            Step::Pass(time) => model.pass(Duration::from_millis(time)),
            Step::Cut => model.cut(),
            Step::Reconnect => model.reconnect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_the_contenders_found_are_those_of_the_tree(
        steps in steps(),
        roots in prop_oneof![Just(vec!["/"]), Just(vec!["/a", "/b/lock", "/b/q"])],
    ) {
        let mut model = Model::new(&roots, WatchStyle::Recursive);
        run_steps(&mut model, &steps);
        if steps.iter().rev().any(|step| matches!(step, Step::Cut)) {
            model.reconnect();
        }
        model.settle();
        prop_assert!(model.follower.is_synced());
        prop_assert_eq!(model.found(), model.contenders());
    }

    #[test]
    fn one_shot_watches_find_the_same_contenders(
        steps in steps(),
        roots in prop_oneof![Just(vec!["/"]), Just(vec!["/a", "/b"])],
    ) {
        let mut model = Model::new(&roots, WatchStyle::OneShot);
        run_steps(&mut model, &steps);
        if steps.iter().rev().any(|step| matches!(step, Step::Cut)) {
            model.reconnect();
        }
        model.settle();
        prop_assert!(model.follower.is_synced());
        let made = |found: std::collections::BTreeMap<ZnodePath, (i64, i64)>| -> Vec<(ZnodePath, i64)> {
            found.into_iter().map(|(at, (czxid, _))| (at, czxid)).collect()
        };
        prop_assert_eq!(made(model.found()), made(model.contenders()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_a_sound_server_answers_brings_no_deleted_node_back(
        steps in steps(),
        roots in prop_oneof![Just(vec!["/"]), Just(vec!["/a", "/b/lock", "/b/q"])],
        watching in prop_oneof![3 => Just(WatchStyle::Recursive), 1 => Just(WatchStyle::OneShot)],
    ) {
        let mut model = Model::new(&roots, watching);
        run_steps(&mut model, &steps);
        model.reconnect();
        model.settle();
        let mut table = LockTable::new([]);
        let recursive = watching == WatchStyle::Recursive;
        table.apply(Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive }), Timestamp(0));
        for (at, change) in (0..).zip(&model.changes) {
            table.apply(change.clone(), Timestamp(at));
            prop_assert!(table.locks().all(|lock| lock.returned() == 0), "by {:?}", change);
        }
        prop_assert!(in_table(&table).all(|(_, czxid)| czxid >= 0), "all are read in the end");
    }
}

#[test]
fn a_created_contender_costs_one_read_and_a_deleted_one_none() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    model.create(&path("/q"), false, false);
    model.settle();
    let before = model.reads;
    for number in 0..100 {
        model.create(&path("/q").child(&curator(number)), true, false);
        model.settle();
    }
    assert_eq!(model.reads - before, 100);
    for number in 0..100 {
        model.delete(&path("/q").child(&curator(number)), false);
        model.settle();
    }
    assert_eq!(model.reads - before, 100);
    assert!(model.seen.is_empty());
}

#[test]
fn plain_nodes_that_are_created_and_changed_cost_no_reads() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    model.settle();
    let before = model.reads;
    for name in ["/a", "/a/b", "/a/b/c"] {
        model.create(&path(name), false, false);
        model.set(&path(name), false);
        model.settle();
    }
    assert_eq!(model.reads, before);
}

#[test]
fn an_emptied_lock_parent_is_still_reported_after_a_reconnect_and_a_deleted_one_is_not() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    for parent in ["/q", "/r"] {
        model.create(&path(parent), false, false);
        model.create(&path(parent).child(&curator(1)), true, false);
        model.settle();
        model.delete(&path(parent).child(&curator(1)), false);
        model.settle();
    }
    model.cut();
    model.delete(&path("/r"), false);
    model.reconnect();
    model.settle();
    assert!(model.listed.contains(&path("/q")) && !model.listed.contains(&path("/r")), "{:?}", model.listed);
    assert!(!model.follower.parents().any(|parent| *parent == path("/r")));
}

#[test]
fn an_answer_that_arrives_after_the_deletion_does_not_restore_the_node() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    model.settle();
    let lock = path("/lock");
    model.create(&lock, true, false);
    model.deliver(1);
    model.handle_events();
    model.serve(1);
    model.delete(&lock, false);
    // The answer and the later event reach the client together, and the client takes the event
    // first.
    model.deliver(2);
    model.handle_events();
    model.handle_answer(0);
    assert!(model.seen.is_empty());
    assert!(matches!(model.changes.last(), Some(Change::Deleted { .. })));
}

#[test]
fn an_answer_about_a_deleted_node_is_not_used_for_its_successor_of_the_same_name() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    model.settle();
    let lock = path("/lock");
    model.create(&lock, true, false);
    model.deliver(1);
    model.handle_events();
    model.serve(1);
    model.delete(&lock, false);
    model.create(&lock, true, false);
    model.deliver(3);
    model.handle_events();
    model.handle_answer(0);
    assert!(model.seen.is_empty(), "the node that was read is gone");
    model.settle();
    assert_eq!(model.found(), model.contenders());
}

#[test]
fn a_missing_root_is_reported_once_and_found_when_it_is_created() {
    let mut model = Model::new(&["/later"], WatchStyle::Recursive);
    model.settle();
    let why = NO_SUCH_NODE.to_owned();
    assert!(model.changes.contains(&Change::Unreadable { path: path("/later"), why }));
    assert!(model.follower.is_synced());
    model.create(&path("/later"), false, false);
    model.create(&path("/later").child(&curator(1)), true, false);
    model.settle();
    assert!(model.listed.contains(&path("/later")));
    assert_eq!(model.seen.len(), 1);
}

#[test]
fn childless_children_are_counted_and_not_listed() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    model.cut();
    model.create(&path("/many"), false, false);
    for number in 0..=COUNT_DESCENDANTS_ABOVE {
        model.create(&path(&format!("/many/n{number}")), false, false);
    }
    model.reconnect();
    let before = model.reads;
    model.settle();
    assert_eq!(model.reads - before, 8, "the root, the parent, the count, and five of the children");

    model.cut();
    model.create(&path("/many/n7/lock"), true, false);
    model.reconnect();
    model.settle();
    assert_eq!(model.found(), model.contenders());
    assert_eq!(model.seen.len(), 1);
}

/// Returns how many nodes are reported as emptied below a node with so many children, whose numbers of
/// creations and deletions below are `cversion`.
fn emptied(children: i32, cversion: i32) -> usize {
    let (top, names) = (path("/top"), (0..children).map(|number| format!("n{number}")).collect::<Vec<_>>());
    let mut follower = Follower::new(std::slice::from_ref(&top), &[]);
    follower.begin(WatchStyle::Recursive);
    while let Some(read) = follower.next_read(|_| true) {
        let answer = match &read {
            NodeRead::List(at) if *at == top => {
                ReadAnswer::Children(names.clone(), super::model::stat(1, 1, None, children))
            }
            NodeRead::Count(_) => ReadAnswer::Descendants(names.len()),
            _ => ReadAnswer::Children(Vec::new(), ZnodeStat { cversion, ..super::model::stat(2, 2, None, 0) }),
        };
        follower.answer(&read, answer);
    }
    assert!(follower.is_synced());
    let changes = follower.take_changes();
    let listed = changes.iter().filter_map(|change| match change {
        Change::Listed { path, .. } if *path != top => Some(path),
        _ => None,
    });
    listed.collect::<BTreeSet<_>>().len()
}

#[test]
fn very_many_emptied_nodes_below_one_are_reported_and_those_that_were_never_used_are_not() {
    assert_eq!([99, 100, 1_503].map(|children| emptied(children, 2)), [0, 100, 1_503]);
    assert_eq!([100, 1_503].map(|children| emptied(children, 0)), [0, 0]);
}

#[test]
fn a_count_that_fails_or_is_disturbed_is_not_trusted() {
    let names: Vec<String> = (0..=COUNT_DESCENDANTS_ABOVE).map(|number| format!("n{number}")).collect();
    let stat = super::model::stat(1, 1, None, 0);
    let top = path("/top");
    let counting = || {
        let mut follower = Follower::new(std::slice::from_ref(&top), &[]);
        follower.begin(WatchStyle::Recursive);
        let list = follower.next_read(|_| true).expect("a listing");
        follower.answer(&list, ReadAnswer::Children(names.clone(), stat));
        let count = follower.next_read(|_| true).expect("a count");
        assert_eq!(count, NodeRead::Count(top.clone()));
        (follower, count)
    };
    let (mut follower, count) = counting();
    follower.answer(&count, ReadAnswer::Unsupported);
    assert_eq!(follower.next_read(|_| true), Some(NodeRead::List(top.clone())));
    follower.answer(&NodeRead::List(top.clone()), ReadAnswer::Children(names.clone(), stat));
    assert!(matches!(follower.next_read(|_| true), Some(NodeRead::List(child)) if child != top));

    let (mut follower, count) = counting();
    follower.event(NodeEvent::Deleted, &top.child("n1").child("gone"), None);
    follower.answer(&count, ReadAnswer::Descendants(names.len()));
    assert_eq!(follower.next_read(|_| true), Some(NodeRead::List(top.clone())));
    assert!(!follower.is_synced());
}

#[test]
fn refused_reads_are_reported_and_the_others_continue() {
    let mut follower = Follower::new(&[path("/")], &[]);
    follower.begin(WatchStyle::Recursive);
    let list = follower.next_read(|_| true).expect("a listing");
    let names = vec!["secret".to_owned(), "open".to_owned()];
    follower.answer(&list, ReadAnswer::Children(names, super::model::stat(1, 1, None, 2)));
    while let Some(read) = follower.next_read(|_| true) {
        let answer = match read.path().name() {
            "secret" => ReadAnswer::Refused("no".to_owned()),
            _ => ReadAnswer::Children(Vec::new(), super::model::stat(2, 2, None, 0)),
        };
        follower.answer(&read, answer);
    }
    let changes = follower.take_changes();
    assert!(changes.contains(&Change::Unreadable { path: path("/secret"), why: "no".to_owned() }));
    assert_eq!(changes.last(), Some(&Change::Synced));
}

#[test]
fn roots_within_roots_are_dropped_unless_they_are_the_servers_own() {
    let roots = [path("/a/b"), path("/a"), path("/a"), path("/ab"), path("/a/c/d")];
    assert_eq!(outermost(&roots), [path("/a"), path("/ab")]);
    assert_eq!(outermost(&[path("/"), path("/zookeeper/x")]), [path("/")]);
    assert_eq!(outermost(&[path("/"), path("/zookeeper/quota/x")]).len(), 2);
}

#[test]
fn the_maximum_of_a_semaphore_is_read_whichever_parent_is_created_first() {
    for watching in [WatchStyle::Recursive, WatchStyle::OneShot] {
        for order in [["/k", "/k-__lock__"], ["/k-__lock__", "/k"]] {
            let mut model = Model::new(&["/"], watching);
            model.settle();
            for node in order {
                model.create(&path(node), false, false);
                model.settle();
            }
            assert_eq!(model.seen.len(), 1, "{watching:?} {order:?}");
        }
    }
}

#[test]
fn new_data_are_read_only_for_contenders_and_maximums() {
    let mut model = Model::new(&["/"], WatchStyle::Recursive);
    for node in ["/k", "/k-__lock__", "/plain"] {
        model.create(&path(node), false, false);
    }
    model.settle();
    let before = model.reads;
    model.set(&path("/plain"), false);
    model.settle();
    assert_eq!(model.reads, before);
    model.set(&path("/k"), false);
    model.settle();
    assert_eq!(model.reads, before + 1, "the maximum of a semaphore");
    assert_eq!(model.found(), model.contenders());
}

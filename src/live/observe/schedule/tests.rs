//! Tests of how reads are combined into requests.

use proptest::prelude::*;

use super::*;
use crate::testing::path;
use crate::zk::MAX_REPLY;
use lockscope_base::znode::{Node, NodeData, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::follow::{NodeEvent, WatchStyle};

const MEGABYTE: i32 = 1_000_000;

fn stat(length: i32) -> ZnodeStat {
    ZnodeStat { data_length: length, ..ZnodeStat::of_new(Zxid(1), Timestamp(1), None) }
}

fn node(length: i32) -> ReadAnswer {
    ReadAnswer::Node(Node { stat: stat(length), data: NodeData::default() })
}

/// Returns a follower that has found `contenders` contenders and has read none of them.
fn follower(contenders: u32) -> Follower {
    let mut follower = Follower::new(&[path("/q")], &[]);
    follower.begin(WatchStyle::Recursive);
    let list = follower.next_read(|_| true).expect("a listing");
    let name = |number| format!("_c_c3d2e1f0-0000-4000-8000-000000000000-lock-{number:010}");
    follower.answer(&list, ReadAnswer::Children((0..contenders).map(name).collect(), stat(0)));
    follower
}

/// Returns all requests that may be sent now.
fn requests(scheduler: &mut ReadScheduler, follower: &mut Follower) -> Vec<ReadRequest> {
    std::iter::from_fn(|| scheduler.next(follower, Duration::ZERO)).collect()
}

/// Reads everything, each node with `length` bytes of data; calls `sees` with the requests under
/// way. Returns the number of requests.
fn read_all(
    scheduler: &mut ReadScheduler,
    follower: &mut Follower,
    length: impl Fn(usize) -> i32,
    mut sees: impl FnMut(&[ReadRequest]),
) -> usize {
    let (mut under_way, mut count, mut read) = (Vec::new(), 0, 0);
    loop {
        let sent = requests(scheduler, follower);
        count += sent.len();
        under_way.extend(sent);
        sees(&under_way);
        if under_way.is_empty() {
            return count;
        }
        let request: ReadRequest = under_way.remove(0);
        let answers: Vec<ReadAnswer> =
            request.reads.iter().enumerate().map(|(at, _)| node(length(read + at))).collect();
        read += answers.len();
        scheduler.answered(&request, answers.iter());
        for (read, answer) in request.reads.iter().zip(answers) {
            follower.answer(read, answer);
        }
    }
}

#[test]
fn requests_for_small_nodes_grow() {
    let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(40_000));
    let mut sizes = Vec::new();
    let count = read_all(
        &mut scheduler,
        &mut follower,
        |_| 40,
        |under_way| {
            sizes.extend(under_way.last().map(|request| request.reads.len()));
            assert!(under_way.len() <= MAX_REQUESTS_UNDER_WAY);
        },
    );
    assert!(sizes[0] <= 2, "nothing is known of the first nodes: {}", sizes[0]);
    assert!(sizes.iter().all(|size| *size <= MAX_OPERATIONS));
    assert!(count <= 40_000 / MAX_OPERATIONS + 40, "{count} requests");
    assert!(follower.is_synced());
}

#[test]
fn replies_of_large_nodes_under_way_stay_below_the_bound() {
    let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(300));
    read_all(
        &mut scheduler,
        &mut follower,
        |_| MEGABYTE,
        |under_way| {
            let nodes: usize = under_way.iter().map(|request| request.reads.len()).sum();
            let weight = nodes as u64 * u64::from(MEGABYTE.unsigned_abs());
            assert!(weight <= MAX_WEIGHT_UNDER_WAY, "{weight} bytes under way");
        },
    );
    assert!(follower.is_synced());
}

#[test]
fn no_reply_exceeds_the_limit_when_large_nodes_follow_many_small_ones() {
    let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(20_000));
    let heaviest = i32::try_from(UNKNOWN_WEIGHT).expect("a small size");
    let mut most = 0;
    let lengths = |at: usize| if at < 15_000 { 40 } else { heaviest };
    read_all(&mut scheduler, &mut follower, lengths, |under_way| {
        most = under_way.iter().map(|request| request.reads.len()).fold(most, usize::max);
    });
    assert_eq!(most, MAX_OPERATIONS, "it grew as far as it can");
    let weight = most as u64 * (UNKNOWN_WEIGHT + 100);
    assert!(weight <= u64::from(MAX_REPLY), "a reply of {weight} bytes");
}

#[test]
fn one_large_node_makes_requests_small_and_they_grow_again() {
    let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(20_000));
    let mut after = Vec::new();
    let heavy = |at: usize| if at == 5_000 { MEGABYTE } else { 40 };
    let mut seen = 0;
    read_all(&mut scheduler, &mut follower, heavy, |under_way| {
        seen += 1;
        if let Some(request) = under_way.last().filter(|_| seen > 20) {
            after.push(request.reads.len());
        }
    });
    assert!(after.iter().any(|size| *size <= 4), "small after the heavy one");
    assert!(after.iter().rev().skip(1).take(20).any(|size| *size == MAX_OPERATIONS), "grown again: {after:?}");
}

#[test]
fn one_partial_request_is_sent_at_once_and_further_ones_wait_to_fill() {
    let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(3));
    let sent = requests(&mut scheduler, &mut follower);
    assert_eq!(sent.iter().map(|request| request.reads.len()).sum::<usize>(), 3, "{sent:?}");
}

#[test]
fn without_multi_read_each_read_is_a_request() {
    let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(1_000));
    let first = scheduler.next(&mut follower, Duration::ZERO).expect("a request");
    assert!(first.is_multiple());
    scheduler.read_one_by_one();
    let apart = scheduler.refused(first.clone());
    assert_eq!(apart.iter().map(|request| request.reads.len()).sum::<usize>(), first.reads.len());
    assert!(apart.iter().all(|request| !request.is_multiple()));
    let sent = requests(&mut scheduler, &mut follower);
    assert_eq!(sent.len() + apart.len(), MAX_SINGLE_READS_UNDER_WAY);
    assert!(sent.iter().all(|request| !request.is_multiple()));
}

#[test]
fn a_server_that_cuts_the_connection_at_every_multi_read_gets_single_reads() {
    let mut scheduler = ReadScheduler::default();
    for _ in 0..CUTS_BEFORE_SINGLE_READS {
        assert!(scheduler.reads_together());
        scheduler.begin();
        requests(&mut scheduler, &mut follower(1_000));
        scheduler.cut();
    }
    assert!(!scheduler.reads_together());
}

#[test]
fn after_a_proven_multi_read_a_cut_shrinks_requests_and_a_complete_reading_grows_them() {
    let mut scheduler = ReadScheduler::default();
    read_all(&mut scheduler, &mut follower(1_000), |_| 40, |_| {});
    for _ in 0..20 {
        requests(&mut scheduler, &mut follower(1_000));
        scheduler.cut();
    }
    assert!(scheduler.reads_together());
    let largest = |scheduler: &mut ReadScheduler| {
        let mut largest = 0;
        read_all(
            scheduler,
            &mut follower(10_000),
            |_| 40,
            |under_way| {
                largest = under_way.iter().map(|request| request.reads.len()).fold(largest, usize::max);
            },
        );
        scheduler.synced();
        scheduler.begin();
        largest
    };
    assert_eq!(largest(&mut scheduler), 2);
    assert_eq!(largest(&mut scheduler), 4);
    for _ in 0..10 {
        largest(&mut scheduler);
    }
    assert_eq!(largest(&mut scheduler), MAX_OPERATIONS);
}

/// Returns a synced follower that then sees `contenders` contenders created below each lock, one
/// lock after the other.
fn crowded(locks: &[(&str, u32)]) -> Follower {
    let mut follower = Follower::new(&[path("/")], &[]);
    follower.begin(WatchStyle::Recursive);
    let list = follower.next_read(|_| true).expect("a listing");
    follower.answer(&list, ReadAnswer::Children(Vec::new(), stat(0)));
    for (lock, contenders) in locks {
        for number in 0..*contenders {
            follower.event(NodeEvent::Created, &contender(lock, number), None);
        }
    }
    assert!(follower.is_synced());
    follower
}

fn contender(lock: &str, number: u32) -> ZnodePath {
    path(&format!("{lock}/_c_c3d2e1f0-0000-4000-8000-000000000000-lock-{number:010}"))
}

/// Returns the paths that the next request reads, in order.
fn next_paths(scheduler: &mut ReadScheduler, follower: &mut Follower) -> Vec<ZnodePath> {
    let request = scheduler.next(follower, Duration::ZERO).expect("a request");
    request.reads.iter().map(|read| read.path().clone()).collect()
}

#[test]
fn the_open_queue_is_read_first_and_then_the_first_contender_of_each_lock() {
    let mut follower = crowded(&[("/busy", 500), ("/open", 20), ("/a", 3), ("/b", 3)]);
    let mut scheduler = ReadScheduler { expected: ExpectedWeights::light(), ..ReadScheduler::default() };
    follower.set_open_queue(Some(path("/open")));
    follower.event(NodeEvent::Deleted, &contender("/a", 0), None);
    let read = next_paths(&mut scheduler, &mut follower);
    let expected: Vec<ZnodePath> = (0..20).map(|number| contender("/open", number)).collect();
    assert_eq!(read[..20], expected);
    assert_eq!(read[20..23], [contender("/busy", 0), contender("/a", 1), contender("/b", 0)], "the first was deleted");
    let busy: Vec<ZnodePath> = (1..38).map(|number| contender("/busy", number)).collect();
    assert_eq!(read[23..], busy, "the others in the order in which they came");
    assert_eq!(next_paths(&mut scheduler, &mut follower)[..2], [contender("/busy", 38), contender("/a", 2)]);
}

#[test]
fn the_first_contender_of_each_queue_below_one_parent_is_read_before_others() {
    let mut follower = crowded(&[("/mixed", 500)]);
    let of_kazoo = |number: u32| path(&format!("/mixed/c3d2e1f0000040008000000000000000__lock__{number:010}"));
    let named = |name: &str, number: u32| path(&format!("/mixed/{name}_lock_{number:010}"));
    let later = [of_kazoo(500), of_kazoo(501), named("alpha", 502), named("beta", 503), named("alpha", 504)];
    for node in &later {
        follower.event(NodeEvent::Created, node, None);
    }
    let mut scheduler = ReadScheduler { expected: ExpectedWeights::light(), ..ReadScheduler::default() };
    let read = next_paths(&mut scheduler, &mut follower);
    assert_eq!(read[..4], [contender("/mixed", 0), of_kazoo(500), named("alpha", 502), named("beta", 503)]);
    assert_eq!(read[4], contender("/mixed", 1), "the others in the order in which they came");
}

proptest! {
    #[test]
    fn every_node_is_read_once_whatever_nodes_weigh(
        lengths in proptest::collection::vec(prop_oneof![8 => 0..200_i32, 1 => Just(MEGABYTE)], 1..600),
    ) {
        let count = u32::try_from(lengths.len()).expect("few");
        let (mut scheduler, mut follower) = (ReadScheduler::default(), follower(count));
        let mut seen = std::collections::BTreeSet::new();
        let mut reads = 0;
        let mut last = Vec::new();
        read_all(&mut scheduler, &mut follower, |at| lengths[at], |under_way| {
            for request in under_way.iter().filter(|request| !last.contains(*request)) {
                reads += request.reads.len();
                seen.extend(request.reads.iter().map(|read| read.path().clone()));
            }
            last = under_way.to_vec();
        });
        prop_assert!(follower.is_synced());
        prop_assert_eq!((reads, seen.len()), (lengths.len(), lengths.len()));
        prop_assert_eq!((scheduler.under_way, scheduler.weight_under_way), (0, 0));
    }
}

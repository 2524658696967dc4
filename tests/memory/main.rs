//! How much memory the table takes a contender, besides the data of its node, and what a hand-over allocates.

use std::sync::Mutex;

use lockscope::queue::{Change, ConnectionState, LockTable};
use lockscope::znode::{SessionId, Timestamp};

#[path = "../bench/nodes.rs"]
mod nodes;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// What is counted is what the whole process allocates: one test counts at a time.
static COUNTING: Mutex<()> = Mutex::new(());

/// What the project promises, in bytes.
const MOST: usize = 550;

fn bytes_a_contender(locks: usize, each: usize) -> usize {
    let before = dhat::HeapStats::get().curr_bytes;
    let mut table = LockTable::new([]);
    table.apply(Change::Syncing, Timestamp(0));
    for lock in 0..locks {
        let parent = format!("/locks/lock-of-service-{lock}");
        for number in 0..i64::try_from(each).expect("a small number") {
            table.apply(nodes::seen(&parent, "lock-", number), Timestamp(0));
        }
    }
    table.apply(Change::Synced, Timestamp(0));
    assert_eq!(table.contender_count(), locks * each);
    table.take_touched();
    (dhat::HeapStats::get().curr_bytes - before) / (locks * each) - nodes::DATA.len()
}

#[test]
fn a_contender_takes_less_than_550_bytes_besides_its_data() {
    let _alone = COUNTING.lock();
    let _profiler = dhat::Profiler::builder().testing().build();
    for (locks, each) in [(1, 20_000), (5_000, 4), (1, 100_000)] {
        let bytes = bytes_a_contender(locks, each);
        println!("{locks} locks with {each} contenders each: {bytes} bytes a contender");
        assert!(bytes < MOST, "{locks} locks with {each} contenders: {bytes} bytes a contender");
    }
}

/// What one hand-over may allocate: a node goes, another comes, and what that means is reported.
const MOST_ALLOCATIONS: u64 = 24;

fn allocations_a_hand_over() -> u64 {
    const LENGTH: i64 = 1_000;
    const ROUNDS: i64 = 1_000;
    let mut table = LockTable::new([]);
    let now = Timestamp(0);
    table.apply(Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true }), now);
    table.apply(Change::Syncing, now);
    for number in 0..LENGTH {
        table.apply(nodes::seen("/locks/a", "lock-", number), now);
    }
    table.apply(Change::Synced, now);
    let changes: Vec<[Change; 2]> = (0..ROUNDS)
        .map(|head| {
            let gone = Change::Deleted { path: nodes::path("/locks/a", "lock-", head), zxid: None };
            [gone, nodes::seen("/locks/a", "lock-", head + LENGTH)]
        })
        .collect();
    let before = dhat::HeapStats::get().total_blocks;
    for change in changes.into_iter().flatten() {
        table.apply(change, now);
    }
    (dhat::HeapStats::get().total_blocks - before) / ROUNDS.unsigned_abs()
}

#[test]
fn a_hand_over_takes_a_bounded_number_of_allocations() {
    let _alone = COUNTING.lock();
    let _profiler = dhat::Profiler::builder().testing().build();
    let allocations = allocations_a_hand_over();
    println!("{allocations} allocations a hand-over");
    assert!(allocations <= MOST_ALLOCATIONS, "{allocations} allocations a hand-over");
}

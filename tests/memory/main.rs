//! The memory of a contender in the table, without its node's data; the allocations of a hand-over;
//! and the memory of commands that read a recording or import a snapshot.

use std::sync::RwLock;

use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_past::record::{BatchWriter, Bounds, RecordOptions};

mod crafted;
mod imports;
#[path = "../bench/nodes.rs"]
mod nodes;
mod recordings;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// The counts cover the whole process, so one test counts at a time and no other test runs
/// meanwhile.
static COUNTING: RwLock<()> = RwLock::new(());

/// Cases: the number of locks, the minimum contenders of each, how many locks have one more, and
/// the allowed bytes for each contender.
const SHAPES: [(usize, usize, usize, usize); 4] =
    [(1, 20_000, 0, 450), (5_000, 4, 0, 380), (1, 100_000, 0, 410), (100_000, 1, 75_000, 540)];

fn bytes_a_contender(locks: usize, each: usize, with_one_more: usize) -> usize {
    let before = dhat::HeapStats::get().curr_bytes;
    let contenders = locks * each + with_one_more;
    let mut table = LockTable::new([]);
    table.apply(Change::Syncing, Timestamp(0));
    for lock in 0..locks {
        let parent = format!("/locks/lock-of-service-{lock}");
        let here = each + usize::from(lock < with_one_more);
        for number in 0..i64::try_from(here).expect("a small number") {
            table.apply(nodes::seen(&parent, "lock-", number), Timestamp(0));
        }
    }
    table.apply(Change::Synced, Timestamp(0));
    assert_eq!(table.contender_count(), contenders);
    table.take_touched();
    (dhat::HeapStats::get().curr_bytes - before) / contenders - nodes::DATA.len()
}

#[test]
fn a_contender_takes_few_bytes_besides_its_data() {
    let _alone = COUNTING.write();
    let _profiler = dhat::Profiler::builder().testing().build();
    for (locks, each, with_one_more, most) in SHAPES {
        let bytes = bytes_a_contender(locks, each, with_one_more);
        let shape = format!("{locks} locks with {each} contenders each, {with_one_more} of them with one more");
        println!("{shape}: {bytes} bytes a contender");
        assert!(bytes < most, "{shape}: {bytes} bytes a contender");
    }
}

/// The maximum allocations of one hand-over: a node goes, another comes, and the events are
/// reported.
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
    let _alone = COUNTING.write();
    let _profiler = dhat::Profiler::builder().testing().build();
    let allocations = allocations_a_hand_over();
    println!("{allocations} allocations a hand-over");
    assert!(allocations <= MOST_ALLOCATIONS, "{allocations} allocations a hand-over");
}

/// The maximum bytes for the past of each contender read at the start, without the memory of
/// `SQLite`, which has a bound of its own.
const MOST_FOR_THE_PAST: usize = 300;

#[test]
fn the_past_in_memory_takes_less_than_300_bytes_a_contender_besides_its_bound() {
    const LOCKS: usize = 20_000;
    let _alone = COUNTING.write();
    let _profiler = dhat::Profiler::builder().testing().build();
    let bounds = Bounds { keep: None, max_bytes: Some(16 << 20) };
    let mut writer =
        BatchWriter::in_memory(RecordOptions { bounds, with_data: true, group_reads: false }).expect("a recording");
    let mut recorder = writer.recorder("localhost:2181").expect("a recorder");
    let (mut table, diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
    let connected = Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true });
    for (second, changes) in [vec![connected, Change::Syncing]].into_iter().chain(fillings(LOCKS)).enumerate() {
        let now = Timestamp(i64::try_from(second).expect("few") * 1_000);
        for change in changes {
            recorder.apply(change, now, &mut table, &diagnosis);
        }
        assert!(writer.write_batches(recorder.take_batches(now, &table), now).is_none(), "nothing is lost");
    }
    assert_eq!(table.contender_count(), LOCKS);
    let with_past = dhat::HeapStats::get().curr_bytes;
    drop((recorder, writer));
    let past = (with_past - dhat::HeapStats::get().curr_bytes) / LOCKS;
    println!("{past} bytes a contender to be able to go back");
    assert!(past < MOST_FOR_THE_PAST, "{past} bytes a contender");
}

/// Returns the changes of the first reading in batches. Each contender has its own lock.
fn fillings(locks: usize) -> impl Iterator<Item = Vec<Change>> {
    const AT_ONCE: usize = 1_000;
    let of = |lock: usize| nodes::seen(&format!("/locks/lock-of-service-{lock}"), "lock-", 0);
    let chunk = move |from: usize| (from..from + AT_ONCE).map(of).collect();
    (0..locks).step_by(AT_ONCE).map(chunk).chain([vec![Change::Synced]])
}

//! How much memory the table takes a contender, besides the data of its node.

use lockscope::queue::{Change, LockTable};
use lockscope::znode::Timestamp;

#[path = "../bench/nodes.rs"]
mod nodes;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// What the project promises, in bytes.
const MOST: usize = 600;

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
fn a_contender_takes_less_than_600_bytes_besides_its_data() {
    let _profiler = dhat::Profiler::builder().testing().build();
    for (locks, each) in [(1, 20_000), (5_000, 4), (1, 100_000)] {
        let bytes = bytes_a_contender(locks, each);
        println!("{locks} locks with {each} contenders each: {bytes} bytes a contender");
        assert!(bytes < MOST, "{locks} locks with {each} contenders: {bytes} bytes a contender");
    }
}

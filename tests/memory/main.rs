//! How much memory the table takes a contender, besides the data of its node.

use lockscope::queue::{Change, LockTable};
use lockscope::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// What the project promises, in bytes.
const MOST: usize = 600;

const DATA: &[u8] = b"10.0.4.17";

fn seen(lock: usize, number: usize) -> Change {
    let path = format!("/locks/lock-of-service-{lock}/_c_{number:08x}-0000-4000-8000-000000000000-lock-{number:010}");
    let number = i64::try_from(number).expect("small");
    let stat = ZnodeStat {
        czxid: Zxid(number),
        mzxid: Zxid(number),
        pzxid: Zxid(number),
        ctime: Timestamp(number),
        mtime: Timestamp(number),
        version: 0,
        cversion: 0,
        aversion: 0,
        ephemeral_owner: Some(SessionId(number)),
        data_length: 9,
        num_children: 0,
    };
    Change::Seen { path: ZnodePath::new(&path).expect("a path"), node: Node { stat, data: NodeData::keep(DATA) } }
}

fn bytes_a_contender(locks: usize, each: usize) -> usize {
    let before = dhat::HeapStats::get().curr_bytes;
    let mut table = LockTable::new([]);
    table.apply(Change::Syncing, Timestamp(0));
    for lock in 0..locks {
        for number in 0..each {
            table.apply(seen(lock, number), Timestamp(0));
        }
    }
    table.apply(Change::Synced, Timestamp(0));
    assert_eq!(table.contender_count(), locks * each);
    table.take_touched();
    (dhat::HeapStats::get().curr_bytes - before) / (locks * each) - DATA.len()
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

//! The cost of one change of the table, at three lengths of the queue. The cost must not grow with
//! the length.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};

#[path = "nodes.rs"]
mod nodes;

const LENGTHS: [i64; 3] = [100, 10_000, 100_000];

/// Returns a live table with one queue. Every tenth request of a read/write queue is for writing.
fn table(length: i64, kind: fn(i64) -> &'static str) -> LockTable {
    let mut table = LockTable::new([]);
    let now = Timestamp(0);
    table.apply(Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true }), now);
    table.apply(Change::Syncing, now);
    for number in 0..length {
        table.apply(nodes::seen("/locks/a", kind(number), number), now);
    }
    table.apply(Change::Synced, now);
    table
}

fn mutex(_: i64) -> &'static str {
    "lock-"
}

fn shared(number: i64) -> &'static str {
    if number % 10 == 0 { "__WRIT__" } else { "__READ__" }
}

fn hand_over(criterion: &mut Criterion) {
    for (recipe, kind) in [("mutex", mutex as fn(i64) -> &'static str), ("read-write", shared)] {
        let mut group = criterion.benchmark_group(format!("apply: head leaves and one comes, {recipe}"));
        for length in LENGTHS {
            let mut table = table(length, kind);
            let mut head = 0;
            group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
                bencher.iter(|| {
                    let tail = head + length;
                    let gone = Change::Deleted { path: nodes::path("/locks/a", kind(head), head), zxid: None };
                    let reported = table.apply(gone, Timestamp(head)).len();
                    head += 1;
                    reported + table.apply(nodes::seen("/locks/a", kind(tail), tail), Timestamp(head)).len()
                });
            });
        }
        group.finish();
    }
}

fn leave_the_middle(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("apply: a waiter in the middle leaves and one comes");
    for length in LENGTHS {
        let mut table = table(length, mutex);
        let mut next = length;
        let mut middle: Vec<i64> = (length / 4..length / 2).collect();
        group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
            bencher.iter(|| {
                let gone = middle.pop().unwrap_or_else(|| {
                    middle = (next - length / 2..next - length / 4).collect();
                    next - length / 4
                });
                table.apply(
                    Change::Deleted { path: nodes::path("/locks/a", "lock-", gone), zxid: None },
                    Timestamp(next),
                );
                table.apply(nodes::seen("/locks/a", "lock-", next), Timestamp(next));
                next += 1;
            });
        });
    }
    group.finish();
}

fn load(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load: all contenders of a queue, each");
    group.sample_size(10);
    for length in LENGTHS {
        group.throughput(criterion::Throughput::Elements(length.unsigned_abs()));
        group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
            bencher.iter_batched(|| (), |()| table(length, mutex), BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// Measures very many locks that some hundred sessions hold and wait for, each held for longer than
/// the threshold.
fn examine(criterion: &mut Criterion) {
    const LOCKS: i64 = 100_000;
    const SESSIONS: i64 = 400;
    let mut table = LockTable::new([]);
    let now = Timestamp(0);
    table.apply(Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true }), now);
    table.apply(Change::Syncing, now);
    for number in 0..2 * LOCKS {
        let lock = number * 7_919 % LOCKS;
        let mut change = nodes::seen(&format!("/locks/orders-{lock}"), "lock-", number);
        if let Change::Seen { node, .. } = &mut change {
            node.stat.ephemeral_owner = Some(SessionId((number * 31 + number / LOCKS * 17) % SESSIONS + 1));
        }
        table.apply(change, now);
    }
    table.apply(Change::Synced, now);
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    let mut second = 600;
    let mut group = criterion.benchmark_group("diagnose: all locks");
    group.sample_size(10);
    group.bench_function(BenchmarkId::from_parameter(LOCKS), |bencher| {
        bencher.iter(|| {
            second += 1;
            diagnosis.examine(&table, Timestamp(1_000 * second)).raised.len()
        });
    });
    group.finish();
}

criterion_group!(benches, hand_over, leave_the_middle, load, examine);
criterion_main!(benches);

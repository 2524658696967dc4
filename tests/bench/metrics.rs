//! The cost of a scrape of 10,000 locks: for the observer (copying the figures), for the thread
//! that writes the text, and in total over HTTP. Each lock has a holder, a waiter, a past hand-over
//! and a finding.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_live::exporter::{Exporter, MetricsAccess, ScrapeKind};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::metrics::{DEFAULT_MAX_LOCKS, EventCounters, ProcessFigures, Scrape, to_open_metrics};
use lockscope_model::queue::{Change, ConnectionState, LockTable};

#[path = "nodes.rs"]
mod nodes;

const LOCKS: i64 = 10_000;

/// The maximum number of locks with series of their own: the default, and the largest allowed
/// value.
const NAMED: [usize; 2] = [DEFAULT_MAX_LOCKS, 10_000];

struct Counted {
    table: LockTable,
    diagnosis: Diagnosis,
    counters: EventCounters,
}

impl Counted {
    fn new(max_locks: usize) -> Self {
        let (table, diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
        let mut counted = Self { table, diagnosis, counters: EventCounters::new(max_locks) };
        let connected = ConnectionState::Connected { session: SessionId(1), recursive: true };
        counted.apply(Change::Connection(connected), 0);
        counted.apply(Change::Syncing, 0);
        let parent = |number: i64| format!("/services/orders/locks/item-{:05}", number % LOCKS);
        for number in 0..2 * LOCKS {
            counted.apply(nodes::seen(&parent(number), "lock-", number), 0);
        }
        counted.apply(Change::Synced, 0);
        // Two hand-overs, so that a whole hold and a whole wait were seen.
        for number in 0..2 * LOCKS {
            let (gone, comes) = (nodes::path(&parent(number), "lock-", number), number + 2 * LOCKS);
            counted.apply(nodes::seen(&parent(comes), "lock-", comes), 1_000 + number);
            counted.apply(Change::Deleted { path: gone, zxid: None }, 1_000 + number);
        }
        for second in [100, 200] {
            counted.diagnosis.examine(&counted.table, Timestamp(1_000 * second));
        }
        assert!(counted.diagnosis.findings().len() >= 10_000, "every lock is stuck");
        counted
    }

    fn apply(&mut self, change: Change, at: i64) {
        let happenings = self.table.apply(change, Timestamp(at));
        self.counters.count_all(&happenings, &self.table);
    }

    fn scrape(&mut self) -> Scrape {
        let (process, now) = (ProcessFigures::default(), Timestamp(200_000));
        self.counters.scrape("zk1:2181,zk2:2181,zk3:2181", &self.table, &self.diagnosis, process, now)
    }
}

fn scrape(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(format!("scrape of {LOCKS} locks, by how many have series of their own"));
    group.sample_size(20);
    for named in NAMED {
        let mut counted = Counted::new(named);
        let text = to_open_metrics(counted.scrape()).expect("a text");
        println!("{named} named: {} lines, {} bytes", text.lines().count(), text.len());
        group.bench_function(BenchmarkId::new("copy", named), |bencher| bencher.iter(|| counted.scrape().named.len()));
        group.bench_function(BenchmarkId::new("write", named), |bencher| {
            let write = |scrape| to_open_metrics(scrape).expect("a text").len();
            bencher.iter_batched(|| counted.scrape(), write, BatchSize::PerIteration);
        });
        let address = serve(counted);
        group.bench_function(BenchmarkId::new("over HTTP", named), |bencher| bencher.iter(|| fetch(address)));
    }
    group.finish();
}

/// Answers requests on a thread that ends with the process.
fn serve(mut counted: Counted) -> SocketAddr {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let local = SocketAddr::from(([127, 0, 0, 1], 0));
            let mut exporter = Exporter::start(local, MetricsAccess::default()).await.expect("a port");
            sender.send(exporter.address()).expect("somebody waits");
            loop {
                if let ScrapeKind::Metrics(asker) = exporter.next_question().await {
                    let _ = asker.send(counted.scrape().into());
                }
            }
        });
    });
    address.recv().expect("an address")
}

fn fetch(address: SocketAddr) -> usize {
    let mut stream = TcpStream::connect(address).expect("a listener");
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("a sent request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    assert!(answer.ends_with(b"# EOF\n"), "all of it");
    answer.len()
}

criterion_group!(benches, scrape);
criterion_main!(benches);

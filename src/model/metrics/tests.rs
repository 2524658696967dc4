//! Tests of the counters and the served series.

use super::*;
use crate::diagnose::{Code, Diagnosis, Severity, Thresholds};
use crate::queue::{Change, LockTable};
use crate::testing::{deleted, lost, path, reading, seen};
use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

/// A counted table with a clock.
struct MetricsFixture {
    table: LockTable,
    diagnosis: Diagnosis,
    counters: EventCounters,
    now: Timestamp,
    zxid: i64,
}

impl MetricsFixture {
    fn new(max_locks: usize) -> Self {
        let (table, diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
        let now = Timestamp(1_714_574_467_000);
        Self { table, diagnosis, counters: EventCounters::new(max_locks), now, zxid: 100 }
    }

    fn apply(&mut self, change: Change) {
        let happenings = self.table.apply(change, self.now);
        self.counters.count_all(&happenings, &self.table);
    }

    /// Reads everything; these nodes exist.
    fn read(&mut self, nodes: &[&str]) {
        let found: Vec<_> = nodes.iter().map(|node| self.next(node)).collect();
        reading(found).for_each(|change| self.apply(change));
    }

    /// Returns the change for a new node that was read.
    fn next(&mut self, node: &str) -> Change {
        self.zxid += 1;
        seen(node, ZnodeStat::of_new(Zxid(self.zxid), self.now, Some(SessionId(self.zxid))), b"")
    }

    fn seen(&mut self, node: &str) {
        let change = self.next(node);
        self.apply(change);
    }

    fn comes(&mut self, node: &str) {
        self.apply(Change::Appeared { path: path(node) });
        self.seen(node);
    }

    fn goes(&mut self, node: &str) {
        self.apply(deleted(&path(node)));
    }

    fn pass(&mut self, seconds: i64) {
        self.now = Timestamp(self.now.0 + 1000 * seconds);
        self.diagnosis.examine(&self.table, self.now);
    }

    fn scrape(&mut self) -> Scrape {
        let process = ProcessFigures::default();
        self.counters.scrape("zk1:2181", &self.table, &self.diagnosis, process, self.now)
    }

    fn named(&mut self) -> Vec<String> {
        let named = self.scrape().named.into_iter();
        named
            .map(|lock| match lock.labels {
                LockLabels::One { path, .. } => path.to_string(),
                LockLabels::Others => panic!("it stands apart"),
            })
            .collect()
    }
}

#[test]
fn a_lock_has_its_current_state_and_its_counters() {
    let mut fixture = MetricsFixture::new(10);
    fixture.read(&["/a/lock-0000000000"]);
    fixture.pass(2);
    fixture.comes("/a/lock-0000000001");
    fixture.pass(3);
    fixture.goes("/a/lock-0000000000");
    fixture.comes("/a/lock-0000000002");
    fixture.pass(7);
    let scrape = fixture.scrape();
    let [lock] = &scrape.named[..] else { panic!("{scrape:?}") };
    let state = LockState { holders: 1, waiters: Some(1), held_ms: Some(7_000), waited_ms: Some(7_000) };
    assert_eq!(lock.state, Some(state));
    assert_eq!((lock.counts.acquisitions, lock.counts.expiries), (1, 0));
    assert_eq!((lock.counts.waits.count(), lock.counts.holds.count()), (1, 0), "when it began to hold is not known");
    assert!((lock.counts.waits.sum_seconds() - 3.0).abs() < 1e-9);
    fixture.goes("/a/lock-0000000001");
    let counts = fixture.scrape().named[0].counts;
    assert_eq!((counts.acquisitions, counts.holds.count()), (2, 1));
    assert!((counts.holds.sum_seconds() - 7.0).abs() < 1e-9);
    assert_eq!((counts.watch_events.herd, counts.watch_events.chain), (2, 2));
}

#[test]
fn while_the_table_is_not_live_only_counters_are_served() {
    let mut fixture = MetricsFixture::new(10);
    assert_eq!((fixture.scrape().is_live, fixture.scrape().gaps), (false, 0));
    fixture.read(&["/a/lock-0000000000", "/a/lock-0000000001"]);
    assert!(health(&fixture.table).is_ok());
    fixture.pass(1);
    fixture.pass(70);
    assert_eq!(fixture.scrape().named[0].findings.len(), 1);
    fixture.apply(lost());
    let scrape = fixture.scrape();
    assert_eq!((scrape.is_live, scrape.gaps, scrape.locks, scrape.named[0].state), (false, 1, None, None));
    assert!(scrape.named[0].findings.is_empty());
    assert!(health(&fixture.table).unwrap_err().contains("cut"));
    fixture.pass(60);
    fixture.read(&["/a/lock-0000000001"]);
    let counts = fixture.scrape().named[0].counts;
    assert_eq!(counts.acquisitions, 1, "it was handed on meanwhile");
    assert_eq!((counts.waits.count(), counts.holds.count()), (0, 0), "nobody knows when");
}

#[test]
fn series_end_with_their_lock_and_start_again_with_other_settings() {
    let mut fixture = MetricsFixture::new(10);
    fixture.read(&["/a/lock-0000000000", "/b/lock-0000000000"]);
    assert_eq!(fixture.named(), ["/a", "/b"]);
    fixture.goes("/a/lock-0000000000");
    fixture.goes("/a");
    assert_eq!(fixture.named(), ["/b"]);
    fixture.comes("/b/lock-0000000001");
    fixture.goes("/b/lock-0000000000");
    let changes = fixture.scrape().changes;
    fixture.counters.start_over();
    let scrape = fixture.scrape();
    assert_eq!((scrape.named[0].counts.acquisitions, scrape.gaps, scrape.changes), (0, 1, changes));
}

#[test]
fn among_too_many_locks_those_with_waiters_get_and_keep_series() {
    let mut fixture = MetricsFixture::new(2);
    fixture.read(&["/a/lock-0000000000", "/b/lock-0000000000", "/c/lock-0000000000", "/c/lock-0000000001"]);
    assert_eq!(fixture.named(), ["/a", "/c"]);
    let scrape = fixture.scrape();
    assert_eq!((scrape.other_locks, scrape.others.state.map(|state| state.holders)), (Some(1), Some(1)));

    // /a was never busy.
    fixture.comes("/b/lock-0000000001");
    assert_eq!(fixture.named(), ["/b", "/c"]);

    // /c has no waiters any more, and keeps its place for ten minutes.
    fixture.goes("/c/lock-0000000001");
    fixture.comes("/a/lock-0000000001");
    fixture.pass(599);
    assert_eq!(fixture.named(), ["/b", "/c"]);
    fixture.goes("/a/lock-0000000000");
    assert_eq!(fixture.scrape().others.counts.acquisitions, 1, "it is counted all the same");
    fixture.comes("/a/lock-0000000002");
    fixture.pass(1);
    assert_eq!(fixture.named(), ["/a", "/b"]);
    assert_eq!(fixture.scrape().others.counts.acquisitions, 1, "what was counted stays where it is");
}

#[test]
fn findings_are_counted_by_code_even_without_a_series_for_the_lock() {
    let mut fixture = MetricsFixture::new(1);
    let long = format!("/{}", "x".repeat(600));
    let queue = |at: &str| [0, 1].map(|number| format!("{at}/lock-000000000{number}"));
    let nodes: Vec<String> = ["/a", long.as_str()].into_iter().flat_map(queue).collect();
    fixture.read(&nodes.iter().map(String::as_str).collect::<Vec<_>>());
    fixture.pass(1);
    fixture.pass(70);
    let scrape = fixture.scrape();
    let kind = (Code::Stuck, Severity::Warning);
    let stuck = [&scrape.named[0], &scrape.others].map(|lock| lock.findings.get(&kind).copied());
    assert_eq!(stuck, [Some(1), Some(1)], "{scrape:?}");
}

#[test]
fn names_from_the_tree_cannot_leave_their_label() {
    let mut fixture = MetricsFixture::new(10);
    fixture.read(&["/a\"} 1\\\n# EOF\n/lock-0000000000"]);
    fixture.pass(1);
    let text = to_open_metrics(fixture.scrape()).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("# EOF")).count(), 1);
    let shown = text.lines().filter(|line| line.contains(r#"lock="/a\"} 1\\\n# EOF\n",recipe="textbook-queue""#));
    assert_eq!(shown.count(), 9, "{text}");
}

#[test]
fn the_series_are_named_as_documented() {
    let mut fixture = MetricsFixture::new(1);
    fixture.read(&["/a/lock-0000000000", "/b/x_lock_0000000000"]);
    fixture.comes("/a/lock-0000000001");
    fixture.pass(5);
    fixture.goes("/a/lock-0000000000");
    fixture.goes("/a/lock-0000000001");
    let mut scrape = fixture.scrape();
    let otlp = Some(OtlpFigures { sent: 5, refused: 1, lost: 2, queued: 4 });
    scrape.process = ProcessFigures { changes_behind: 3, is_stored: Some(true), store_files_gone: Some(1), otlp };
    scrape.answering = vec![("zk1:2181".to_owned(), true), ("zk2:2181".to_owned(), false)];
    let process = ProcessUsage {
        resident_bytes: Some(4096),
        start_time_seconds: Some(1_714_574_460.25),
        open_fds: Some(12),
        max_fds: Some(1024),
        cpu_seconds: Some(0.5),
    };
    let text = to_plain_text(Scrapes { process, ..scrape.into() }).unwrap();
    // A test of the whole project compares this with the page about metrics.
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

//! Tests of the spans that histories of a small ensemble give.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fixture::{TableFixture, session_runs_out, surveyed};
use crate::record::tables::{GapRecord, SpanRecorder};
use crate::testing::{connected, deleted, lost};
use lockscope_base::trace_context::TraceContext;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::diagnose::{Code, Finding, FindingChanges, Severity};
use lockscope_model::queue::{Change, LockQueue};
use lockscope_model::span::{Span, Value};

struct TracedFixture {
    ensemble: TableFixture,
    spans: SpanRecorder,
}

impl TracedFixture {
    fn new() -> Self {
        let mut ensemble = TableFixture::new();
        ensemble.apply(surveyed(Vec::new(), ensemble.now));
        Self::after(None, ensemble)
    }

    /// Begins a run, of a table that is live.
    fn after(gap: Option<GapRecord>, ensemble: TableFixture) -> Self {
        let mut spans = SpanRecorder::start(false, gap).expect("a recorder");
        spans.happened(&[], &ensemble.table, ensemble.now);
        Self { ensemble, spans }
    }

    fn apply(&mut self, change: Change) -> Timestamp {
        let happenings = self.ensemble.apply(change);
        self.spans.happened(&happenings, &self.ensemble.table, self.ensemble.now);
        self.ensemble.now
    }

    fn create(&mut self, prefix: &str, session: i64, data: &[u8]) -> (ZnodePath, Timestamp) {
        let path = self.ensemble.put_numbered(prefix, session);
        let mut change = self.ensemble.observed(&path);
        if let Change::Seen { node, .. } = &mut change {
            node.data = Box::<[u8]>::from(data).into();
        }
        let at = self.apply(change);
        (path, at)
    }

    fn delete(&mut self, path: &ZnodePath) -> Timestamp {
        self.ensemble.tree.remove(path);
        self.apply(deleted(path))
    }

    fn take(&mut self, is_last: bool) -> Vec<Span> {
        let (spans, lost) = self.spans.take(&self.ensemble.table, self.ensemble.now, is_last);
        assert_eq!(lost, 0);
        spans
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn text(span: &Span, attribute: &str) -> String {
    match span.attributes.iter().find(|(name, _)| *name == attribute) {
        Some((_, Value::Text(text))) => text.to_string(),
        other => panic!("{attribute}: {other:?}"),
    }
}

fn of_node<'a>(spans: &[&'a Span], path: &ZnodePath) -> &'a Span {
    spans.iter().find(|span| text(span, "zookeeper.node") == path.name()).expect("a span of the node")
}

#[test]
fn each_wait_and_each_hold_is_one_span_and_a_wait_links_to_the_hold_before_it() {
    let mut fixture = TracedFixture::new();
    let (first, t1) = fixture.create("/a/lock-", 1, b"");
    let (second, t2) = fixture.create("/a/lock-", 2, b"");
    let (impatient, t3) = fixture.create("/a/lock-", 3, b"");
    let (third, t4) = fixture.create("/a/lock-", 4, b"");
    let t5 = fixture.delete(&impatient);
    let t6 = fixture.delete(&first);
    let t7 = fixture.delete(&second);
    let t8 = fixture.delete(&third);
    let spans = fixture.take(true);
    let (holds, waits) = (named(&spans, "hold /a"), named(&spans, "wait /a"));
    let times = |spans: &[&Span], path| (of_node(spans, path).start, of_node(spans, path).end);
    assert_eq!(holds.len(), 3);
    assert_eq!(times(&holds, &first), (t1, t6));
    assert_eq!(times(&holds, &second), (t6, t7));
    assert_eq!(times(&holds, &third), (t7, t8));
    assert_eq!(waits.len(), 3);
    assert_eq!(times(&waits, &second), (t2, t6));
    assert_eq!(times(&waits, &impatient), (t3, t5));
    assert_eq!(times(&waits, &third), (t4, t7));
    for (wait, hold) in [(&second, &first), (&impatient, &first), (&third, &second)] {
        assert_eq!(of_node(&waits, wait).links, [of_node(&holds, hold).context], "{wait}");
    }
    let [lock] = named(&spans, "lock /a")[..] else { panic!("one span of the lock: {spans:?}") };
    assert_eq!((lock.start, lock.parent), (t1, None));
    assert!(holds.iter().chain(&waits).all(|span| span.parent == Some(lock.context.span)));
    assert!(spans.iter().all(|span| span.context.trace == lock.context.trace));
    let ids: BTreeSet<_> = spans.iter().map(|span| span.context.span.bytes()).collect();
    assert_eq!(ids.len(), spans.len());
    assert!(fixture.take(true).is_empty(), "nothing comes twice");
}

#[test]
fn a_wait_is_told_while_its_hold_lasts_and_only_once() {
    let mut fixture = TracedFixture::new();
    let (first, _) = fixture.create("/a/lock-", 1, b"");
    let (second, _) = fixture.create("/a/lock-", 2, b"");
    fixture.take(false);
    fixture.delete(&first);
    let spans = fixture.take(false);
    assert_eq!(named(&spans, "wait /a").len(), 1, "{spans:?}");
    fixture.delete(&second);
    let spans = fixture.take(true);
    assert_eq!((named(&spans, "wait /a").len(), named(&spans, "hold /a").len()), (0, 2));
}

#[test]
fn an_expired_hold_has_failed() {
    let mut fixture = TracedFixture::new();
    let (holder, _) = fixture.create("/a/lock-", 1, b"");
    fixture.ensemble.now.0 += 5_000;
    fixture.apply(session_runs_out(1, fixture.ensemble.now));
    fixture.delete(&holder);
    let spans = fixture.take(false);
    let [hold] = named(&spans, "hold /a")[..] else { panic!("one hold: {spans:?}") };
    assert_eq!(hold.failure, Some("the session expired"));
    assert_eq!(text(hold, "lockscope.ending"), "expired");
}

#[test]
fn a_trace_ends_after_ten_minutes_and_a_gap_is_a_span() {
    let mut fixture = TracedFixture::new();
    let (first, t1) = fixture.create("/a/lock-", 1, b"");
    fixture.delete(&first);
    fixture.ensemble.now.0 += 11 * 60_000;
    let old = fixture.take(false);
    assert_eq!(named(&old, "lock /a").len(), 1);
    let seen = fixture.ensemble.table.last_true().expect("it was live");
    fixture.apply(lost());
    for change in [connected()].into_iter().chain(fixture.ensemble.walk()) {
        fixture.apply(change);
    }
    let (second, _) = fixture.create("/a/lock-", 2, b"");
    fixture.delete(&second);
    let new = fixture.take(true);
    let [gap] = named(&new, "gap")[..] else { panic!("one gap: {new:?}") };
    assert!(gap.start >= t1 && gap.start == seen && gap.end > gap.start);
    let [hold] = named(&new, "hold /a")[..] else { panic!("one hold: {new:?}") };
    assert_ne!(hold.context.trace, old[0].context.trace);
}

#[test]
fn the_time_between_two_runs_is_a_gap_and_a_hold_that_was_found_after_it_may_be_older() {
    let mut first = TracedFixture::new();
    let (holder, created) = first.create("/a/lock-", 1, b"");
    let seen = first.ensemble.table.last_true().expect("it was live");
    assert!(named(&first.take(true), "gap").is_empty(), "nothing was missed before the first run");
    first.ensemble.now.0 += 60_000;
    let mut second = TracedFixture::after(first.spans.left_gap(), first.ensemble);
    let read_at = second.ensemble.now;
    second.delete(&holder);
    let spans = second.take(true);
    let [gap] = named(&spans, "gap")[..] else { panic!("one gap: {spans:?}") };
    assert_eq!((gap.start, gap.end), (seen, read_at));
    assert_eq!(text(gap, "lockscope.reason"), "the recorder was not running");
    assert_eq!(named(&spans, "hold /a")[0].start, created);
}

#[test]
fn a_node_with_a_trace_context_is_part_of_that_trace_and_links_to_its_lock() {
    let context: TraceContext = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
    let mut fixture = TracedFixture::new();
    let (first, _) = fixture.create("/a/lock-", 1, b"");
    let (second, _) = fixture.create("/a/lock-", 2, &context.added_to(b"worker-7".to_vec()));
    fixture.delete(&first);
    fixture.delete(&second);
    let spans = fixture.take(true);
    let [lock] = named(&spans, "lock /a")[..] else { panic!("one span of the lock: {spans:?}") };
    for name in ["wait /a", "hold /a"] {
        let span = of_node(&named(&spans, name), &second);
        assert_eq!((span.context.trace, span.parent), (context.trace, Some(context.span)));
        assert!(span.links.contains(&lock.context), "{span:?}");
        assert_eq!(text(span, "service.peer.name"), "worker-7");
        assert_eq!(text(span, "lockscope.data"), "worker-7");
    }
}

#[test]
fn findings_are_events_of_the_lock_and_of_the_hold_that_they_are_about() {
    let mut fixture = TracedFixture::new();
    let (holder, _) = fixture.create("/a/lock-", 1, b"");
    let lock = fixture.ensemble.table.locks().next().map(LockQueue::lock_name).expect("a lock");
    let finding = Finding {
        code: Code::Stuck,
        severity: Severity::Critical,
        lock,
        node: Some(holder.name().into()),
        client: None,
        summary: "nobody releases it".to_owned(),
        remedy: "look at it".into(),
        muted: None,
    };
    let mut changed = |raised: Vec<Finding>, cleared: Vec<Finding>| {
        let shared = |findings: Vec<Finding>| findings.into_iter().map(Arc::new).collect();
        let changes = FindingChanges { raised: shared(raised), cleared: shared(cleared), muted: Vec::new() };
        fixture.spans.findings_changed(&changes, &fixture.ensemble.table, fixture.ensemble.now);
    };
    changed(vec![finding.clone()], Vec::new());
    changed(Vec::new(), vec![finding]);
    fixture.delete(&holder);
    let spans = fixture.take(true);
    let events = |name| named(&spans, name)[0].events.iter().map(|event| event.name).collect::<Vec<_>>();
    assert_eq!(events("hold /a"), ["finding"]);
    assert_eq!(events("lock /a"), ["finding", "finding cleared"]);
    let (_, code) = &named(&spans, "hold /a")[0].events[0].attributes[0];
    assert_eq!(*code, Value::from("stuck"));
}

#[test]
fn a_finding_about_a_waiter_is_an_event_of_its_wait() {
    let mut fixture = TracedFixture::new();
    let (holder, _) = fixture.create("/a/lock-", 1, b"");
    let (waiter, _) = fixture.create("/a/lock-", 2, b"");
    fixture.take(false);
    let lock = fixture.ensemble.table.locks().next().map(LockQueue::lock_name).expect("a lock");
    let finding = Finding {
        code: Code::LostWakeUp,
        severity: Severity::Warning,
        lock,
        node: Some(waiter.name().into()),
        client: None,
        summary: "nothing wakes it".to_owned(),
        remedy: "look at it".into(),
        muted: None,
    };
    let changes = FindingChanges { raised: vec![Arc::new(finding)], ..FindingChanges::default() };
    fixture.spans.findings_changed(&changes, &fixture.ensemble.table, fixture.ensemble.now);
    fixture.ensemble.now.0 += 1_000;
    fixture.delete(&holder);
    let waits = fixture.take(false);
    assert_eq!(named(&waits, "wait /a")[0].events.len(), 1, "{waits:?}");
    fixture.delete(&waiter);
    let holds = fixture.take(true);
    assert!(named(&holds, "hold /a").iter().all(|hold| hold.events.is_empty()), "{holds:?}");
}

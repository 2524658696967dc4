//! Tests of `queue`.

use super::*;
use lockscope_base::trace_context::TraceId;
use lockscope_model::span::SpanContext;

fn span(number: i64) -> Span {
    Span {
        context: SpanContext::within(TraceId::random()),
        parent: None,
        links: Vec::new(),
        name: "hold /a".to_owned(),
        start: Timestamp(number),
        end: Timestamp(number),
        failure: None,
        attributes: vec![("lockscope.lock.path", "/a".into())],
        events: Vec::new(),
    }
}

#[tokio::test]
async fn beyond_its_bounds_the_queue_loses_the_oldest_spans_and_counts_them() {
    let shared = Shared::default();
    shared.push((0..60_000).map(span).collect(), 3);
    assert_eq!(shared.figures(), OtlpFigures { queued: 50_000, lost: 10_003, ..OtlpFigures::default() });
    let NextMessage::Spans(batch) = shared.next().await else { panic!("spans") };
    assert_eq!((batch.len(), batch[0].start), (MAX_BATCH, Timestamp(10_000)));
    assert_eq!(shared.figures().queued, 50_000, "the request under way is not sent yet");
    shared.sent(500, 12);
    let figures = OtlpFigures { queued: 50_000 - 512, sent: 500, refused: 12, lost: 10_003 };
    assert_eq!(shared.figures(), figures);
}

#[tokio::test]
async fn large_spans_are_bounded_by_their_bytes() {
    let shared = Shared::default();
    let large = |number| Span { name: "x".repeat(1 << 20), ..span(number) };
    shared.push((0..100).map(large).collect(), 0);
    let figures = shared.figures();
    assert_eq!((figures.queued, figures.lost), (63, 37));
}

#[tokio::test]
async fn the_end_comes_after_everything_that_waits() {
    let shared = Shared::default();
    shared.push(vec![span(1)], 0);
    shared.stop();
    assert!(matches!(shared.next().await, NextMessage::Spans(_)));
    assert!(matches!(shared.next().await, NextMessage::End));
}

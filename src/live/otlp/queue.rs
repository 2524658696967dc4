//! What waits to be sent, bounded and counted.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use lockscope_base::znode::Timestamp;
use lockscope_model::metrics::{OtlpFigures, Scrape};
use lockscope_model::span::Span;

/// The most spans that wait, and the most bytes of them.
const MAX_SPANS: usize = 50_000;
const MAX_BYTES: usize = 64 << 20;

/// The most spans of a request.
pub(super) const MAX_BATCH: usize = 512;

/// The queue, shared by the owner of the facts and the task that sends.
#[derive(Debug, Default)]
pub(super) struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    spans: VecDeque<Span>,
    bytes: usize,
    metrics: Option<(Box<Scrape>, Timestamp)>,
    /// The number of spans in the request under way.
    under_way: u64,
    figures: OtlpFigures,
    /// Why spans, and metrics, are not taken.
    troubles: [Option<String>; 2],
    is_stopping: bool,
}

/// The next thing to send.
#[derive(Debug)]
pub(super) enum Next {
    Spans(Vec<Span>),
    Metrics(Box<Scrape>, Timestamp),
    /// Nothing more comes.
    End,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, spans: Vec<Span>, lost: u64) {
        let mut queue = self.queue();
        queue.figures.lost += lost;
        for span in spans {
            queue.bytes += span.bytes();
            queue.spans.push_back(span);
        }
        while queue.spans.len() > MAX_SPANS || queue.bytes > MAX_BYTES {
            queue.drop_oldest();
        }
        drop(queue);
        self.changed.notify_one();
    }

    pub fn push_metrics(&self, scrape: Scrape, at: Timestamp) {
        self.queue().metrics = Some((Box::new(scrape), at));
        self.changed.notify_one();
    }

    pub fn figures(&self) -> OtlpFigures {
        let queue = self.queue();
        OtlpFigures { queued: queue.spans.len() as u64 + queue.under_way, ..queue.figures }
    }

    pub fn trouble(&self) -> Option<String> {
        self.queue().troubles.iter().flatten().next().cloned()
    }

    pub fn stop(&self) {
        self.queue().is_stopping = true;
        self.changed.notify_one();
    }

    pub fn is_stopping(&self) -> bool {
        self.queue().is_stopping
    }

    /// Waits until the owner stops. Cancel safe.
    pub async fn stopping(&self) {
        while !self.is_stopping() {
            self.changed.notified().await;
        }
        // The next waiter needs the signal too.
        self.changed.notify_one();
    }

    /// Waits for the next thing to send. Cancel safe.
    pub async fn next(&self) -> Next {
        loop {
            if let Some(next) = self.queue().take() {
                return next;
            }
            self.changed.notified().await;
        }
    }

    /// Records what became of the request under way.
    pub fn sent(&self, taken: u64, refused: u64) {
        let mut queue = self.queue();
        queue.under_way = 0;
        queue.figures.sent += taken;
        queue.figures.refused += refused;
    }

    /// Records why the collector does not take spans, or metrics, or that it does again.
    pub fn set_trouble(&self, of_metrics: bool, trouble: Option<String>) {
        self.queue().troubles[usize::from(of_metrics)] = trouble;
    }
}

impl Queue {
    fn take(&mut self) -> Option<Next> {
        if let Some((scrape, at)) = self.metrics.take() {
            return Some(Next::Metrics(scrape, at));
        }
        let count = self.spans.len().min(MAX_BATCH);
        if count > 0 {
            let batch: Vec<Span> = self.spans.drain(..count).collect();
            self.bytes -= batch.iter().map(Span::bytes).sum::<usize>();
            self.under_way = count as u64;
            return Some(Next::Spans(batch));
        }
        self.is_stopping.then_some(Next::End)
    }

    fn drop_oldest(&mut self) {
        if let Some(span) = self.spans.pop_front() {
            self.bytes -= span.bytes();
            self.figures.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests {
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
        let Next::Spans(batch) = shared.next().await else { panic!("spans") };
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
        assert!(matches!(shared.next().await, Next::Spans(_)));
        assert!(matches!(shared.next().await, Next::End));
    }
}

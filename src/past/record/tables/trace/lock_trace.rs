//! The trace of one lock.

use super::super::contender::{ContenderRecord, RecordedLock};
use super::attributes::lock_span;
use super::{Place, context_of};
use lockscope_base::trace_context::TraceId;
use lockscope_base::znode::Timestamp;
use lockscope_model::span::{Span, SpanContext, SpanEvent};

/// How long a trace lasts, in milliseconds: a trace without an end can be shown by no program.
const LASTS_MS: i64 = 600_000;

/// The most events of one lock in one trace.
const MAX_EVENTS: usize = 128;

/// The most holders that are linked to by a wait without success.
const MAX_HOLDERS: usize = 16;

/// The trace of one lock, and who holds it.
#[derive(Clone, Debug, Default)]
pub(super) struct LockTrace {
    pub window: Window,
    /// The rows of the holders, the latest last.
    pub holding: Vec<i64>,
    /// The hold that ended last, and its end.
    last_hold: Option<(SpanContext, Timestamp)>,
}

/// What one trace covers.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The identity of the lock's own span, and its first and last time.
    under_way: Option<(SpanContext, Timestamp, Timestamp)>,
    pub holds: i64,
    pub waits: i64,
    events: Vec<SpanEvent>,
    dropped_events: i64,
}

impl LockTrace {
    /// Returns the place of a span of this contender that belongs to this time.
    pub fn place(&mut self, record: &ContenderRecord, at: Timestamp) -> Place {
        let place = self.window.place(at);
        let lock = SpanContext { trace: place.context.trace, span: place.parent };
        context_of(record).map_or(place, |application| Place {
            context: SpanContext::within(application.trace),
            parent: application.span,
            lock: Some(lock),
        })
    }

    /// Returns the hold that ended last, if it ended at this time or later.
    pub fn handed_over_since(&self, came: Timestamp) -> Option<SpanContext> {
        self.last_hold.filter(|(_, ended)| *ended >= came).map(|(context, _)| context)
    }

    /// Records a new holder.
    pub fn holds(&mut self, row: i64) {
        if self.holding.len() >= MAX_HOLDERS {
            self.holding.remove(0);
        }
        self.holding.push(row);
    }

    /// Records the end of a hold.
    pub fn ends(&mut self, row: i64, hold: SpanContext, at: Timestamp) {
        self.holding.retain(|holder| *holder != row);
        self.last_hold = Some((hold, at));
    }

    /// Returns whether nothing is known of the lock that a later span needs.
    pub fn is_idle(&self) -> bool {
        !self.window.is_under_way() && self.holding.is_empty()
    }
}

impl Window {
    /// Returns a new place in the trace. Begins the trace if none is under way.
    pub fn place(&mut self, at: Timestamp) -> Place {
        let lock = self.covers(at);
        Place { context: SpanContext::within(lock.trace), parent: lock.span, lock: None }
    }

    /// Adds an event to the lock's own span.
    pub fn happened(&mut self, event: SpanEvent) {
        self.covers(event.at);
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        } else {
            self.dropped_events += 1;
        }
    }

    /// Returns whether a span of this trace was made or will be made.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    fn covers(&mut self, at: Timestamp) -> SpanContext {
        let begin = || (SpanContext::within(TraceId::random()), at, at);
        let (lock, first, last) = self.under_way.get_or_insert_with(begin);
        (*first, *last) = ((*first).min(at), (*last).max(at));
        *lock
    }

    /// Takes the lock's own span, if the trace is over.
    pub fn take_over(&mut self, of: &RecordedLock, now: Timestamp, ends_all: bool) -> Option<Span> {
        let (context, first, last) = self.under_way?;
        let lasted = now.0.saturating_sub(first.0);
        if !ends_all && (0..LASTS_MS).contains(&lasted) {
            return None;
        }
        let Self { holds, waits, events, dropped_events, .. } = std::mem::take(self);
        Some(lock_span(of, context, (first, last), [holds, waits, dropped_events], events))
    }
}

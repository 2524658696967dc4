//! What happened from one time to another, as a trace shows it.

use std::borrow::Cow;

use lockscope_base::trace_context::{SpanId, TraceId};
use lockscope_base::znode::Timestamp;

/// The identity of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanContext {
    /// The trace that the span is part of.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
}

impl SpanContext {
    /// Returns a new context in a trace.
    pub fn within(trace: TraceId) -> Self {
        Self { trace, span: SpanId::random() }
    }
}

/// A finished span.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The identity.
    pub context: SpanContext,
    /// The span that it is part of, in the same trace.
    pub parent: Option<SpanId>,
    /// The span that this one waited for, or belongs to in another trace.
    pub links: Vec<SpanContext>,
    /// What the span is, for people: `hold /locks/orders`.
    pub name: String,
    /// The beginning.
    pub start: Timestamp,
    /// The end; not before the beginning.
    pub end: Timestamp,
    /// Why the span counts as failed; `None` when it does not.
    pub failure: Option<&'static str>,
    /// The facts.
    pub attributes: Vec<Attribute>,
    /// What happened meanwhile.
    pub events: Vec<SpanEvent>,
}

/// A fact about a span.
pub type Attribute = (&'static str, Value);

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(Cow<'static, str>),
    /// A whole number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
}

/// Something that happened within a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    /// The time.
    pub at: Timestamp,
    /// What happened.
    pub name: &'static str,
    /// The facts.
    pub attributes: Vec<Attribute>,
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl Span {
    /// Returns about how many bytes of memory the span takes.
    pub fn bytes(&self) -> usize {
        let events = self.events.iter().map(|event| size_of::<SpanEvent>() + bytes_of(&event.attributes));
        size_of::<Self>()
            + self.name.len()
            + self.links.len() * size_of::<SpanContext>()
            + bytes_of(&self.attributes)
            + events.sum::<usize>()
    }
}

fn bytes_of(attributes: &[Attribute]) -> usize {
    let owned = attributes.iter().map(|(_, value)| match value {
        Value::Text(Cow::Owned(text)) => text.len(),
        _ => 0,
    });
    size_of_val(attributes) + owned.sum::<usize>()
}

//! The trace context of an application, as the data of a node carry it: a `traceparent` of the
//! [W3C recommendation](https://www.w3.org/TR/trace-context/#traceparent-header).

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// What stands before the context in a node's data.
const KEY: &str = "traceparent=";

/// The length of a `traceparent` of version 00, in bytes.
const LENGTH: usize = 55;

/// The id of a trace. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The id of a span. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Returns the id with these bytes; `None` for zero.
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// Returns a random id.
    pub fn random() -> Self {
        Self(fastrand::u128(1..).to_be_bytes())
    }

    /// Returns the bytes, as they stand in a message.
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl SpanId {
    /// Returns the id with these bytes; `None` for zero.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    /// Returns a random id.
    pub fn random() -> Self {
        Self(fastrand::u64(1..).to_be_bytes())
    }

    /// Returns the bytes, as they stand in a message.
    pub fn bytes(self) -> [u8; 8] {
        self.0
    }
}

/// A span of another program, below which further spans belong.
///
/// Written and read as a `traceparent`, such as
/// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// The flags; bit 0 says that the trace is recorded.
    pub flags: u8,
}

/// A text is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no traceparent: write 00-TRACE-SPAN-FLAGS in lower-case hexadecimal, with 32, 16 and 2 digits")]
pub struct BadTraceContext;

impl TraceContext {
    /// Returns the context in a node's data: the last word of the data, after `traceparent=`.
    pub fn in_data(data: &[u8]) -> Option<Self> {
        split(data)?.1.parse().ok()
    }

    /// Returns a node's data without the context.
    pub fn left_out(data: &[u8]) -> &[u8] {
        split(data).filter(|(_, context)| context.parse::<Self>().is_ok()).map_or(data, |(rest, _)| rest)
    }

    /// Returns a node's data with the context behind them.
    #[must_use]
    pub fn added_to(self, mut data: Vec<u8>) -> Vec<u8> {
        let space = if data.is_empty() { "" } else { " " };
        data.extend_from_slice(format!("{space}{KEY}{self}").as_bytes());
        data
    }
}

/// Returns the data before the context, and the context as a text.
fn split(data: &[u8]) -> Option<(&[u8], &str)> {
    let at = data.len().checked_sub(KEY.len() + LENGTH)?;
    let context = std::str::from_utf8(&data[at..]).ok()?.strip_prefix(KEY)?;
    match data[..at].split_last() {
        None => Some((&[], context)),
        Some((b' ', rest)) => Some((rest, context)),
        Some(_) => None,
    }
}

impl FromStr for TraceContext {
    type Err = BadTraceContext;

    fn from_str(text: &str) -> Result<Self, BadTraceContext> {
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace, span, flags] = parts[..] else { return Err(BadTraceContext) };
        let (Some([0]), Some(trace), Some(span), Some([flags])) =
            (bytes::<1>(version), bytes(trace), bytes(span), bytes::<1>(flags))
        else {
            return Err(BadTraceContext);
        };
        let trace = TraceId::new(trace).ok_or(BadTraceContext)?;
        Ok(Self { trace, span: SpanId::new(span).ok_or(BadTraceContext)?, flags })
    }
}

/// Reads bytes from lower-case hexadecimal digits, the only ones that the recommendation allows.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if text.len() != 2 * N || !is_hex {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

impl Display for TraceContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl Display for TraceId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl Display for SpanId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

fn hex(bytes: &[u8], f: &mut Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_the_last_word_of_the_data() {
        let context: TraceContext = TEXT.parse().unwrap();
        for before in ["", "worker 7"] {
            let data = context.added_to(before.into());
            assert_eq!(TraceContext::in_data(&data), Some(context));
            assert_eq!(TraceContext::left_out(&data), before.as_bytes());
        }
        for data in [format!("xtraceparent={TEXT}"), format!("traceparent={TEXT} x"), TEXT.to_owned()] {
            assert_eq!(TraceContext::in_data(data.as_bytes()), None, "{data}");
            assert_eq!(TraceContext::left_out(data.as_bytes()), data.as_bytes());
        }
    }

    #[test]
    fn only_the_recommended_form_is_read() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-00",
        ] {
            assert_eq!(text.parse::<TraceContext>(), Err(BadTraceContext), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_context_is_read_back_and_any_data_do_no_harm(
            trace in any::<[u8; 16]>(), span in any::<[u8; 8]>(), flags in any::<u8>(), data in any::<Vec<u8>>(),
        ) {
            let _ = TraceContext::in_data(&data);
            if let (Some(trace), Some(span)) = (TraceId::new(trace), SpanId::new(span)) {
                let context = TraceContext { trace, span, flags };
                prop_assert_eq!(context.to_string().parse(), Ok(context));
                let all = context.added_to(data.clone());
                prop_assert_eq!(TraceContext::in_data(&all), Some(context));
                prop_assert_eq!(TraceContext::left_out(&all), &data[..]);
            }
        }
    }
}

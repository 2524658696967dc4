//! Writes JSON for stdout, exports and the audit log: strings that are safe to view, and times.

use std::io;
use std::io::Write;

use chrono::{DateTime, Datelike, SecondsFormat};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use lockscope_base::znode::{Timestamp, must_be_escaped};

/// Writes a value as one line of JSON, without a line break.
///
/// Every character that a terminal or an editor could obey or hide is written as `\uXXXX`
/// ([`must_be_escaped`]), so the line is safe to view. A JSON parser reads the same text.
pub fn to_writer(out: &mut impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Escaping(CompactFormatter)))
}

/// Returns a value as one line of JSON, escaped as by [`to_writer`].
pub fn to_string(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    to_writer(&mut text, value)?;
    as_text(text)
}

/// Returns a value as several lines of JSON for people, escaped as by [`to_writer`].
pub fn to_string_pretty(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, Escaping(PrettyFormatter::new())))?;
    as_text(text)
}

fn as_text(text: Vec<u8>) -> serde_json::Result<String> {
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// Wraps another formatter, and escapes more characters in strings.
#[derive(Clone, Debug)]
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    /// Escapes the fragment. JSON's own escapes are not part of it.
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        if rest.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
            // No character needs an escape, as in nearly all text.
            return writer.write_all(rest.as_bytes());
        }
        while let Some((at, found)) = rest.char_indices().find(|(_, found)| must_be_escaped(*found)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in found.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + found.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_key(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// Formats a time as RFC 3339 in UTC with milliseconds: `2024-05-01T14:41:07.250Z`.
///
/// Returns `None` outside of the years 0 to 9999, which the format does not support. Such a time
/// comes from a clock that is not set, or from a broken server.
///
/// ```
/// use lockscope_model::report::rfc3339;
/// use lockscope_base::znode::Timestamp;
///
/// assert_eq!(rfc3339(Timestamp(1_714_574_467_250)).as_deref(), Some("2024-05-01T14:41:07.250Z"));
/// assert_eq!(rfc3339(Timestamp(i64::MAX)), None);
/// ```
pub fn rfc3339(time: Timestamp) -> Option<String> {
    let time = DateTime::from_timestamp_millis(time.0)?;
    (0..=9999).contains(&time.year()).then(|| time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn control_and_hidden_characters_are_escaped_and_letters_stay() {
        for (text, written) in [
            ("a\u{9b}31m\u{7f}", r#""a\u009b31m\u007f""#),
            ("\u{80}\u{85}\u{9f}", r#""\u0080\u0085\u009f""#),
            ("\u{61c}\u{200e}\u{200f}", r#""\u061c\u200e\u200f""#),
            ("evil\u{202a}\u{202e}\u{2066}\u{2069}", r#""evil\u202a\u202e\u2066\u2069""#),
            ("\u{2028}\u{2029}\u{feff}\u{200b}\u{ad}", r#""\u2028\u2029\ufeff\u200b\u00ad""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
            ("\u{1b}[2J\n\"\\", r#""\u001b[2J\n\"\\""#),
            ("Größe 锁 🔒 نص", "\"Größe 锁 🔒 نص\""),
        ] {
            assert_eq!(to_string(&text).expect("JSON"), written);
            assert_eq!(serde_json::from_str::<String>(written).expect("JSON"), text);
        }
    }

    #[test]
    fn keys_are_escaped_too_and_the_form_is_that_of_json() {
        let value = json!({ "a\u{202e}": [1, null, { "b": "\u{9b}" }], "c": {}, "d": [] });
        assert_eq!(to_string(&value).expect("JSON"), r#"{"a\u202e":[1,null,{"b":"\u009b"}],"c":{},"d":[]}"#);
        let plain = json!({ "a": [1, null, { "b": true }], "c": {}, "d": [] });
        let (ours, usual) =
            (to_string_pretty(&plain).expect("JSON"), serde_json::to_string_pretty(&plain).expect("JSON"));
        assert_eq!(ours, usual);
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_as_it_was_and_nothing_hidden_is_written(text in any::<String>()) {
            for written in [to_string(&json!({ &*text: text })), to_string_pretty(&json!({ &*text: text }))] {
                let written = written.expect("JSON");
                prop_assert!(!written.chars().any(|c| c != '\n' && c != '\\' && must_be_escaped(c)), "{:?}", written);
                prop_assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), json!({ &*text: text }));
            }
        }
    }

    #[test]
    fn a_time_outside_of_the_calendar_is_left_out() {
        for millis in [i64::MIN, i64::MAX, 253_402_300_800_000, -62_167_219_200_001] {
            assert_eq!(rfc3339(Timestamp(millis)), None, "{millis}");
        }
        assert_eq!(rfc3339(Timestamp(253_402_300_799_999)).as_deref(), Some("9999-12-31T23:59:59.999Z"));
        assert_eq!(rfc3339(Timestamp(0)).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(rfc3339(Timestamp(-1)).as_deref(), Some("1969-12-31T23:59:59.999Z"));
    }
}

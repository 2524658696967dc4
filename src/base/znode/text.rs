//! Escapes text from znodes, so that it is safe to show.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes text from a znode for a terminal: nothing in the result moves the cursor, changes
/// colours, or hides or reorders the text beside it.
///
/// Control characters, escape sequences, line ends and invisible or direction-changing characters
/// become escapes in Rust's notation (`\n`, `\u{1b}`). A backslash is doubled, so the original text
/// can be recovered.
///
/// ```
/// use lockscope_base::znode::escaped;
///
/// assert_eq!(escaped("lock-0000000042"), "lock-0000000042");
/// assert_eq!(escaped("\u{1b}[2Jgone\r\n"), r"\u{1b}[2Jgone\r\n");
/// assert_eq!(escaped(r"CORP\user"), r"CORP\\user");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(must_be_escaped) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    push_escaped(&mut shown, &text[first..]);
    Cow::Owned(shown)
}

/// Escapes bytes from a znode for a terminal, like [`escaped`]. Bytes that are not UTF-8 become
/// `\xff`.
///
/// ```
/// use lockscope_base::znode::escaped_bytes;
///
/// assert_eq!(escaped_bytes(b"10.0.4.17"), "10.0.4.17");
/// assert_eq!(escaped_bytes(b"a\xff\x00"), r"a\xff\0");
/// ```
pub fn escaped_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        push_escaped(&mut shown, chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn push_escaped(shown: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\0' => shown.push_str("\\0"),
            _ if !must_be_escaped(character) => shown.push(character),
            '\\' | '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            _ => shown.extend(character.escape_unicode()),
        }
    }
}

/// Returns whether a terminal, an editor or a shell could do something else with this character
/// than show it. All text output has these escaped: the screen, tables, JSON, the log, the
/// clipboard.
///
/// - Control characters: C0, DEL and C1. They move the cursor, erase, colour, sound the bell;
///   U+009B alone begins a command.
/// - Characters that reorder text: U+061C, U+200E, U+200F, U+202A..U+202E, U+2066..U+2069. A name
///   could show another's letters.
/// - Unusual line ends: U+2028 and U+2029. Some readers of JSON would see two lines.
/// - Invisible characters: soft hyphen, zero-width characters (U+FEFF among them), fillers,
///   invisible operators, musical and interlinear marks, and the tags and selectors of
///   U+E0000..U+E0FFF. Two names that look alike would be two nodes, and text could be hidden in
///   them.
/// - The backslash, which starts an escape. JSON escapes it by itself.
///
/// Variation selectors (U+FE00..U+FE0F) stay: they belong to emoji and follow the character that
/// they change.
pub fn must_be_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\\' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_control_the_terminal() {
        for (text, shown) in [
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("a\tb\u{7f}", r"a\tb\u{7f}"),
            ("evil\u{202e}gpj", r"evil\u{202e}gpj"),
            ("zero\u{200b}width", r"zero\u{200b}width"),
            ("two\u{2028}lines", r"two\u{2028}lines"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }

    #[test]
    fn letters_of_every_script_stay_as_they_are() {
        for text in ["Größe", "锁-0000000001", "🔒", "نص", ""] {
            assert!(matches!(escaped(text), Cow::Borrowed(shown) if shown == text), "{text}");
        }
    }

    #[test]
    fn an_escape_in_the_name_itself_differs_from_one_that_was_added() {
        assert_ne!(escaped("\n"), escaped("\\n"));
        assert_ne!(escaped_bytes(b"\xff"), escaped_bytes(b"\\xff"));
    }

    #[test]
    fn invalid_utf8_shows_its_bytes_and_keeps_the_rest() {
        assert_eq!(escaped_bytes(b"\xf0\x9f\x94ok\xc3"), r"\xf0\x9f\x94ok\xc3");
        assert_eq!(escaped_bytes("é\n".as_bytes()), r"é\n");
    }
}

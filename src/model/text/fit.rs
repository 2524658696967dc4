//! Fits text into a number of columns. Text that is too long loses its end, its beginning or its
//! middle.
//!
//! The module does not use `unicode-truncate`: that crate asserts in debug builds that a text is as
//! wide as the sum of its characters, which fails for Arabic and Lisu names. It also cannot keep
//! both ends.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Charset;
use lockscope_base::znode::{SessionId, escaped, escaped_bytes};

/// Maximum number of combining marks per letter. More would cover the neighbouring lines.
const MAX_MARKS: usize = 3;
/// Maximum number of bytes from either end that are looked at. No terminal is wider.
const MAX_BYTES: usize = 16 * 1024;

/// The part of a text that stays when the text is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning stays.
    Start,
    /// The end stays. For paths, whose last name tells most.
    End,
    /// Both ends stay. For nodes, whose names begin with an id and end with a number.
    Ends,
}

/// Returns the width of a harmless text, in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Makes a text safe for a terminal, and fits it into `columns` columns. Takes time proportional to
/// the columns, not to the text.
pub fn fit(text: &str, columns: usize, keep: Keep, charset: Charset) -> String {
    cut(&harmless(clip(text, keep), charset), columns, keep, charset)
}

/// Makes bytes safe for a terminal, and fits them into `columns` columns. The beginning stays.
pub fn fit_bytes(bytes: &[u8], columns: usize, charset: Charset) -> String {
    cut(&harmless_bytes(&bytes[..bytes.len().min(MAX_BYTES)], charset), columns, Keep::Start, charset)
}

/// Formats a session id in at most `columns` columns.
///
/// If the id is too long, its first digits (the server that created it) and its last ones (the
/// session on that server) stay.
pub fn session(id: SessionId, columns: usize, charset: Charset) -> String {
    let all = id.to_string();
    if all.len() <= columns || columns < 6 {
        return cut(&all, columns, Keep::End, charset);
    }
    let server = format!("{:#x}", id.0.cast_unsigned() >> 56);
    let server = if server == "0x0" || server.len() + 5 > columns { "0x" } else { &server };
    let tail = columns - server.len() - 1;
    format!("{server}{}{}", charset.ellipsis(), &all[all.len() - tail..])
}

/// Makes a text safe for a terminal.
pub(super) fn harmless(text: &str, charset: Charset) -> String {
    presentable(&escaped(text), charset)
}

/// Makes bytes safe for a terminal. Bytes that are not UTF-8 become escapes.
pub(super) fn harmless_bytes(bytes: &[u8], charset: Charset) -> String {
    presentable(&escaped_bytes(bytes), charset)
}

/// Escapes further characters that break the layout of a table: many combining marks on one letter,
/// characters of unclear width, and in ASCII mode everything else.
fn presentable(text: &str, charset: Charset) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut marks = MAX_MARKS;
    for character in text.chars() {
        let bare = character.width() == Some(0);
        let selector = matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
        marks = if bare { marks + 1 } else { 0 };
        let strange = character.width().is_none() || selector || marks > MAX_MARKS;
        if strange || (charset == Charset::Ascii && !character.is_ascii()) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Drops the part of a text that no terminal could show, before any work on it.
fn clip(text: &str, keep: Keep) -> &str {
    if text.len() <= MAX_BYTES {
        return text;
    }
    match keep {
        Keep::Start => &text[..boundary(text, MAX_BYTES)],
        Keep::End | Keep::Ends => &text[boundary(text, text.len() - MAX_BYTES)..],
    }
}

/// Returns the first character boundary at or after `at`.
fn boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Fits a harmless text into `columns` columns.
pub fn cut(text: &str, columns: usize, keep: Keep, charset: Charset) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let ellipsis = charset.ellipsis();
    match keep {
        Keep::Start => format!("{}{ellipsis}", head(text, room)),
        Keep::End => format!("{ellipsis}{}", tail(text, room)),
        Keep::Ends => {
            let back = room.div_ceil(2).max(room.min(11));
            format!("{}{ellipsis}{}", head(text, room - back), tail(text, back))
        }
    }
}

/// Returns as much of the beginning as fits.
pub(super) fn head(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += character.width().unwrap_or(0);
        if taken > columns {
            return &text[..at];
        }
    }
    text
}

/// Returns as much of the end as fits.
fn tail(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let mut start = text.len();
    for (at, character) in text.char_indices().rev() {
        taken += character.width().unwrap_or(0);
        if taken > columns {
            break;
        }
        // A combining mark without its letter would combine with the character before it.
        if character.width() != Some(0) {
            start = at;
        }
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const U: Charset = Charset::Unicode;

    #[test]
    fn each_kind_of_text_is_shortened_where_it_tells_least() {
        assert_eq!(fit("/locks/very/deep/billing", 12, Keep::End, U), "…eep/billing");
        assert_eq!(fit("worker-3.example.org", 9, Keep::Start, U), "worker-3…");
        assert_eq!(fit("_c_9f0b-lock-0000004711", 16, Keep::Ends, U), "_c_9…-0000004711");
        assert_eq!(fit("short", 5, Keep::Start, U), "short");
        assert_eq!(fit("short", 0, Keep::Start, U), "");
        assert_eq!(fit("/locks/billing", 8, Keep::End, Charset::Ascii), "~billing");
    }

    #[test]
    fn wide_letters_are_not_cut_in_half() {
        assert_eq!(fit("锁锁锁", 4, Keep::Start, U), "锁…");
        assert_eq!(fit("锁锁锁", 4, Keep::End, U), "…锁");
        assert_eq!(fit("锁锁锁", 6, Keep::Start, U), "锁锁锁");
        assert_eq!(fit("é锁", 20, Keep::Start, Charset::Ascii), "\\u{e9}\\u{9501}");
    }

    #[test]
    fn session_ids_keep_their_server_and_their_number() {
        let id = SessionId(0x0100_0a2b_3c40_001b);
        assert_eq!(session(id, 18, U), "0x1000a2b3c40001b");
        assert_eq!(session(id, 9, U), "0x1…0001b");
        assert_eq!(session(SessionId(0x1b), 9, U), "0x1b");
        assert_eq!(session(SessionId(-1), 10, U), "0xff…fffff");
        assert_ne!(session(SessionId(0x0100_0000_0000_0001), 9, U), session(SessionId(0x0200_0000_0000_0001), 9, U));
    }

    #[test]
    fn marks_do_not_pile_up_over_the_neighbours() {
        let pile = format!("a{}", "\u{301}".repeat(50));
        assert!(fit(&pile, 500, Keep::Start, U).starts_with("a\u{301}\u{301}\u{301}\\u{301}"));
    }

    #[test]
    fn joining_letters_are_cut_by_their_single_widths() {
        let joined = "\u{644}\u{627}".repeat(4);
        for columns in 0..10 {
            for keep in [Keep::Start, Keep::End, Keep::Ends] {
                assert!(fit(&joined, columns, keep, U).width() <= columns);
            }
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        let strange = prop::sample::select(
            "\u{1b}\u{9b}\n\t\r\0\u{7f}\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{301}\u{fe0f}👩👍🏽🇩🇪锁ﷺa"
                .chars()
                .collect::<Vec<_>>(),
        );
        prop::collection::vec(prop_oneof![strange, any::<char>()], 0..60).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn nothing_reaches_the_terminal_that_acts_on_it_or_takes_more_room(text in any_text(), columns in 0usize..40) {
            for keep in [Keep::Start, Keep::End, Keep::Ends] {
                for charset in [Charset::Unicode, Charset::Ascii] {
                    let shown = fit(&text, columns, keep, charset);
                    prop_assert!(shown.width() <= columns, "{shown:?}");
                    prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
                    let acts = ['\u{202e}', '\u{2066}', '\u{200b}', '\u{200d}', '\u{feff}', '\u{fe0f}'];
                    prop_assert!(!shown.contains(acts), "{shown:?}");
                    prop_assert!(charset == Charset::Unicode || shown.is_ascii());
                }
            }
        }

        #[test]
        fn bytes_are_shown_as_harmlessly_as_text(bytes in prop::collection::vec(any::<u8>(), 0..80), columns in 0usize..40) {
            let shown = fit_bytes(&bytes, columns, Charset::Unicode);
            prop_assert!(shown.width() <= columns && !shown.chars().any(char::is_control));
        }
    }
}

//! Text in at most so many columns: what is too long loses its end, its beginning or its middle.
//!
//! Cutting is done here and not by `unicode-truncate`: it asserts in debug builds that a text is as wide as its letters
//! together, which Arabic and Lisu names break, and it cannot keep both ends.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Charset;
use lockscope_base::znode::{SessionId, escaped, escaped_bytes};

/// Marks above and below a letter that are shown at most; further ones would grow over the neighbouring lines.
const MAX_MARKS: usize = 3;
/// Bytes at either end of a text that can matter: no terminal is wider than this.
const MAX_BYTES: usize = 16 * 1024;

/// Which part of a text gives way when it is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning stays.
    Start,
    /// The end stays: for paths, whose last name tells most.
    End,
    /// Both ends stay: for nodes, which begin with their maker's id and end in their number.
    Ends,
}

/// How many columns a text takes that is known to be harmless.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text as a terminal may be given it, in at most `columns` columns. Work follows the columns, not the text.
pub fn fit(text: &str, columns: usize, keep: Keep, charset: Charset) -> String {
    cut(&harmless(clip(text, keep), charset), columns, keep, charset)
}

/// The same for bytes, of which the beginning stays.
pub fn fit_bytes(bytes: &[u8], columns: usize, charset: Charset) -> String {
    cut(&harmless_bytes(&bytes[..bytes.len().min(MAX_BYTES)], charset), columns, Keep::Start, charset)
}

/// A session's id in at most `columns` columns. When it is too long, its first digits (which server made it) and its
/// last (which of that server's sessions it is) stay.
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

/// A text as a terminal may be given it.
pub(super) fn harmless(text: &str, charset: Charset) -> String {
    presentable(&escaped(text), charset)
}

/// The same for bytes: those that are no UTF-8 become escapes.
pub(super) fn harmless_bytes(bytes: &[u8], charset: Charset) -> String {
    presentable(&escaped_bytes(bytes), charset)
}

/// Takes away what escaping has left that a table cannot bear: heaps of combining marks, characters of unclear
/// width, and in ASCII everything else.
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

/// Leaves out what cannot be seen anyway, before anything is computed for it.
fn clip(text: &str, keep: Keep) -> &str {
    if text.len() <= MAX_BYTES {
        return text;
    }
    match keep {
        Keep::Start => &text[..boundary(text, MAX_BYTES)],
        Keep::End | Keep::Ends => &text[boundary(text, text.len() - MAX_BYTES)..],
    }
}

/// The first place at or after `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// A text that is harmless already, in at most `columns` columns.
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

/// As much of the beginning as fits.
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

/// As much of the end as fits.
fn tail(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let mut start = text.len();
    for (at, character) in text.char_indices().rev() {
        taken += character.width().unwrap_or(0);
        if taken > columns {
            break;
        }
        // A mark without its letter would sit on whatever stands before it.
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
    fn each_kind_of_text_gives_way_where_it_tells_least() {
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
    fn sessions_stay_distinguishable_by_server_and_by_number() {
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
    fn letters_that_join_are_cut_as_wide_as_they_are_alone() {
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

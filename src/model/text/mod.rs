//! Text for people: numbers, durations and times ([`human`]), and text from znodes and servers,
//! made safe and fitted into columns.
//!
//! The module is pure. Architecture invariant: text from a znode or a server reaches the terminal
//! only through [`fit()`], [`fit_bytes`], [`wrap_words`] or [`wrap_bytes`]. These escape what a
//! terminal would obey, what changes the direction of writing, and many combining marks on one
//! letter. They measure in columns, not in bytes.
//!
//! Text that is too long loses its end, its beginning or its middle. This does not use
//! `unicode-truncate`: that crate asserts in debug builds that a text is as wide as the sum of its
//! characters, which fails for Arabic and Lisu names. It also cannot keep both ends.
//!
//! An [HTML page](html_page) is self-contained: it loads and runs nothing, whatever its texts
//! contain.

pub mod human;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use lockscope_base::znode::{SessionId, escaped, escaped_bytes};

#[cfg(test)]
mod wrap_tests;

/// The characters that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// All of Unicode.
    Unicode,
    /// Only ASCII. Every other character is shown as an escape.
    Ascii,
}

impl Charset {
    /// Returns ASCII if `ascii` is set, otherwise Unicode.
    pub fn new(ascii: bool) -> Self {
        if ascii { Self::Ascii } else { Self::Unicode }
    }

    /// Returns the sign for left-out text, one column wide.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "~",
        }
    }
}

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
fn harmless(text: &str, charset: Charset) -> String {
    presentable(&escaped(text), charset)
}

/// Makes bytes safe for a terminal. Bytes that are not UTF-8 become escapes.
fn harmless_bytes(bytes: &[u8], charset: Charset) -> String {
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
fn head(text: &str, columns: usize) -> &str {
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

/// Minimum width of a line, since a wide character takes two columns.
const NARROWEST: usize = 2;

/// Makes a text safe for a terminal, and wraps it into lines of at most `columns` columns (at least
/// 2), at spaces where possible. An empty text is one empty line.
pub fn wrap_words(text: &str, columns: usize, charset: Charset) -> Vec<String> {
    let options = Options::new(columns.max(NARROWEST))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = harmless(text, charset);
    let lines = textwrap::wrap(text.trim_matches(' '), options);
    lines.into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// Makes bytes safe for a terminal, and breaks them into lines of at most `columns` columns (at
/// least 2), anywhere. No bytes are no line.
pub fn wrap_bytes(bytes: &[u8], columns: usize, charset: Charset) -> Vec<String> {
    let text = harmless_bytes(bytes, charset);
    let mut lines = Vec::new();
    let mut rest = &*text;
    while !rest.is_empty() {
        // Spaces are kept: each is a byte of the data.
        let (line, after) = rest.split_at(head(rest, columns.max(NARROWEST)).len());
        lines.push(line.to_owned());
        rest = after;
    }
    lines
}

/// The alignment of a cell in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left, for words.
    Left,
    /// To the right, for numbers.
    Right,
}

/// Returns a line for each row, with two spaces between columns and none at the end. The cells must
/// be free of control characters.
///
/// ```
/// use lockscope_model::text::{Align, columns};
///
/// let rows = [["LOCK", "WAIT"].map(str::to_owned), ["/locks/a", "7"].map(str::to_owned)];
/// assert_eq!(columns(&rows, [Align::Left, Align::Right]), "LOCK      WAIT\n/locks/a     7\n");
/// ```
pub fn columns<const N: usize>(rows: &[[impl AsRef<str>; N]], align: [Align; N]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.as_ref().width());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), align) in row.iter().zip(widths).zip(align) {
            let cell = cell.as_ref();
            // `format!` would pad by characters, but a character may be two columns wide.
            let gap = " ".repeat(width - cell.width());
            match align {
                Align::Left => line.extend([cell, &gap, "  "]),
                Align::Right => line.extend([&gap, cell, "  "]),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Forbids loading and scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Returns the page as the text of a file. `maud` escapes titles and bodies. `rules` is trusted
/// CSS.
pub fn html_page(title: &str, rules: &str, body: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without an icon, a browser would request one from the server.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(rules)) }
            }
            body { (body) }
        }
    };
    document.into_string() + "\n"
}

/// Rounds a place in a picture to a tenth of a pixel.
pub fn tenth(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// Converts a number of things in a picture, to calculate places.
#[expect(clippy::cast_precision_loss, reason = "a pixel is coarser than the rounding")]
pub fn whole(number: usize) -> f64 {
    number as f64
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

    #[test]
    fn cells_are_aligned_by_the_columns_that_they_take() {
        let rows = [["锁", "1", ""], ["a", "20", "all"]];
        assert_eq!(columns(&rows, [Align::Left, Align::Right, Align::Left]), "锁   1\na   20  all\n");
        assert_eq!(columns::<1>(&[] as &[[&str; 1]], [Align::Left]), "");
    }
}

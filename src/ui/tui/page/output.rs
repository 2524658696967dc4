//! The output of a command of the config file, and the question before one is run.

use super::{Columns, Line, Page, Sign, Tone, Writer};
use lockscope_model::text::{Charset, wrap_bytes};

/// Columns between two stops of a tab.
const TAB: usize = 8;

/// The state of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    /// It still runs; with the key that stops it.
    Running(&'a str),
    /// It ended; a sentence.
    Well(&'a str),
    /// It failed or was stopped; a sentence.
    Badly(&'a str),
}

/// Returns a line of the output, wrapped to `columns` columns and escaped for a terminal. Spaces
/// are kept, because they are the layout of a report.
pub fn wrapped(line: &[u8], columns: usize, charset: Charset) -> Vec<Line> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut pieces = wrap_bytes(&without_tabs(line), columns, charset);
    if pieces.is_empty() {
        pieces.push(String::new());
    }
    pieces.into_iter().map(|text| Line { sign: None, label: None, text, tone: Tone::Text, rest: None }).collect()
}

fn without_tabs(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    for byte in line {
        if *byte == b'\t' {
            plain.resize(plain.len() + TAB - plain.len() % TAB, b' ');
        } else {
            plain.push(*byte);
        }
    }
    plain
}

/// Writes the page: what was run, its output, and how it ended. `left_out` is the number of bytes
/// beyond the limit.
pub fn page(mut page: Writer, name: &str, shown: &str, output: &[Line], left_out: u64, ending: Ending<'_>) -> Page {
    page.add(None, None, shown, Tone::Dim);
    page.blank();
    for line in output {
        page.push(line.clone());
    }
    if left_out > 0 {
        let text = format!("The output is too long: {left_out} more bytes were left out.");
        page.add(Some(Sign::Warning), None, &text, Tone::Careful);
    }
    let state = match ending {
        Ending::Running(stop) => {
            page.add(Some(Sign::Busy), None, &format!("It runs; {stop} stops it."), Tone::Dim);
            ("runs", Tone::Text)
        }
        Ending::Well(text) => {
            page.add(Some(Sign::Done), None, text, Tone::Dim);
            ("ended", Tone::Dim)
        }
        Ending::Badly(text) => {
            page.add(Some(Sign::Bad), None, text, Tone::Bad);
            ("failed", Tone::Bad)
        }
    };
    let mut page = Page::new(format!("Output of {name}"), Columns::SIGNS, page.lines());
    page.title.push((state.0.to_owned(), state.1));
    page
}

/// Writes the page before anything was run.
pub fn nothing(mut page: Writer) -> Page {
    page.sentence("No command of the config file has run in a pane yet: Help lists them.", Tone::Text);
    Page::new("Output", Columns::SIGNS, page.lines())
}

/// Writes the question before a command is run. `writer` makes a writer for the page.
pub fn question(writer: impl Fn() -> Writer, name: &str, shown: &str, of_past: bool, [yes, no]: [&str; 2]) -> Page {
    let (mut text, mut below) = (writer(), writer());
    text.sentence(shown, Tone::Strong);
    if of_past {
        text.add(
            Some(Sign::Warning),
            None,
            "The values are of an earlier moment, which the screen shows: the client may be gone.",
            Tone::Careful,
        );
    }
    below.add(Some(Sign::Ask), None, &format!("{yes} runs it, {no} does not."), Tone::Ask);
    Page { answers: below.lines(), ..Page::new(format!("Run {name}?"), Columns::SIGNS, text.lines()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &[u8], columns: usize) -> Vec<String> {
        wrapped(line, columns, Charset::Unicode).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn output_keeps_its_layout_and_is_escaped() {
        assert_eq!(texts(b"\tat a.B\r", 40), ["        at a.B"]);
        assert_eq!(texts(b"ab\tc", 40), ["ab      c"]);
        assert_eq!(texts(b"", 40), [""]);
        assert_eq!(texts(b"abcdef", 4), ["abcd", "ef"]);
        assert_eq!(texts(b"\x1b]0;owned\x07\xff", 40), ["\\u{1b}]0;owned\\u{7}\\xff"]);
    }
}

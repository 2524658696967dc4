//! Help, and the programs of the config file that it lists: the question before one is run, and its
//! output.
//!
//! Help has the keys, and the words of the screens that need an explanation.

use super::{Columns, Line, Page, PageWriter, Sign, Tone};
use lockscope_model::text::{Charset, Keep, fit, width, wrap_bytes};

/// The columns of Help. The labels are keys and words.
pub const COLUMNS: Columns = Columns { signs: false, label: 17, label_tone: Tone::Ask };

/// Columns of a command's name.
const NAME_WIDTH: usize = 18;

/// Minimum columns of the page at which the names show.
const MIN_WIDTH_WITH_NAMES: usize = 58;

/// A command as listed in Help.
#[derive(Clone, Debug)]
pub struct CommandHelp {
    /// The keys, as shown.
    pub keys: String,
    /// The name with its argument, such as `:filter TEXT`.
    pub name: String,
    pub help: String,
}

/// The words of the screens that need an explanation.
const WORDS: &[(&str, &str)] = &[
    ("at least", "Before a time: the lock was held at least this long"),
    ("at most", "Before a time: the lock was held at most this long"),
    ("unknown", "Not everything is read yet: the holder is not known"),
    ("silent", "Not heard from for half its timeout: it may expire soon"),
    ("waits for", "Its predecessor: the node directly ahead of it"),
    ("expiring", "Its session has no connection: the node goes with it"),
    ("ghost", "Its session is gone, and its node is still there"),
    ("gone", "Released by its client, or deleted by another: ZooKeeper does not say which"),
    ("live 2/3", "How many of the servers report everything ({servers})"),
    ("herd-style", "Watch events when every waiter watches the lock parent"),
    ("chain-style", "Watch events when each waiter watches its predecessor"),
    ("[WHO]", "A test client: its number, or holder; else the selected one"),
    ("frozen", "A test client that is stopped and notices nothing"),
    ("mouse", "With --mouse: press to select, press again to open"),
];

/// Columns of a key and its word.
const KEY_WIDTH: usize = 24;

/// Writes the keys of the screen from which Help was opened, several in a line.
pub fn write_keys(page: &mut PageWriter, screen: &str, keys: &[(String, &str)]) {
    if keys.is_empty() {
        return;
    }
    page.sentence(&format!("Keys of {screen}"), Tone::Strong);
    let columns = (page.text_columns() / KEY_WIDTH).max(1);
    let lines = keys.len().div_ceil(columns);
    for line in 0..lines {
        let mut cells = keys.iter().skip(line).step_by(lines).map(|(key, word)| {
            let padding = " ".repeat(KEY_LABEL.saturating_sub(width(key)));
            format!("  {key}{padding} {word}")
        });
        let mut text = cells.next().unwrap_or_default();
        let mut before = KEY_WIDTH;
        for cell in cells {
            text = text.clone() + &" ".repeat(before.saturating_sub(width(&text))) + &cell;
            before += KEY_WIDTH;
        }
        page.push(Line { sign: None, label: None, text, tone: Tone::Text, rest: None });
    }
    page.blank();
}

/// Columns of a key before its word.
const KEY_LABEL: usize = 6;

/// Writes all of Help: commands below their headings, then words. `fill` puts keys in place of the
/// names of commands in braces.
pub fn write_help<'a>(
    page: &mut PageWriter,
    groups: impl IntoIterator<Item = (&'a str, Vec<CommandHelp>)>,
    fill: impl Fn(&str) -> String,
) {
    for (title, commands) in groups {
        page.sentence(title, Tone::Strong);
        for CommandHelp { keys, name, help } in commands {
            if page.text_columns() < MIN_WIDTH_WITH_NAMES {
                page.fact(&format!("  {keys}"), &help, Tone::Text);
                continue;
            }
            let name = format!("{name:<NAME_WIDTH$}");
            let help = fit(&help, page.text_columns().saturating_sub(width(&name)), Keep::Start, page.charset());
            let rest = Some((help, Tone::Text));
            page.push(Line { sign: None, label: Some(format!("  {keys}")), text: name, tone: Tone::Dim, rest });
        }
        page.blank();
    }
    page.sentence("Words", Tone::Strong);
    let [at_least, at_most] = match page.charset() {
        Charset::Unicode => ["≥", "≤"],
        Charset::Ascii => [">=", "<="],
    };
    for (word, meaning) in WORDS {
        let word = match *word {
            "at least" => at_least,
            "at most" => at_most,
            word => word,
        };
        page.fact(&format!("  {word}"), &fill(meaning), Tone::Text);
    }
}

/// Columns between two stops of a tab.
const TAB: usize = 8;

/// The state of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnding<'a> {
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
pub fn page(
    mut page: PageWriter,
    name: &str,
    shown: &str,
    output: &[Line],
    left_out: u64,
    ending: ProgramEnding<'_>,
) -> Page {
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
        ProgramEnding::Running(stop) => {
            page.add(Some(Sign::Busy), None, &format!("It runs; {stop} stops it."), Tone::Dim);
            ("runs", Tone::Text)
        }
        ProgramEnding::Well(text) => {
            page.add(Some(Sign::Done), None, text, Tone::Dim);
            ("ended", Tone::Dim)
        }
        ProgramEnding::Badly(text) => {
            page.add(Some(Sign::Bad), None, text, Tone::Bad);
            ("failed", Tone::Bad)
        }
    };
    let mut page = Page::new(format!("Output of {name}"), Columns::SIGNS, page.lines());
    page.title.push((state.0.to_owned(), state.1));
    page
}

/// Writes the page before anything was run.
pub fn nothing(mut page: PageWriter) -> Page {
    page.sentence("No command of the config file has run in a pane yet: Help lists them.", Tone::Text);
    Page::new("Output", Columns::SIGNS, page.lines())
}

/// Writes the question before a command is run. `writer` makes a writer for the page.
pub fn question(writer: impl Fn() -> PageWriter, name: &str, shown: &str, of_past: bool, [yes, no]: [&str; 2]) -> Page {
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

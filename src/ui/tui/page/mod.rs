//! Text pages as data: lines with a label, a text, a tone and a sign, fitted to a width. Pure.
//!
//! ```text
//! border, space, [sign, space,] label, text, space, border
//! ```
//!
//! A page is a function that takes plain values and writes lines with a [`PageWriter`]. Pages that
//! are read together share a file. `app::pages` decides which pages show and where, and `view`
//! draws all of them. A page therefore knows neither the app nor a terminal, and the room for text
//! is computed only here.

pub mod banner;
pub mod below_lists;
pub mod deletion;
pub mod details;
pub mod entries;
pub mod help;
pub mod node;
pub mod servers;
pub mod session;
pub mod test_clients;

use lockscope_model::text::{Charset, Keep, fit, wrap_words};

/// Lines, and columns, of a box's two borders.
pub const BORDER: u16 = 2;

/// The role of a text, from which the view takes its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A plain fact.
    Text,
    /// The subject.
    Strong,
    /// A detail of little interest.
    Dim,
    /// An unknown or outdated fact.
    Unsure,
    /// A reason for caution.
    Careful,
    /// A fault.
    Bad,
    /// A request to the user, such as keys.
    Ask,
    /// The name of a fact.
    Label,
}

/// The sign before the first line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// All is well.
    Good,
    /// The action was done.
    Done,
    /// The action is under way.
    Busy,
    /// Information.
    Info,
    /// A warning.
    Warning,
    /// A fault.
    Bad,
    /// A question to the user, or what to press.
    Ask,
}

/// A line, escaped for the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The sign, on the first line of a text only.
    pub sign: Option<Sign>,
    /// The label, empty on continued lines; `None` for a sentence over the whole width.
    pub label: Option<String>,
    pub text: String,
    pub tone: Tone,
    /// A text that follows in another tone.
    pub rest: Option<(String, Tone)>,
}

/// The columns of a page's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Whether there is a column for signs.
    pub signs: bool,
    /// Columns of the labels; 0 for a page without labels.
    pub label: usize,
    /// The tone of the labels.
    pub label_tone: Tone,
}

impl Columns {
    /// The columns of plain sentences.
    pub const TEXT: Self = Self { signs: false, label: 0, label_tone: Tone::Label };
    /// The columns of sentences that may begin with a sign.
    pub const SIGNS: Self = Self { signs: true, ..Self::TEXT };
    /// The columns of labelled facts.
    pub const FACTS: Self = Self { label: 11, ..Self::TEXT };
    /// The columns of labelled facts that may begin with a sign.
    pub const SIGNED_FACTS: Self = Self { signs: true, label: 10, label_tone: Tone::Label };

    /// Returns the room for labels and text in `columns` columns without the border. One space
    /// stays free at either end.
    pub fn room(self, columns: u16) -> usize {
        usize::from(columns).saturating_sub(if self.signs { 4 } else { 2 })
    }
}

/// Builds the lines of a page.
#[derive(Debug)]
pub struct PageWriter {
    lines: Vec<Line>,
    columns: Columns,
    room: usize,
    charset: Charset,
}

impl PageWriter {
    /// Creates a writer for a page whose inside is `width` columns wide.
    pub fn new(columns: Columns, width: u16, charset: Charset) -> Self {
        Self { lines: Vec::new(), columns, room: columns.room(width), charset }
    }

    /// Creates a writer for a page in a box that is `width` columns wide, border included.
    pub fn in_box(columns: Columns, width: u16, charset: Charset) -> Self {
        Self::new(columns, width.saturating_sub(BORDER), charset)
    }

    /// Returns the columns of a text after its label.
    pub fn text_columns(&self) -> usize {
        self.room.saturating_sub(self.columns.label)
    }

    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Adds a text in as many lines as it needs.
    pub fn add(&mut self, sign: Option<Sign>, label: Option<&str>, text: &str, tone: Tone) {
        let room = if label.is_some() { self.text_columns() } else { self.room };
        for (at, text) in wrap_words(text, room, self.charset).into_iter().enumerate() {
            let label = label.map(|label| if at == 0 { label.to_owned() } else { String::new() });
            self.lines.push(Line { sign: sign.filter(|_| at == 0), label, text, tone, rest: None });
        }
    }

    /// Adds a sentence over the whole width.
    pub fn sentence(&mut self, text: &str, tone: Tone) {
        self.add(None, None, text, tone);
    }

    /// Adds a fact in as many lines as it needs.
    pub fn fact(&mut self, label: &str, text: &str, tone: Tone) {
        self.add(None, Some(label), text, tone);
    }

    /// Adds a fact in one line, shortened where needed.
    pub fn line(&mut self, label: &str, text: &str, keep: Keep, tone: Tone) {
        let text = fit(text, self.text_columns(), keep, self.charset);
        self.harmless(label, text, tone);
    }

    /// Adds a line whose text is already escaped and fits.
    pub fn harmless(&mut self, label: &str, text: String, tone: Tone) {
        self.lines.push(Line { sign: None, label: Some(label.to_owned()), text, tone, rest: None });
    }

    /// Adds a line whose parts already fit.
    pub fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub fn blank(&mut self) {
        self.lines.push(Line { sign: None, label: None, text: String::new(), tone: Tone::Text, rest: None });
    }

    pub fn lines(self) -> Vec<Line> {
        self.lines
    }
}

/// The content of a box.
#[derive(Clone, Debug)]
pub struct Page {
    /// The parts of the title; the last ones are left out first.
    pub title: Vec<(String, Tone)>,
    pub columns: Columns,
    /// The lines that scroll.
    pub lines: Vec<Line>,
    /// The lines below them that always show.
    pub answers: Vec<Line>,
    /// Whether the page is outdated; it is then drawn dim.
    pub stale: bool,
}

impl Page {
    /// Creates a page whose title has one part.
    pub fn new(title: impl Into<String>, columns: Columns, lines: Vec<Line>) -> Self {
        Self { title: vec![(title.into(), Tone::Strong)], columns, lines, answers: Vec::new(), stale: false }
    }

    /// Returns the height at which nothing is hidden, border included.
    pub fn height(&self) -> u16 {
        u16::try_from(self.lines.len() + self.answers.len()).unwrap_or(u16::MAX).saturating_add(BORDER)
    }

    /// Returns how many of the scrolling lines show in a box of `height` lines.
    pub fn shown(&self, height: u16) -> usize {
        usize::from(height.saturating_sub(BORDER)).saturating_sub(self.answers.len())
    }
}

/// The scroll position of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll(usize);

impl Scroll {
    /// Scrolls by some lines, at most to `end`.
    pub fn step(&mut self, by: isize, end: usize) {
        self.0 = self.0.saturating_add_signed(by).min(end);
    }

    /// Scrolls to a line, at most to `end`.
    pub fn go(&mut self, line: usize, end: usize) {
        self.0 = line.min(end);
    }

    /// Returns the first visible line. The page may have become shorter since the last call.
    pub fn top(self, end: usize) -> usize {
        self.0.min(end)
    }
}

/// Whether the keys scroll a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The page is alone on the screen and has the keys.
    Alone,
    /// The page has the keys; other parts of the screen do not.
    Here,
    /// The page gets the keys only after Tab.
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_has_one_label_and_one_sign() {
        let mut page = PageWriter::in_box(Columns::SIGNED_FACTS, 24, Charset::Unicode);
        page.add(Some(Sign::Warning), Some("careful"), "one two three", Tone::Careful);
        page.sentence("one two three four", Tone::Text);
        let shown: Vec<_> = page.lines().into_iter().map(|line| (line.sign, line.label, line.text)).collect();
        let labelled = |sign, label: &str, text: &str| (sign, Some(label.to_owned()), text.to_owned());
        assert_eq!(
            shown,
            [
                labelled(Some(Sign::Warning), "careful", "one two"),
                labelled(None, "", "three"),
                (None, None, "one two three four".to_owned()),
            ]
        );
    }

    #[test]
    fn scrolling_ends_at_the_last_line() {
        let mut page = PageWriter::new(Columns::TEXT, 20, Charset::Unicode);
        (0..10).for_each(|_| page.sentence("line", Tone::Text));
        let page = Page::new("Ten lines", Columns::TEXT, page.lines());
        let end = page.lines.len() - page.shown(6);
        assert_eq!((page.height(), end), (12, 6));
        let mut scroll = Scroll::default();
        scroll.step(-1, end);
        assert_eq!(scroll.top(end), 0);
        scroll.step(isize::MAX / 2, end);
        assert_eq!(scroll.top(end), 6);
        scroll.step(-1, end);
        assert_eq!((scroll.top(end), scroll.top(2)), (5, 2), "a page that became shorter still shows its end");
    }
}

//! Text pages as data: lines with a label, a text, a tone and a sign, made to fit so many columns. Pure.
//!
//! ```text
//! border, space, [sign, space,] label, text, space, border
//! ```
//!
//! A page is one file: a function that takes plain values and writes lines with a [`Writer`]. `app::pages` says which pages
//! show and where; `view::page` draws all of them. So a page knows neither the app nor a terminal, and how much room is
//! left for text is said here alone.

pub mod audit_entry;
pub mod banner;
pub mod caption;
pub mod contend_prompt;
pub mod deletion;
pub mod details;
pub mod findings;
pub mod help;
pub mod history_entry;
pub mod lately;
pub mod node;
pub mod overlaps;
pub mod servers;
pub mod session;
pub mod timeline_entry;
pub mod unreadable;
pub mod unseen;

use lockscope_model::text::{Charset, Keep, fit, wrap_words};

/// Lines, and columns, of a box's border.
pub const BORDER: u16 = 2;

/// How a text is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A fact.
    Text,
    /// What it is about.
    Strong,
    /// What may be overlooked.
    Dim,
    /// What is not known, or not true any more.
    Unsure,
    /// Something to be careful about.
    Careful,
    /// Something that is wrong.
    Bad,
    /// What to do now: keys.
    Ask,
    /// The name of a fact.
    Label,
}

/// What stands before the first line of what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// As it should be.
    Good,
    /// It was done.
    Done,
    /// Under way.
    Busy,
    /// Worth knowing.
    Info,
    /// Something to be careful about.
    Warning,
    /// Something that is wrong.
    Bad,
    /// Something to answer.
    Ask,
}

/// One line, harmless to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What stands before it, on the first line of what is said.
    pub sign: Option<Sign>,
    /// Its label, empty where the line before goes on; `None` for a sentence over the whole width.
    pub label: Option<String>,
    pub text: String,
    pub tone: Tone,
    /// What stands behind the text, to be read in another tone.
    pub rest: Option<(String, Tone)>,
}

/// Which columns the lines of a page have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Whether there is room for a sign.
    pub signs: bool,
    /// Columns of the label; 0 where there are none.
    pub label: usize,
    /// How the labels are to be read.
    pub label_tone: Tone,
}

impl Columns {
    /// Sentences.
    pub const TEXT: Self = Self { signs: false, label: 0, label_tone: Tone::Label };
    /// Sentences that begin with a sign.
    pub const SIGNS: Self = Self { signs: true, ..Self::TEXT };
    /// Facts, each with its name.
    pub const FACTS: Self = Self { label: 11, ..Self::TEXT };
    /// Facts that may begin with a sign.
    pub const SIGNED_FACTS: Self = Self { signs: true, label: 10, label_tone: Tone::Label };

    /// The room for labels and text in so many columns, the border left out: a space stands at either end.
    pub fn room(self, columns: u16) -> usize {
        usize::from(columns).saturating_sub(if self.signs { 4 } else { 2 })
    }
}

/// Makes the lines of a page.
#[derive(Debug)]
pub struct Writer {
    lines: Vec<Line>,
    columns: Columns,
    room: usize,
    charset: Charset,
}

impl Writer {
    /// For a page that is `width` columns wide, its border left out.
    pub fn new(columns: Columns, width: u16, charset: Charset) -> Self {
        Self { lines: Vec::new(), columns, room: columns.room(width), charset }
    }

    /// For a page in a box that is `width` columns wide.
    pub fn in_box(columns: Columns, width: u16, charset: Charset) -> Self {
        Self::new(columns, width.saturating_sub(BORDER), charset)
    }

    /// The columns of a text behind a label.
    pub fn text_columns(&self) -> usize {
        self.room.saturating_sub(self.columns.label)
    }

    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// A text in as many lines as it needs.
    pub fn add(&mut self, sign: Option<Sign>, label: Option<&str>, text: &str, tone: Tone) {
        let room = if label.is_some() { self.text_columns() } else { self.room };
        for (at, text) in wrap_words(text, room, self.charset).into_iter().enumerate() {
            let label = label.map(|label| if at == 0 { label.to_owned() } else { String::new() });
            self.lines.push(Line { sign: sign.filter(|_| at == 0), label, text, tone, rest: None });
        }
    }

    /// A sentence over the whole width.
    pub fn sentence(&mut self, text: &str, tone: Tone) {
        self.add(None, None, text, tone);
    }

    /// A fact in as many lines as it needs.
    pub fn fact(&mut self, label: &str, text: &str, tone: Tone) {
        self.add(None, Some(label), text, tone);
    }

    /// A fact in one line, however long it is.
    pub fn line(&mut self, label: &str, text: &str, keep: Keep, tone: Tone) {
        let text = fit(text, self.text_columns(), keep, self.charset);
        self.harmless(label, text, tone);
    }

    /// A line of text that is harmless and fits already.
    pub fn harmless(&mut self, label: &str, text: String, tone: Tone) {
        self.lines.push(Line { sign: None, label: Some(label.to_owned()), text, tone, rest: None });
    }

    /// A line of several parts that fit already.
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

/// A text in a box.
#[derive(Clone, Debug)]
pub struct Page {
    /// Parts of the title; the last ones give way when there is no room.
    pub title: Vec<(String, Tone)>,
    pub columns: Columns,
    /// What can be scrolled.
    pub lines: Vec<Line>,
    /// What always shows below it.
    pub answers: Vec<Line>,
    /// Whether it is not true any more: then it is drawn dim.
    pub stale: bool,
}

impl Page {
    /// A page of one title.
    pub fn new(title: impl Into<String>, columns: Columns, lines: Vec<Line>) -> Self {
        Self { title: vec![(title.into(), Tone::Strong)], columns, lines, answers: Vec::new(), stale: false }
    }

    /// How many lines of the terminal show all of it.
    pub fn height(&self) -> u16 {
        u16::try_from(self.lines.len() + self.answers.len()).unwrap_or(u16::MAX).saturating_add(BORDER)
    }

    /// How many lines show, of those that can be scrolled, in a box of so many lines.
    pub fn shown(&self, height: u16) -> usize {
        usize::from(height.saturating_sub(BORDER)).saturating_sub(self.answers.len())
    }
}

/// How far a page is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll(usize);

impl Scroll {
    /// Goes on by some lines, as far as `end`.
    pub fn step(&mut self, by: isize, end: usize) {
        self.0 = self.0.saturating_add_signed(by).min(end);
    }

    /// Goes to a line, as far as `end`.
    pub fn go(&mut self, line: usize, end: usize) {
        self.0 = line.min(end);
    }

    /// The first line that shows. The page may have become shorter since.
    pub fn top(self, end: usize) -> usize {
        self.0.min(end)
    }
}

/// Whether the keys scroll a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// They do: it is alone on the screen.
    Alone,
    /// They do, and not the others that show.
    Here,
    /// Not before Tab.
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_goes_on_has_one_label_and_one_sign() {
        let mut page = Writer::in_box(Columns::SIGNED_FACTS, 24, Charset::Unicode);
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
    fn scrolling_ends_where_the_last_line_shows() {
        let mut page = Writer::new(Columns::TEXT, 20, Charset::Unicode);
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

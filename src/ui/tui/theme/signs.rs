//! The signs of the screens, in Unicode and in ASCII.

use ratatui::symbols::border;

use lockscope_model::diagnose::Severity;
use lockscope_model::text::Charset;

/// A set of signs.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// The characters that text may contain.
    pub charset: Charset,
    /// A holder; a live connection.
    pub holds: &'static str,
    pub waits: &'static str,
    pub unknown: &'static str,
    pub bad: &'static str,
    /// A recovery; a sound state.
    pub good: &'static str,
    /// A waiter that watches nothing.
    pub nothing: &'static str,
    /// A waiter that watches the parent.
    pub herd: &'static str,
    pub info: &'static str,
    pub busy: &'static str,
    pub warning: &'static str,
    /// Precedes the selected row.
    pub cursor: &'static str,
    /// Marks a tagged row.
    pub tag: &'static str,
    /// Leads from a waiter to the row right above.
    pub next: &'static str,
    /// Leads from a waiter to a row further up.
    pub far: &'static str,
    /// Continues a branch beside the rows below it.
    pub trunk: &'static str,
    /// Leads to a row that others follow.
    pub branch: &'static str,
    /// Leads to the last row.
    pub last_branch: &'static str,
    /// Leads back to the first row of a cycle.
    pub back: &'static str,
    /// A cell of a bar: filled and empty.
    pub bar: [&'static str; 2],
    /// Separates two words of a line.
    pub dot: &'static str,
    /// Ascending and descending order.
    pub order: [&'static str; 2],
    /// Ascending and descending order of the column that decides between equal rows.
    pub then_by: [&'static str; 2],
    /// More rows above, more rows below.
    pub more: [&'static str; 2],
    /// The levels of a sparkline, from empty to full.
    pub levels: [&'static str; 9],
    /// A playing and a paused recording.
    pub play: [&'static str; 2],
    /// A gap in the recording.
    pub gap: &'static str,
    /// The shown time.
    pub here: &'static str,
    pub border: border::Set<'static>,
}

pub const UNICODE: Signs = Signs {
    charset: Charset::Unicode,
    holds: "●",
    waits: "○",
    unknown: "?",
    bad: "✖",
    good: "✓",
    nothing: "✗",
    herd: "~",
    info: "i",
    busy: "◌",
    warning: "!",
    cursor: "▸",
    tag: "◆",
    next: "╰─▶",
    far: "╰──▶",
    trunk: "│  ",
    branch: "├─ ",
    last_branch: "╰─ ",
    back: "╭▶ ",
    bar: ["█", "░"],
    dot: "·",
    order: ["▲", "▼"],
    then_by: ["△", "▽"],
    more: ["↑", "↓"],
    levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    play: ["▶", "■"],
    gap: "░",
    here: "┃",
    border: border::PLAIN,
};

pub const ASCII: Signs = Signs {
    charset: Charset::Ascii,
    holds: "*",
    waits: "o",
    unknown: "?",
    bad: "x",
    good: "+",
    nothing: "x",
    herd: "~",
    info: "i",
    busy: "~",
    warning: "!",
    cursor: ">",
    tag: "+",
    next: "`->",
    far: "`-->",
    trunk: "|  ",
    branch: "|- ",
    last_branch: "`- ",
    back: ",> ",
    bar: ["#", "-"],
    dot: "-",
    order: ["^", "v"],
    then_by: ["'", ","],
    more: ["^", "v"],
    levels: [" ", ".", ":", "-", "=", "+", "*", "%", "#"],
    play: [">", "="],
    gap: "/",
    here: "|",
    border: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
};

impl Signs {
    pub fn severity(&self, severity: Severity) -> &'static str {
        match severity {
            Severity::Critical => self.bad,
            Severity::Warning => self.warning,
            Severity::Info => self.info,
        }
    }
}

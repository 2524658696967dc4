//! The signs of the screens, with or without Unicode.

use ratatui::symbols::border;

use lockscope_model::diagnose::Severity;
use lockscope_model::text::Charset;

/// The signs, with or without Unicode.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// Which characters text may have.
    pub charset: Charset,
    /// Holds; live.
    pub holds: &'static str,
    pub waits: &'static str,
    pub unknown: &'static str,
    pub bad: &'static str,
    /// Right again; as it should be.
    pub good: &'static str,
    /// Watches nothing.
    pub nothing: &'static str,
    /// Watches the parent.
    pub herd: &'static str,
    pub info: &'static str,
    pub busy: &'static str,
    pub warning: &'static str,
    /// Before the selected row.
    pub cursor: &'static str,
    /// Beside a tagged row.
    pub tag: &'static str,
    /// From a waiter to the row right above it.
    pub next: &'static str,
    /// From a waiter to a row further up.
    pub far: &'static str,
    /// Beside what stands below a branch that is followed by another.
    pub trunk: &'static str,
    /// To one that is followed by another.
    pub branch: &'static str,
    /// To the last.
    pub last_branch: &'static str,
    /// Back to the first of a cycle.
    pub back: &'static str,
    /// A cell of a bar: full, and drained.
    pub bar: [&'static str; 2],
    /// Between two words of a line.
    pub dot: &'static str,
    /// Sorted with small ones first, and with large ones first.
    pub order: [&'static str; 2],
    /// The same of what decides between equal rows.
    pub then_by: [&'static str; 2],
    /// More above, more below.
    pub more: [&'static str; 2],
    /// Levels of a sparkline, from nothing to full.
    pub levels: [&'static str; 9],
    /// A recording that plays, and one that stands still.
    pub play: [&'static str; 2],
    /// A time of which nothing is known.
    pub gap: &'static str,
    /// The moment that is shown.
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

//! Colours and signs. Nothing is said by colour alone: whatever has a colour has a sign or a word too.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

use crate::diagnose::Severity;
use crate::text::Charset;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum ThemeName {
    /// The terminal's own sixteen colours, whether it is light or dark.
    #[default]
    Terminal,
    /// No colours: bold, dim and reverse only. Also chosen by `NO_COLOR`.
    Mono,
    /// Bright colours on black, nothing dim.
    Contrast,
    /// Soft colours for a dark terminal that knows all of them (`COLORTERM=truecolor`).
    Night,
}

/// The styles of what means something.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    pub text: Style,
    /// What matters most on the screen.
    pub strong: Style,
    /// What may be overlooked.
    pub dim: Style,
    pub title: Style,
    pub border: Style,
    /// The border of the pane that has the keys.
    pub focus: Style,
    /// The name of the program, and keys in the footer.
    pub accent: Style,
    /// A holder; a live connection.
    pub good: Style,
    /// A waiter; what costs.
    pub wait: Style,
    /// What is wrong.
    pub bad: Style,
    /// What is not known, or not true any more.
    pub unsure: Style,
    /// The selected row.
    pub selected: Style,
    /// A mark that must be seen: PAUSED.
    pub mark: Style,
    pub signs: Signs,
}

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

const UNICODE: Signs = Signs {
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
    more: ["↑", "↓"],
    levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    play: ["▶", "■"],
    gap: "░",
    here: "┃",
    border: border::PLAIN,
};

const ASCII: Signs = Signs {
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

/// On the terminal's own background, which is dark.
fn night(base: &Theme) -> Theme {
    let colour = |red, green, blue| Style::new().fg(Color::Rgb(red, green, blue));
    let faint = colour(120, 132, 170);
    Theme {
        text: colour(200, 208, 232),
        strong: colour(232, 236, 255).add_modifier(Modifier::BOLD),
        dim: faint,
        title: colour(130, 170, 255),
        border: colour(62, 72, 110),
        focus: colour(130, 170, 255),
        accent: colour(134, 225, 252).add_modifier(Modifier::BOLD),
        good: colour(140, 215, 140),
        wait: colour(255, 199, 119),
        bad: colour(255, 110, 120).add_modifier(Modifier::BOLD),
        unsure: colour(192, 153, 255),
        selected: Style::new().bg(Color::Rgb(44, 54, 92)),
        mark: Style::new().fg(Color::Rgb(24, 28, 48)).bg(Color::Rgb(255, 199, 119)).add_modifier(Modifier::BOLD),
        ..*base
    }
}

impl Signs {
    pub fn severity(&self, severity: Severity) -> &'static str {
        match severity {
            Severity::Critical => self.bad,
            Severity::Warning => self.warning,
            Severity::Info => self.info,
        }
    }
}

impl Theme {
    pub fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.bad,
            Severity::Warning => self.wait,
            Severity::Info => self.dim,
        }
    }

    pub fn new(name: ThemeName, ascii: bool) -> Self {
        let signs = if ascii { ASCII } else { UNICODE };
        let plain = Style::new();
        let mono = Self {
            text: plain,
            strong: plain.add_modifier(Modifier::BOLD),
            dim: plain.add_modifier(Modifier::DIM),
            title: plain.add_modifier(Modifier::DIM),
            border: plain.add_modifier(Modifier::DIM),
            focus: plain,
            accent: plain.add_modifier(Modifier::BOLD),
            good: plain,
            wait: plain,
            bad: plain.add_modifier(Modifier::BOLD),
            unsure: plain.add_modifier(Modifier::DIM),
            selected: plain.add_modifier(Modifier::REVERSED),
            mark: plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            signs,
        };
        match name {
            ThemeName::Mono => mono,
            ThemeName::Terminal => Self {
                focus: plain.fg(Color::Cyan),
                accent: plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
                good: plain.fg(Color::Green),
                wait: plain.fg(Color::Yellow),
                bad: plain.fg(Color::Red).add_modifier(Modifier::BOLD),
                unsure: plain.fg(Color::Magenta),
                // The colours of the row stay. White, since the text's own colour may be near to that of the tint.
                selected: plain.fg(Color::White).bg(Color::DarkGray),
                mark: plain.fg(Color::Yellow).add_modifier(Modifier::REVERSED | Modifier::BOLD),
                ..mono
            },
            ThemeName::Night => night(&mono),
            ThemeName::Contrast => {
                let on_black = |colour| plain.fg(colour).bg(Color::Black);
                let white = on_black(Color::White);
                Self {
                    text: white,
                    strong: white.add_modifier(Modifier::BOLD),
                    dim: white,
                    title: white.add_modifier(Modifier::BOLD),
                    border: white,
                    focus: on_black(Color::LightCyan).add_modifier(Modifier::BOLD),
                    accent: on_black(Color::LightCyan).add_modifier(Modifier::BOLD),
                    good: on_black(Color::LightGreen),
                    wait: on_black(Color::LightYellow),
                    bad: on_black(Color::LightRed).add_modifier(Modifier::BOLD),
                    unsure: on_black(Color::LightMagenta).add_modifier(Modifier::BOLD),
                    selected: plain.fg(Color::White).bg(Color::Blue),
                    mark: plain.fg(Color::Black).bg(Color::LightYellow).add_modifier(Modifier::BOLD),
                    signs,
                }
            }
        }
    }
}

//! Colours and signs. Nothing is expressed by colour alone: each colour comes with a sign or a
//! word.
//!
//! A theme's file has a name and words for each style of the [`Palette`]:
//!
//! ```toml
//! text = "#c9d1e8 on #1a1d27"
//! bad = "bold #ff7f88"
//! ```
//!
//! The [`Signs`] of the screens are Unicode or ASCII.

use std::ops::{Deref, Range};

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use toml::de::DeTable;

use lockscope_model::diagnose::{Finding, Severity};
use lockscope_model::text::Charset;

/// The built-in themes. Each is a file of the same form as a user's theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThemeName {
    /// Colours that are fitted to the terminal's own background, for light and dark terminals.
    #[default]
    Terminal,
    /// No colours: bold, dim, underlined and reversed only. Also chosen by `NO_COLOR`.
    Mono,
    /// Bright colours on black, nothing dim.
    Contrast,
    /// Soft colours on a dark ground.
    Dark,
    /// Dark colours on a light ground.
    Light,
    /// The colours of Okabe and Ito, which colour-blind users can tell apart.
    ColourBlind,
}

impl ThemeName {
    pub const ALL: [Self; 6] = [Self::Terminal, Self::Mono, Self::Contrast, Self::Dark, Self::Light, Self::ColourBlind];

    /// Returns the name on the command line and in the config file.
    pub fn id(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Mono => "mono",
            Self::Contrast => "contrast",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::ColourBlind => "colour-blind",
        }
    }

    /// Returns the built-in theme with this name. `night` is the old name of `dark`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "night" => Some(Self::Dark),
            name => Self::ALL.into_iter().find(|theme| theme.id() == name),
        }
    }

    /// Returns the text of the theme's file.
    pub fn text(self) -> &'static str {
        match self {
            Self::Terminal => include_str!("../../../assets/themes/terminal.toml"),
            Self::Mono => include_str!("../../../assets/themes/mono.toml"),
            Self::Contrast => include_str!("../../../assets/themes/contrast.toml"),
            Self::Dark => include_str!("../../../assets/themes/dark.toml"),
            Self::Light => include_str!("../../../assets/themes/light.toml"),
            Self::ColourBlind => include_str!("../../../assets/themes/colour-blind.toml"),
        }
    }

    /// Returns the styles.
    ///
    /// # Panics
    ///
    /// Never: a test reads every built-in theme.
    pub fn palette(self) -> Palette {
        Palette::read(self.text()).expect("built-in themes are well-formed: a test reads them")
    }
}

/// The styles and signs that a screen is drawn with. The styles are those of the [`Palette`].
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    palette: Palette,
    pub signs: Signs,
}

impl Deref for Theme {
    type Target = Palette;

    fn deref(&self) -> &Palette {
        &self.palette
    }
}

impl Theme {
    /// Creates a built-in theme in true colours.
    pub fn new(name: ThemeName, ascii: bool) -> Self {
        Self::of(name.palette(), ascii)
    }

    pub fn of(palette: Palette, ascii: bool) -> Self {
        Self { palette, signs: if ascii { ASCII } else { UNICODE } }
    }

    /// Returns the style of a finding, which is faint when somebody muted it.
    pub fn finding(&self, finding: &Finding) -> Style {
        if finding.muted.is_some() { self.dim } else { self.severity(finding.severity) }
    }

    pub fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.bad,
            Severity::Warning => self.wait,
            Severity::Info => self.dim,
        }
    }
}

/// The styles of a theme, named by their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// Plain text, with the background of the whole screen.
    pub text: Style,
    /// The most important text.
    pub strong: Style,
    /// Text of little interest.
    pub dim: Style,
    pub title: Style,
    pub border: Style,
    /// The border of the focused pane.
    pub focus: Style,
    /// The name of the program, and keys in the footer.
    pub accent: Style,
    /// A holder, or a live connection.
    pub good: Style,
    /// A waiter, or a cost.
    pub wait: Style,
    /// A fault.
    pub bad: Style,
    /// An unknown or outdated fact.
    pub unsure: Style,
    /// A match of a filter or a search.
    pub found: Style,
    /// The selected row.
    pub selected: Style,
    /// A mark that must be noticed, such as PAUSED.
    pub mark: Style,
}

/// Why a text is not a valid theme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct BadTheme {
    /// The place of the error, in bytes from the beginning.
    pub at: Range<usize>,
    /// The error, as a sentence without its full stop.
    pub problem: String,
}

impl Palette {
    /// Parses the text of a theme. A style that the text does not name is plain; the selected row
    /// and marks are reversed.
    pub fn read(text: &str) -> Result<Self, BadTheme> {
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        let mut palette = Self { selected: reversed, mark: reversed, ..Self::default() };
        let malformed = |error: toml::de::Error| BadTheme {
            at: error.span().unwrap_or(0..0),
            problem: error.message().replace('\n', " "),
        };
        let table = DeTable::parse(text).map_err(malformed)?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let wrong = |at: Range<usize>, problem: String| BadTheme { at, problem };
            let named = palette.styles().into_iter().find(|(known, _)| *known == &**name.get_ref());
            let Some((_, style)) = named else {
                let known = Self::default().styles().map(|(known, _)| known).join(", ");
                return Err(wrong(name.span(), format!("a theme has no style `{}`: it has {known}", name.get_ref())));
            };
            let said = value.get_ref().as_str().ok_or_else(|| {
                wrong(value.span(), format!("`{}` takes a text like \"bold #ff0000 on black\"", name.get_ref()))
            })?;
            *style = read_style(said).map_err(|problem| wrong(value.span(), problem))?;
        }
        Ok(palette)
    }

    /// Converts the colours to the 256 colours that all but the oldest terminals have.
    #[must_use]
    pub fn in_256_colours(mut self) -> Self {
        for (_, style) in self.styles() {
            (style.fg, style.bg) = (style.fg.map(nearest), style.bg.map(nearest));
        }
        self
    }

    /// Whether a style has a colour that the theme mixes itself.
    pub fn has_hues(mut self) -> bool {
        self.styles().iter().any(|(_, style)| matches!(style.fg, Some(Color::Rgb(..))))
    }

    /// Returns each style and its name in a file.
    pub fn styles(&mut self) -> [(&'static str, &mut Style); 14] {
        [
            ("text", &mut self.text),
            ("strong", &mut self.strong),
            ("dim", &mut self.dim),
            ("title", &mut self.title),
            ("border", &mut self.border),
            ("focus", &mut self.focus),
            ("accent", &mut self.accent),
            ("good", &mut self.good),
            ("wait", &mut self.wait),
            ("bad", &mut self.bad),
            ("unsure", &mut self.unsure),
            ("found", &mut self.found),
            ("selected", &mut self.selected),
            ("mark", &mut self.mark),
        ]
    }
}

/// Parses a style such as `bold #ff0000 on black`.
fn read_style(said: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut words = said.split_whitespace();
    while let Some(word) = words.next() {
        let colour = |word: &str| {
            let known = word.parse::<Color>().ok();
            known.ok_or_else(|| {
                format!("`{word}` is not a colour: write #rrggbb, a number up to 255, or a name like red or lightblue")
            })
        };
        style = match word {
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underlined" => style.add_modifier(Modifier::UNDERLINED),
            "reversed" => style.add_modifier(Modifier::REVERSED),
            "on" => style.bg(colour(words.next().unwrap_or_default())?),
            word => style.fg(colour(word)?),
        };
    }
    Ok(style)
}

/// Returns the nearest of the 256 colours, from the cube and the greys. Named colours stay.
pub fn nearest(colour: Color) -> Color {
    let Color::Rgb(red, green, blue) = colour else { return colour };
    let distance = |index: &u8| {
        let (r, g, b) = of_index(*index);
        let part = |one: u8, other: u8| u32::from(one.abs_diff(other)).pow(2);
        part(r, red) + part(g, green) + part(b, blue)
    };
    Color::Indexed((16..=255).min_by_key(distance).unwrap_or(15))
}

/// Returns the colour that xterm shows for an index from 16 on.
pub fn of_index(index: u8) -> (u8, u8, u8) {
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    if index >= 232 {
        let grey = 8 + (index - 232) * 10;
        return (grey, grey, grey);
    }
    let at = index.saturating_sub(16);
    (level(at / 36), level(at / 6 % 6), level(at % 6))
}

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
    /// A cell of a bar in a row, lower than the row.
    pub cell: &'static str,
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
    /// The border of the pane that has the focus.
    pub focused: border::Set<'static>,
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
    cell: "▇",
    dot: "·",
    order: ["▲", "▼"],
    then_by: ["△", "▽"],
    more: ["↑", "↓"],
    levels: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    play: ["▶", "■"],
    gap: "░",
    here: "┃",
    border: border::PLAIN,
    focused: border::THICK,
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
    cell: "#",
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
    focused: border::Set {
        top_left: "#",
        top_right: "#",
        bottom_left: "#",
        bottom_right: "#",
        vertical_left: "#",
        vertical_right: "#",
        horizontal_top: "=",
        horizontal_bottom: "=",
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

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    #[test]
    fn every_built_in_theme_is_well_formed_and_known_by_its_name() {
        for name in ThemeName::ALL {
            assert_ne!(name.palette(), Palette::default());
            assert_eq!(ThemeName::named(name.id()), Some(name));
        }
        assert_eq!(ThemeName::named("night"), Some(ThemeName::Dark));
        assert_eq!(ThemeName::named("pink"), None);
    }

    #[test]
    fn a_style_is_parsed_word_by_word() {
        let expected = Style::new().fg(Color::Rgb(255, 0, 0)).bg(Color::Black).add_modifier(Modifier::BOLD);
        assert_eq!(read_style("bold #ff0000 on black"), Ok(expected));
        assert_eq!(read_style(""), Ok(Style::new()));
        assert_eq!(read_style("on 238").map(|style| style.bg), Ok(Some(Color::Indexed(238))));
    }

    #[test]
    fn an_error_in_a_theme_is_reported_with_its_place() {
        for (text, at, part) in [
            ("text = 'red'\nbody = 'red'", "body", "has no style `body`"),
            ("text = 'pinkish'", "'pinkish'", "`pinkish` is not a colour"),
            ("text = 'red on'", "'red on'", "is not a colour"),
            ("text = 7", "7", "takes a text"),
            ("text = ", "", ""),
        ] {
            let error = Palette::read(text).unwrap_err();
            assert!(error.problem.contains(part) && !error.problem.contains('\n'), "{error}");
            assert!(text[error.at.clone()].contains(at), "{error}");
        }
    }

    #[test]
    fn a_colour_becomes_the_nearest_of_the_cube_or_the_greys() {
        assert_eq!(nearest(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(nearest(Color::Rgb(118, 118, 118)), Color::Indexed(243));
        assert_eq!(nearest(Color::Red), Color::Red);
        assert!(
            (16..=255)
                .all(|index| nearest(Color::Rgb(of_index(index).0, of_index(index).1, of_index(index).2))
                    != Color::Reset)
        );
    }
}

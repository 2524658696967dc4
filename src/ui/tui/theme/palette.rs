//! The styles of a theme as in its file: a name, and words that describe the style.
//!
//! ```toml
//! text = "#c9d1e8 on #1a1d27"
//! bad = "bold #ff7f88"
//! ```

use std::ops::Range;

use ratatui::style::{Color, Modifier, Style};
use toml::de::DeTable;

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

/// The names of the styles in a file.
pub const STYLES: [&str; 14] = [
    "text", "strong", "dim", "title", "border", "focus", "accent", "good", "wait", "bad", "unsure", "found",
    "selected", "mark",
];

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
            let style = palette.style_mut(name.get_ref()).ok_or_else(|| {
                let known = STYLES.join(", ");
                wrong(name.span(), format!("a theme has no style `{}`: it has {known}", name.get_ref()))
            })?;
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
        for name in STYLES {
            if let Some(style) = self.style_mut(name) {
                (style.fg, style.bg) = (style.fg.map(nearest), style.bg.map(nearest));
            }
        }
        self
    }

    fn style_mut(&mut self, name: &str) -> Option<&mut Style> {
        Some(match name {
            "text" => &mut self.text,
            "strong" => &mut self.strong,
            "dim" => &mut self.dim,
            "title" => &mut self.title,
            "border" => &mut self.border,
            "focus" => &mut self.focus,
            "accent" => &mut self.accent,
            "good" => &mut self.good,
            "wait" => &mut self.wait,
            "bad" => &mut self.bad,
            "unsure" => &mut self.unsure,
            "found" => &mut self.found,
            "selected" => &mut self.selected,
            "mark" => &mut self.mark,
            _ => return None,
        })
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
fn nearest(colour: Color) -> Color {
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

#[cfg(test)]
mod tests {
    use super::*;

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

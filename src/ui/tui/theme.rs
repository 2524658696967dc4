//! Colours and signs. Nothing is expressed by colour alone: each colour comes with a sign or a
//! word.

mod palette;
mod signs;

use std::ops::Deref;

use ratatui::style::Style;

pub use self::palette::{BadTheme, Palette};
pub use self::signs::Signs;
use self::signs::{ASCII, UNICODE};
use lockscope_model::diagnose::Severity;

/// The built-in themes. Each is a file of the same form as a user's theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThemeName {
    /// The terminal's own sixteen colours, for light and dark terminals.
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

    pub fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.bad,
            Severity::Warning => self.wait,
            Severity::Info => self.dim,
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::palette::of_index;
    use super::*;

    /// Returns the relative luminance of a colour, as defined by WCAG 2.
    fn luminance(colour: Color) -> f64 {
        let (red, green, blue) = match colour {
            Color::Rgb(red, green, blue) => (red, green, blue),
            Color::Indexed(index) => of_index(index),
            other => panic!("{other:?} looks different in each terminal"),
        };
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(one: Option<Color>, other: Option<Color>) -> f64 {
        let (one, other) = (luminance(one.expect("a colour")), luminance(other.expect("a colour")));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

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
    fn text_and_marks_contrast_with_their_background() {
        let mut faults = Vec::new();
        for name in [ThemeName::Dark, ThemeName::Light, ThemeName::ColourBlind] {
            for (depth, palette) in [("true", name.palette()), ("256", name.palette().in_256_colours())] {
                let Palette { text, strong, dim, title, accent, good, wait, bad, unsure, .. } = palette;
                let mut must = |what: &str, ratio: f64, least: f64| {
                    if ratio < least {
                        faults.push(format!("{} in {depth} colours: {what} {ratio:.2} < {least}", name.id()));
                    }
                };
                let ground = text.bg;
                let words = [
                    ("text", text),
                    ("strong", strong),
                    ("dim", dim),
                    ("title", title),
                    ("accent", accent),
                    ("good", good),
                    ("wait", wait),
                    ("bad", bad),
                    ("unsure", unsure),
                ];
                for (what, style) in words {
                    must(what, contrast(style.fg, ground), 4.5);
                    must(&format!("selected {what}"), contrast(style.fg, palette.selected.bg), 3.0);
                }
                must("border", contrast(palette.border.fg, ground), 3.0);
                must("focus", contrast(palette.focus.fg, ground), 3.0);
                for (what, style) in [("selected", palette.selected), ("mark", palette.mark), ("found", palette.found)]
                {
                    must(what, contrast(style.fg, style.bg), 4.5);
                }
                must("the mark itself", contrast(palette.mark.bg, ground), 3.0);
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

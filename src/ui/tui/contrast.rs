//! Colours that can be read: a theme without a background of its own is fitted to the background
//! of the terminal.
//!
//! The sixteen named colours look different in each terminal, so that no choice among them can be
//! read everywhere. Therefore the terminal says its background and the colour of its text, and each
//! colour of the theme is made lighter or darker until it stands out from both the background and
//! the selected row.

use ratatui::style::{Color, Modifier, Style};

use super::theme::{Palette, ThemeName, nearest, of_index};

/// The least contrast of text, as WCAG 2 asks for at level AA.
pub const LEGIBLE: f64 = 4.5;

/// The least contrast of dim text and of lines.
pub const VISIBLE: f64 = 3.0;

/// The least contrast between the selected row and the other rows.
pub const DISTINCT: f64 = 1.25;

/// The steps in which a colour is changed.
const STEPS: u8 = 40;

/// A colour as red, green and blue.
pub type Rgb = (u8, u8, u8);

const BLACK: Rgb = (0, 0, 0);
const WHITE: Rgb = (255, 255, 255);

/// The colours that a terminal says it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalColours {
    pub text: Rgb,
    pub ground: Rgb,
}

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourDepth {
    /// The cube and the greys of xterm.
    Of256,
    /// All of 24 bits.
    True,
}

impl ColourDepth {
    fn shown(self, (red, green, blue): Rgb) -> Color {
        let colour = Color::Rgb(red, green, blue);
        if self == Self::True { colour } else { nearest(colour) }
    }
}

/// Returns the palette as a terminal of that depth shows it. `terminal` is `None` where the
/// terminal did not say its colours: the built-in theme without a background then becomes the dark
/// one, which has its own.
#[must_use]
pub fn fitted(palette: Palette, terminal: Option<TerminalColours>, depth: ColourDepth) -> Palette {
    let palette = match terminal {
        Some(terminal) if palette.text.bg.is_none() && palette.has_hues() => on_ground(palette, terminal, depth),
        None if palette == ThemeName::Terminal.palette() => ThemeName::Dark.palette(),
        _ => palette,
    };
    if depth == ColourDepth::Of256 { palette.in_256_colours() } else { palette }
}

/// Makes a palette legible on the background of the terminal. Styles with a background of their
/// own, and colours that are named, stay as they are.
fn on_ground(mut palette: Palette, terminal: TerminalColours, depth: ColourDepth) -> Palette {
    let TerminalColours { text, ground } = terminal;
    let tint = tint(text, ground, depth);
    let row = rgb(tint).unwrap_or(ground);
    let legible = |seed: Rgb, least: f64| legible(seed, &[ground, row], least, depth);
    let tinted = palette.selected.bg.is_none() && palette.selected.fg.is_none();
    for (_, style) in palette.styles() {
        if style.bg.is_some() {
            continue;
        }
        match style.fg {
            Some(Color::Rgb(red, green, blue)) => style.fg = Some(legible((red, green, blue), LEGIBLE)),
            None if style.add_modifier.contains(Modifier::DIM) => {
                *style = style.remove_modifier(Modifier::DIM).fg(legible(mixed(text, ground, 14), VISIBLE));
            }
            _ => {}
        }
    }
    if palette.text.fg.is_none() && contrast(text, ground) < LEGIBLE {
        palette.text.fg = Some(legible(text, LEGIBLE));
    }
    if palette.strong.fg.is_none() {
        palette.strong.fg = palette.text.fg;
    }
    if tinted {
        palette.selected = Style::new().fg(legible(text, LEGIBLE)).bg(tint);
    }
    palette
}

/// Returns the background of the selected row: that of the terminal, a little nearer to its text,
/// or further away where that would leave too little room for contrast.
fn tint(text: Rgb, ground: Rgb, depth: ColourDepth) -> Color {
    let away = if pole(ground) == WHITE { BLACK } else { WHITE };
    let tints = [text, pole(ground), away].map(|end| (2..=STEPS).map(move |step| mixed(ground, end, step)));
    let fits = |colour: &Color| {
        let row = rgb(*colour).unwrap_or(ground);
        contrast(row, ground) >= DISTINCT && contrast(row, pole(ground)) > LEGIBLE + 1.0
    };
    tints.into_iter().flatten().map(|colour| depth.shown(colour)).find(fits).unwrap_or(depth.shown(away))
}

/// Returns a colour like `seed` with at least that contrast to each of the grounds.
fn legible(seed: Rgb, grounds: &[Rgb], least: f64, depth: ColourDepth) -> Color {
    let end = grounds.first().map_or(WHITE, |ground| pole(*ground));
    let colours = (0..=STEPS).map(|step| depth.shown(mixed(seed, end, step)));
    let stands_out = |colour: &Color| {
        rgb(*colour).is_some_and(|colour| grounds.iter().all(|ground| contrast(colour, *ground) >= least))
    };
    colours.into_iter().find(stands_out).unwrap_or(depth.shown(end))
}

/// Returns black or white, whichever stands out more from a colour.
fn pole(ground: Rgb) -> Rgb {
    if contrast(WHITE, ground) >= contrast(BLACK, ground) { WHITE } else { BLACK }
}

/// Returns the colour that is so many of all [`STEPS`] on the way from one to another.
fn mixed(one: Rgb, other: Rgb, step: u8) -> Rgb {
    let part = |one: u8, other: u8| {
        let (one, other, step, all) = (u16::from(one), u16::from(other), u16::from(step), u16::from(STEPS));
        u8::try_from((one * (all - step) + other * step) / all).unwrap_or(u8::MAX)
    };
    (part(one.0, other.0), part(one.1, other.1), part(one.2, other.2))
}

/// Returns the parts of a colour; `None` for one that looks different in each terminal.
pub fn rgb(colour: Color) -> Option<Rgb> {
    match colour {
        Color::Rgb(red, green, blue) => Some((red, green, blue)),
        Color::Indexed(index @ 16..) => Some(of_index(index)),
        _ => None,
    }
}

/// Returns the contrast of two colours, from 1 to 21, as defined by WCAG 2.
pub fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance((red, green, blue): Rgb) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text and the background of common terminals, as they are delivered.
    const TERMINALS: [(&str, &str, &str); 14] = [
        ("xterm", "#000000", "#ffffff"),
        ("xterm -rv", "#ffffff", "#000000"),
        ("VS Code dark", "#cccccc", "#1e1e1e"),
        ("VS Code light", "#333333", "#ffffff"),
        ("Tango dark", "#d3d7cf", "#2e3436"),
        ("Tango light", "#2e3436", "#eeeeec"),
        ("Gruvbox dark", "#ebdbb2", "#282828"),
        ("Gruvbox light", "#3c3836", "#fbf1c7"),
        ("Dracula", "#f8f8f2", "#282a36"),
        ("Solarized dark", "#839496", "#002b36"),
        ("Solarized light", "#657b83", "#fdf6e3"),
        ("Terminal.app Basic", "#000000", "#ffffff"),
        ("Terminal.app Pro", "#f2f2f2", "#000000"),
        ("Campbell", "#cccccc", "#0c0c0c"),
    ];

    const DEPTHS: [ColourDepth; 2] = [ColourDepth::True, ColourDepth::Of256];

    fn parsed(colour: &str) -> Rgb {
        rgb(colour.parse().unwrap()).unwrap()
    }

    /// Returns every pair of colours of a palette with too little contrast.
    fn faults(mut palette: Palette, TerminalColours { text, ground }: TerminalColours) -> Vec<String> {
        let of = |colour: Option<Color>, default: Rgb| {
            colour.map_or(default, |colour| {
                rgb(colour).unwrap_or_else(|| panic!("{colour:?} is not the same everywhere"))
            })
        };
        let own = (of(palette.text.fg, text), of(palette.text.bg, ground));
        let row = (of(palette.selected.fg, own.0), of(palette.selected.bg, own.1));
        let plain = palette.text.fg;
        let mut faults = Vec::new();
        let mut must = |what: String, one, other, least: f64| {
            let ratio = contrast(one, other);
            if ratio < least {
                faults.push(format!("{what}: {ratio:.2} < {least}"));
            }
        };
        must("the selected row".to_owned(), row.1, own.1, DISTINCT);
        must("selected".to_owned(), row.0, row.1, LEGIBLE);
        for (name, style) in palette.styles() {
            let least = if ["dim", "title", "border"].contains(&name) { VISIBLE } else { LEGIBLE };
            let (front, back) = (of(style.fg, own.0), of(style.bg, own.1));
            must(name.to_owned(), front, back, least);
            // No line is drawn through the selected row.
            if style.bg.is_none() && !["border", "focus"].contains(&name) {
                // Plain text takes the colour of the selected row.
                let front = if style.fg == plain { row.0 } else { front };
                must(format!("{name} on the selected row"), front, row.1, least);
            } else if name == "mark" {
                must("the mark itself".to_owned(), back, own.1, VISIBLE);
            }
        }
        faults
    }

    #[test]
    fn every_colour_of_every_theme_can_be_read_in_every_common_terminal() {
        let mut all = Vec::new();
        for (terminal, text, ground) in TERMINALS {
            let colours = TerminalColours { text: parsed(text), ground: parsed(ground) };
            for theme in ThemeName::ALL.into_iter().filter(|theme| *theme != ThemeName::Mono) {
                for depth in DEPTHS {
                    let found = faults(fitted(theme.palette(), Some(colours), depth), colours);
                    all.extend(
                        found.into_iter().map(|fault| format!("{} in {terminal}, {depth:?}: {fault}", theme.id())),
                    );
                }
            }
        }
        assert!(all.is_empty(), "{}", all.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_colours_of_a_terminal_are_the_text_can_be_read(text: Rgb, ground: Rgb) {
            let colours = TerminalColours { text, ground };
            let found = faults(fitted(ThemeName::Terminal.palette(), Some(colours), ColourDepth::True), colours);
            proptest::prop_assert!(found.is_empty(), "{}", found.join("\n"));
        }
    }

    #[test]
    fn a_terminal_that_says_nothing_gets_a_theme_with_a_background() {
        assert_eq!(fitted(ThemeName::Terminal.palette(), None, ColourDepth::True), ThemeName::Dark.palette());
        assert_eq!(fitted(ThemeName::Mono.palette(), None, ColourDepth::True), ThemeName::Mono.palette());
    }

    #[test]
    fn a_theme_of_the_user_keeps_what_it_names() {
        let own = Palette::read("text = '#404040 on #202020'\ngood = 'green'").unwrap();
        let colours = TerminalColours { text: WHITE, ground: BLACK };
        assert_eq!(fitted(own, Some(colours), ColourDepth::True), own);
        let named = Palette::read("good = 'green'\nbad = '#400000'").unwrap();
        let shown = fitted(named, Some(colours), ColourDepth::True);
        assert_eq!(shown.good, named.good);
        assert_ne!(shown.bad, named.bad);
    }
}

//! Keys and mouse events, independent of the terminal library.

/// A key. The `input` module translates the terminal library's events into keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A character, with Shift already applied.
    Char(char),
    /// A character with Control, in lower case.
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    /// Shift+Tab.
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// A function key, from 1.
    F(u8),
}

impl Key {
    /// Parses the name of a key in the config file, such as `x`, `X`, `ctrl-d`, `space`,
    /// `page-down` or `f5`.
    pub fn read(name: &str) -> Option<Self> {
        let mut letters = name.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            return (!letter.is_control()).then_some(Self::Char(letter));
        }
        let lower = name.to_lowercase();
        if let Some(rest) = lower.strip_prefix("ctrl-") {
            let mut letters = rest.chars();
            return letters
                .next()
                .filter(|letter| letter.is_ascii_alphabetic() && letters.next().is_none())
                .map(Self::Ctrl);
        }
        if let Some(number) = lower.strip_prefix('f').and_then(|number| number.parse().ok()) {
            return (1..=24).contains(&number).then_some(Self::F(number));
        }
        Some(match lower.as_str() {
            "space" => Self::Char(' '),
            "enter" => Self::Enter,
            "esc" => Self::Esc,
            "tab" => Self::Tab,
            "shift-tab" => Self::BackTab,
            "backspace" => Self::Backspace,
            "delete" => Self::Delete,
            "up" => Self::Up,
            "down" => Self::Down,
            "left" => Self::Left,
            "right" => Self::Right,
            "page-up" => Self::PageUp,
            "page-down" => Self::PageDown,
            "home" => Self::Home,
            "end" => Self::End,
            _ => return None,
        })
    }

    /// Returns the key's name in a sentence.
    pub fn name(self) -> String {
        self.label(true)
    }

    /// Returns the label of the key in the footer and in Help.
    pub fn label(self, ascii: bool) -> String {
        let (plain, drawn) = match self {
            Self::Char(' ') => return "Space".to_owned(),
            Self::Char(letter) => return letter.to_string(),
            Self::F(number) => return format!("F{number}"),
            Self::Ctrl(letter) => return format!("Ctrl-{}", letter.to_ascii_uppercase()),
            Self::Enter => ("Enter", "⏎"),
            Self::Esc => ("Esc", "Esc"),
            Self::Tab => ("Tab", "Tab"),
            Self::BackTab => ("Shift-Tab", "Shift-Tab"),
            Self::Backspace => ("Backspace", "Backspace"),
            Self::Delete => ("Del", "Del"),
            Self::Up => ("Up", "↑"),
            Self::Down => ("Down", "↓"),
            Self::Left => ("Left", "←"),
            Self::Right => ("Right", "→"),
            Self::PageUp => ("PgUp", "PgUp"),
            Self::PageDown => ("PgDn", "PgDn"),
            Self::Home => ("Home", "Home"),
            Self::End => ("End", "End"),
        };
        if ascii { plain } else { drawn }.to_owned()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mouse {
    /// A press of the first button at this column and line, from 0.
    Press(u16, u16),
    /// The wheel turned away from the user.
    WheelUp,
    /// The wheel turned towards the user.
    WheelDown,
}

//! Keys and the mouse, as the modules of the screen know them.

/// A key. `input` translates the terminal library's events into these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A character, with shift already applied.
    Char(char),
    /// A character with Control, in lower case.
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    /// Shift and Tab.
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
}

impl Key {
    /// How the key is called in the footer and in Help.
    pub fn label(self, ascii: bool) -> String {
        let (plain, drawn) = match self {
            Self::Char(' ') => return "Space".to_owned(),
            Self::Char(letter) => return letter.to_string(),
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
    /// The first button was pressed at this column and line, from 0.
    Press(u16, u16),
    /// The wheel turned away from the user.
    WheelUp,
    /// The wheel turned towards the user.
    WheelDown,
}

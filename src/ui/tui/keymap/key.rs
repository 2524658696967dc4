//! Keys and mouse events, independent of the terminal library, and the keys that cannot be rebound:
//! the answers to a question, and the editing keys of a prompt.

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

/// The meaning of a key that cannot be rebound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedKey {
    /// Ends the program, whatever is open.
    Interrupt,
    Yes,
    No,
    /// Confirms the typed line.
    Enter,
    /// Closes a question or a prompt without an answer.
    Leave,
    /// Goes to the next completion.
    Complete,
    CompleteBack,
    /// Goes to the previous line in the history.
    Older,
    Newer,
    /// Pages the list behind the prompt.
    PageUp,
    PageDown,
    Left,
    Right,
    Start,
    End,
    DeleteBefore,
    DeleteAfter,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
    /// Shows the next step of the tour where it does nothing else: the largest key, for a presenter
    /// who looks at the audience. It plays and stops a recording. Elsewhere it pages.
    Spare,
}

/// The keys that have a meaning in a prompt.
const TYPING: &[FixedKey] = &[
    FixedKey::Enter,
    FixedKey::Leave,
    FixedKey::Complete,
    FixedKey::CompleteBack,
    FixedKey::Older,
    FixedKey::Newer,
    FixedKey::PageUp,
    FixedKey::PageDown,
    FixedKey::Left,
    FixedKey::Right,
    FixedKey::Start,
    FixedKey::End,
    FixedKey::DeleteBefore,
    FixedKey::DeleteAfter,
    FixedKey::DeleteWord,
    FixedKey::DeleteToStart,
    FixedKey::DeleteToEnd,
];

impl FixedKey {
    /// Returns the keys; sentences name the first one.
    pub const fn keys(self) -> &'static [Key] {
        match self {
            Self::Interrupt => &[Key::Ctrl('c')],
            Self::Yes => &[Key::Char('y'), Key::Char('Y')],
            Self::No => &[Key::Char('n'), Key::Char('N')],
            Self::Enter => &[Key::Enter],
            Self::Leave => &[Key::Esc],
            Self::Complete => &[Key::Tab],
            Self::CompleteBack => &[Key::BackTab],
            Self::Older => &[Key::Up, Key::Ctrl('p')],
            Self::Newer => &[Key::Down, Key::Ctrl('n')],
            Self::PageUp => &[Key::PageUp],
            Self::PageDown => &[Key::PageDown],
            Self::Left => &[Key::Left, Key::Ctrl('b')],
            Self::Right => &[Key::Right, Key::Ctrl('f')],
            Self::Start => &[Key::Home, Key::Ctrl('a')],
            Self::End => &[Key::End, Key::Ctrl('e')],
            Self::DeleteBefore => &[Key::Backspace, Key::Ctrl('h')],
            Self::DeleteAfter => &[Key::Delete],
            Self::DeleteWord => &[Key::Ctrl('w')],
            Self::DeleteToStart => &[Key::Ctrl('u')],
            Self::DeleteToEnd => &[Key::Ctrl('k')],
            Self::Spare => &[Key::Char(' ')],
        }
    }

    pub const fn key(self) -> Key {
        self.keys()[0]
    }

    /// Returns the key's name in a sentence.
    pub fn name(self) -> String {
        self.key().name()
    }

    /// Returns whether `key` has this meaning.
    pub fn is(self, key: Key) -> bool {
        self.keys().contains(&key)
    }

    /// Returns the meaning of a key in a prompt; `None` when it is text.
    pub fn typed(key: Key) -> Option<Self> {
        TYPING.iter().copied().find(|fixed| fixed.is(key))
    }
}

//! Keys that nobody can choose: the answers to a question, and those of a line that is typed.

use crate::tui::key::Key;

/// What such a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedKey {
    /// Ends the program, whatever is open.
    Interrupt,
    Yes,
    No,
    /// What is typed is meant.
    Enter,
    /// Leaves a question or a line without an answer.
    Leave,
    /// To the next thing that could be typed.
    Complete,
    CompleteBack,
    /// To the line that was typed before.
    Older,
    Newer,
    /// Pages the list behind the line.
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
    /// Shows the next step of the tour where it does nothing else: it is the largest key, and a
    /// presenter looks at the audience. It plays and stops a recording, and elsewhere it pages.
    Spare,
}

/// Those that mean something while a line is typed.
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
    /// The first is the one that sentences name.
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

    /// The key's name in a sentence.
    pub fn name(self) -> String {
        self.key().name()
    }

    /// Whether the key is one of these.
    pub fn is(self, key: Key) -> bool {
        self.keys().contains(&key)
    }

    /// What a key means while a line is typed; `None` when it is only typed.
    pub fn typed(key: Key) -> Option<Self> {
        TYPING.iter().copied().find(|fixed| fixed.is(key))
    }
}

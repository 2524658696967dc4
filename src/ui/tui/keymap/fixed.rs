//! Keys that cannot be rebound: the answers to a question, and the editing keys of a prompt.

use crate::tui::key::Key;

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

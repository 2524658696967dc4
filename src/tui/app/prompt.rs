//! A line that is being typed, and what for.

use tui_input::{Input, InputRequest};

use super::Key;

/// The longest text that can be typed, in characters.
const MAX_PROMPT_LENGTH: usize = 1000;

/// What is typed in the footer, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPurpose {
    /// The filter of the screen; it works while it is typed.
    Filter,
    Command,
    /// How many clients a herd and a chain get.
    Clients,
    /// How many clients stand in the queue that is open.
    ClientsIntoQueue,
    /// The number, or the name, that confirms a plan.
    Confirmation,
}

#[derive(Clone, Debug)]
pub struct Prompt {
    pub purpose: PromptPurpose,
    input: Input,
}

impl Prompt {
    pub fn new(purpose: PromptPurpose, text: &str) -> Self {
        Self { purpose, input: Input::new(text.to_owned()) }
    }

    pub fn text(&self) -> &str {
        self.input.value()
    }

    /// How many characters stand before the cursor.
    pub fn cursor(&self) -> usize {
        self.input.cursor()
    }

    /// Takes an editing key; `false` when the key edits nothing.
    pub fn edit(&mut self, key: Key) -> bool {
        let request = match key {
            Key::Char(letter) if self.text().chars().nth(MAX_PROMPT_LENGTH).is_none() => {
                InputRequest::InsertChar(letter)
            }
            Key::Backspace | Key::Ctrl('h') => InputRequest::DeletePrevChar,
            Key::Delete => InputRequest::DeleteNextChar,
            Key::Left | Key::Ctrl('b') => InputRequest::GoToPrevChar,
            Key::Right | Key::Ctrl('f') => InputRequest::GoToNextChar,
            Key::Home | Key::Ctrl('a') => InputRequest::GoToStart,
            Key::End | Key::Ctrl('e') => InputRequest::GoToEnd,
            Key::Ctrl('w') => InputRequest::DeletePrevWord,
            Key::Ctrl('u') => InputRequest::DeleteFromStart,
            Key::Ctrl('k') => InputRequest::DeleteTillEnd,
            _ => return false,
        };
        self.input.handle(request);
        true
    }
}

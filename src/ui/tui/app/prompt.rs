//! A line that is being typed, and what for.

use tui_input::{Input, InputRequest};

use super::Key;
use super::input_history::InputHistory;
use crate::tui::keymap::FixedKey;

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

/// What Tab goes through.
#[derive(Clone, Debug)]
struct Offered {
    /// Whole lines, what was typed as the last one.
    lines: Vec<String>,
    at: usize,
}

#[derive(Clone, Debug)]
pub struct Prompt {
    pub purpose: PromptPurpose,
    input: Input,
    /// How many lines back in the history it is, and what was typed before.
    recalled: Option<(usize, String)>,
    offered: Option<Offered>,
}

impl Prompt {
    pub fn new(purpose: PromptPurpose, text: &str) -> Self {
        Self { purpose, input: Input::new(text.to_owned()), recalled: None, offered: None }
    }

    pub fn text(&self) -> &str {
        self.input.value()
    }

    /// How many characters stand before the cursor.
    pub fn cursor(&self) -> usize {
        self.input.cursor()
    }

    /// Whether the cursor stands behind all of the text.
    pub fn is_at_end(&self) -> bool {
        self.text().chars().nth(self.cursor()).is_none()
    }

    /// Puts a line in place of the text, as far as it may be so long.
    pub fn put(&mut self, line: &str) {
        self.input = Input::new(line.chars().take(MAX_PROMPT_LENGTH).collect());
    }

    /// Goes to the line that was typed before this one, or back towards it.
    pub fn recall(&mut self, history: &InputHistory, older: bool) {
        let (back, draft) = match &self.recalled {
            None if older => (0, self.text().to_owned()),
            None => return,
            Some((back, draft)) if older => (back + 1, draft.clone()),
            Some((0, draft)) => {
                let draft = draft.clone();
                self.recalled = None;
                return self.put(&draft);
            }
            Some((back, draft)) => (back - 1, draft.clone()),
        };
        if let Some(line) = history.recall(back) {
            self.put(line);
            self.recalled = Some((back, draft));
        }
    }

    /// Puts the next one of the lines that are offered in place of the text, or the one before. Behind the last one comes what
    /// was typed. `offer` says what there is, when nothing is offered yet.
    pub fn complete(&mut self, forward: bool, offer: impl FnOnce(&str) -> Vec<String>) {
        let offered = self.offered.get_or_insert_with(|| {
            let mut lines = offer(self.input.value());
            lines.push(self.input.value().to_owned());
            Offered { at: lines.len() - 1, lines }
        });
        let count = offered.lines.len();
        offered.at = (offered.at + if forward { 1 } else { count - 1 }) % count;
        let line = offered.lines[offered.at].clone();
        self.put(&line);
    }

    /// Takes an editing key; `false` when the key edits nothing.
    pub fn edit(&mut self, key: Key) -> bool {
        let request = match (FixedKey::typed(key), key) {
            (Some(FixedKey::DeleteBefore), _) => InputRequest::DeletePrevChar,
            (Some(FixedKey::DeleteAfter), _) => InputRequest::DeleteNextChar,
            (Some(FixedKey::Left), _) => InputRequest::GoToPrevChar,
            (Some(FixedKey::Right), _) => InputRequest::GoToNextChar,
            (Some(FixedKey::Start), _) => InputRequest::GoToStart,
            (Some(FixedKey::End), _) => InputRequest::GoToEnd,
            (Some(FixedKey::DeleteWord), _) => InputRequest::DeletePrevWord,
            (Some(FixedKey::DeleteToStart), _) => InputRequest::DeleteFromStart,
            (Some(FixedKey::DeleteToEnd), _) => InputRequest::DeleteTillEnd,
            (None, Key::Char(letter)) if self.text().chars().nth(MAX_PROMPT_LENGTH).is_none() => {
                InputRequest::InsertChar(letter)
            }
            _ => return false,
        };
        let before = self.text().to_owned();
        self.input.handle(request);
        if self.text() != before {
            (self.recalled, self.offered) = (None, None);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_goes_to_older_lines_and_down_back_to_what_was_typed() {
        let mut history = InputHistory::default();
        for line in ["sort held", "filter a"] {
            history.remember(line);
        }
        let mut prompt = Prompt::new(PromptPurpose::Command, "qu");
        let mut shown = Vec::new();
        for older in [true, true, true, false, false, false] {
            prompt.recall(&history, older);
            shown.push(prompt.text().to_owned());
        }
        assert_eq!(shown, ["filter a", "sort held", "sort held", "filter a", "qu", "qu"]);
    }

    #[test]
    fn tab_goes_around_through_what_is_offered_and_what_was_typed() {
        let mut prompt = Prompt::new(PromptPurpose::Command, "so");
        let mut shown = Vec::new();
        for forward in [true, true, true, false] {
            prompt.complete(forward, |_| vec!["sort".to_owned(), "sound".to_owned()]);
            shown.push(prompt.text().to_owned());
        }
        assert_eq!(shown, ["sort", "sound", "so", "sound"]);
        prompt.edit(Key::Char(' '));
        prompt.complete(true, |line| vec![format!("{line}x")]);
        assert_eq!(prompt.text(), "sound x", "what is edited is completed anew");
    }
}

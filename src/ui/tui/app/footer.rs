//! The last line of the screen: a prompt, a notice or a question in place of the keys.
//!
//! A prompt is a line that the user types, with a purpose, a history and completions. A notice is a
//! sentence that reports a result and disappears by itself. The question asks before the console
//! quits or switches to another ensemble while test clients run.

use std::collections::VecDeque;
use std::time::Duration;

use tui_input::{Input, InputRequest};

use super::Key;
use crate::tui::keymap::FixedKey;
use crate::tui::page::Sign;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::LockName;

/// The contents of the last line in place of the keys.
#[derive(Debug, Default)]
pub struct Footer {
    /// The open prompt.
    pub prompt: Option<Prompt>,
    pub notice: Option<Notice>,
    /// Where to go if the user confirms the question about running clients; `None` while no
    /// question is open.
    pub leaving: Option<Leaving>,
    /// The history of typed commands.
    pub commands: InputHistory,
    /// The history of typed filters.
    pub filters: InputHistory,
}

impl Footer {
    /// Opens a prompt with this initial text.
    pub fn ask(&mut self, purpose: PromptPurpose, text: &str) {
        self.prompt = Some(Prompt::new(purpose, text));
    }

    /// The history of lines typed for this purpose; `None` when the purpose has no history.
    pub fn history(&self, purpose: PromptPurpose) -> Option<&InputHistory> {
        match purpose {
            PromptPurpose::Command => Some(&self.commands),
            PromptPurpose::Filter => Some(&self.filters),
            PromptPurpose::Clients | PromptPurpose::ClientsIntoQueue | PromptPurpose::Confirmation => None,
        }
    }

    /// Removes the notice when its time is over.
    pub fn tick(&mut self, now: Timestamp) {
        self.notice.take_if(|notice| notice.until <= now);
    }
}

/// Maximum length of a prompt's text, in characters.
const MAX_PROMPT_LENGTH: usize = 1000;

/// The purpose of the text typed in the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPurpose {
    /// The filter of the screen, which takes effect while it is typed.
    Filter,
    Command,
    /// The number of clients of each of two fleets, a herd and a chain.
    Clients,
    /// The number of clients to start in the open queue.
    ClientsIntoQueue,
    /// The number or name that confirms a deletion plan.
    Confirmation,
}

/// The completions that Tab cycles through.
#[derive(Clone, Debug)]
struct Offered {
    /// The completed lines. The last one is the typed text.
    lines: Vec<String>,
    at: usize,
}

#[derive(Clone, Debug)]
pub struct Prompt {
    pub purpose: PromptPurpose,
    input: Input,
    /// The position in the history, counted back from the newest line, and the text typed before.
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

    /// The number of characters before the cursor.
    pub fn cursor(&self) -> usize {
        self.input.cursor()
    }

    /// Whether the cursor is at the end of the text.
    pub fn is_at_end(&self) -> bool {
        self.text().chars().nth(self.cursor()).is_none()
    }

    /// Replaces the text by a line, cut to 1000 characters.
    pub fn put(&mut self, line: &str) {
        self.input = Input::new(line.chars().take(MAX_PROMPT_LENGTH).collect());
    }

    /// Goes back one line in the history, or forward again. After the newest line comes the text
    /// typed before.
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

    /// Replaces the text by the next or the previous completion. After the last completion comes
    /// the typed text. `offer` computes the completions on the first call for a typed text.
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

    /// Handles an editing key; `false` when the key does not edit.
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

/// Maximum lines of one history. Further lines replace the oldest.
const MAX_HISTORY_LINES: usize = 100;

/// Typed lines, the newest last, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputHistory(VecDeque<String>);

impl InputHistory {
    pub fn remember(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.0.retain(|known| known != line);
        self.0.push_back(line.to_owned());
        if self.0.len() > MAX_HISTORY_LINES {
            self.0.pop_front();
        }
    }

    /// The line that was typed `back` lines before the newest one; 0 is the newest one.
    pub fn recall(&self, back: usize) -> Option<&str> {
        let at = self.0.len().checked_sub(back + 1)?;
        self.0.get(at).map(String::as_str)
    }
}

/// How long a short notice stays.
const SHORT_NOTICE_TIME: Duration = Duration::from_secs(6);

/// How long a notice stays that takes longer to read.
const LONG_NOTICE_TIME: Duration = Duration::from_secs(20);

/// Maximum length of a short notice, in bytes.
const SHORT_NOTICE_LENGTH: usize = 80;

/// A sentence in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence. May contain text from znodes.
    pub text: String,
    /// `Done`, `Bad`, or `Ask` where nothing is wrong but something cannot be done here.
    pub sign: Sign,
    pub(super) until: Timestamp,
    /// The deleted node that the notice reports, with its lock. The new holder is added to the
    /// notice once the observer has seen the deletion.
    pub(super) freed: Option<(ZnodePath, LockName)>,
}

impl Notice {
    pub(super) fn new(text: String, sign: Sign, now: Timestamp) -> Self {
        let stays = if text.len() > SHORT_NOTICE_LENGTH { LONG_NOTICE_TIME } else { SHORT_NOTICE_TIME };
        Self { text, sign, until: now.plus(stays), freed: None }
    }
}

/// Where the user wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// Quit the program.
    Quit,
    /// Switch to the context with this name.
    Context(String),
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

    #[test]
    fn a_repeated_line_becomes_the_newest_and_the_oldest_are_dropped() {
        let mut history = InputHistory::default();
        for line in ["a", "b", "a", ""] {
            history.remember(line);
        }
        assert_eq!((history.recall(0), history.recall(1), history.recall(2)), (Some("a"), Some("b"), None));
        for line in 0..500 {
            history.remember(&line.to_string());
        }
        assert_eq!(history.recall(0), Some("499"));
        assert_eq!((history.recall(99), history.recall(100)), (Some("400"), None));
    }
}

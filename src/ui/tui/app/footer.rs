//! The contents of the last line in place of the keys: a question, a prompt, or a notice.

use super::input_history::InputHistory;
use super::leaving::Leaving;
use super::notice::Notice;
use super::prompt::{Prompt, PromptPurpose};
use lockscope_base::znode::Timestamp;

/// The contents of the last line in place of the keys.
#[derive(Debug, Default)]
pub(super) struct Footer {
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

//! What the last line shows in place of the keys: a question, what is typed, or a notice.

use super::input_history::InputHistory;
use super::leaving::Leaving;
use super::notice::Notice;
use super::prompt::{Prompt, PromptPurpose};
use lockscope_base::znode::Timestamp;

/// What the last line shows in place of the keys.
#[derive(Debug, Default)]
pub(super) struct Footer {
    /// What is typed.
    pub prompt: Option<Prompt>,
    pub notice: Option<Notice>,
    /// Where to go when the question about running clients is answered with yes; `None` while
    /// nothing is asked.
    pub leaving: Option<Leaving>,
    /// The commands that were typed.
    pub commands: InputHistory,
    /// The filters that were typed.
    pub filters: InputHistory,
}

impl Footer {
    /// Lets something be typed, which begins with this text.
    pub fn ask(&mut self, purpose: PromptPurpose, text: &str) {
        self.prompt = Some(Prompt::new(purpose, text));
    }

    /// What was typed before for such a purpose; `None` where nothing is remembered.
    pub fn history(&self, purpose: PromptPurpose) -> Option<&InputHistory> {
        match purpose {
            PromptPurpose::Command => Some(&self.commands),
            PromptPurpose::Filter => Some(&self.filters),
            PromptPurpose::Clients | PromptPurpose::ClientsIntoQueue | PromptPurpose::Confirmation => None,
        }
    }

    /// Lets a notice go when it has stood for long enough.
    pub fn tick(&mut self, now: Timestamp) {
        self.notice.take_if(|notice| notice.until <= now);
    }
}

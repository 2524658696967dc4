//! A sentence in the footer that says what came of something, and goes by itself.

use std::time::Duration;

use super::App;
use lockscope_base::znode::Timestamp;

/// How long a notice stays.
const SHORT_NOTICE_TIME: Duration = Duration::from_secs(6);
/// How long one stays that takes longer to read.
const LONG_NOTICE_TIME: Duration = Duration::from_secs(20);
/// Characters of a notice that are read at a glance.
const SHORT_NOTICE_LENGTH: usize = 80;
/// A sentence in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence. May contain text from znodes.
    pub text: String,
    /// Whether something did not work.
    pub failed: bool,
    pub(super) until: Timestamp,
}

impl App {
    pub(super) fn show_notice(&mut self, text: String) {
        self.notify(text, false);
    }

    pub(super) fn show_failure(&mut self, text: String) {
        self.notify(text, true);
    }

    fn notify(&mut self, text: String, failed: bool) {
        self.deletions.done = None;
        let stays = if text.len() > SHORT_NOTICE_LENGTH { LONG_NOTICE_TIME } else { SHORT_NOTICE_TIME };
        self.footer.notice = Some(Notice { text, failed, until: self.wall.plus(stays) });
    }
}

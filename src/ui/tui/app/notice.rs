//! Notices: sentences in the footer that report a result and disappear by themselves.

use std::time::Duration;

use super::{App, Update};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::LockName;

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
    /// Whether the notice reports a failure.
    pub failed: bool,
    pub(super) until: Timestamp,
    /// The deleted node that the notice reports, with its lock. The new holder is added to the
    /// notice once the observer has seen the deletion.
    pub(super) freed: Option<(ZnodePath, LockName)>,
}

impl Notice {
    pub(super) fn new(text: String, failed: bool, now: Timestamp) -> Self {
        let stays = if text.len() > SHORT_NOTICE_LENGTH { LONG_NOTICE_TIME } else { SHORT_NOTICE_TIME };
        Self { text, failed, until: now.plus(stays), freed: None }
    }
}

impl App {
    pub(super) fn show_notice(&mut self, text: String) {
        self.footer.notice = Some(Notice::new(text, false, self.wall));
    }

    pub(super) fn show_failure(&mut self, text: String) {
        self.footer.notice = Some(Notice::new(text, true, self.wall));
    }

    /// Shows why a command is not carried out.
    pub(super) fn refuse(&mut self, why: String) -> Update {
        self.show_failure(why);
        Update::redraw()
    }
}

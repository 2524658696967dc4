//! A sentence in the footer that says what came of something, and goes by itself.

use std::time::Duration;

use super::{App, Update};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::LockName;

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
    /// The node whose deletion it tells, with its lock: who holds that now is added as soon as the
    /// deletion was seen too.
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

    /// Says why something is not done.
    pub(super) fn refuse(&mut self, why: String) -> Update {
        self.show_failure(why);
        Update::redraw()
    }
}

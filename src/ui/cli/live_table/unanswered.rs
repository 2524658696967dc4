//! The ensemble as reports name it, and what a command says when it does not answer.

use std::time::Duration;

use tokio::time::Instant;

use super::LiveTable;
use crate::cli::output;
use lockscope_model::report::Ensemble;

/// Longer timeouts count as endless; no limit is shown.
const MAX_TOLD_WAIT: Duration = Duration::from_secs(24 * 3600);

impl LiveTable {
    /// Reports why there is no answer, and how long the command still waits.
    pub(super) fn say_trouble(&mut self, until: Instant) {
        self.said.clone_from(&self.trouble);
        let Some(trouble) = &self.said else { return };
        let left = until.saturating_duration_since(Instant::now());
        let of = self.label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
        output::note(&if left > MAX_TOLD_WAIT {
            format!("{of}{trouble}; trying again")
        } else {
            format!("{of}{trouble}; trying again for another {} s (--timeout)", left.as_secs().max(1))
        });
    }

    /// Reports once, for a command that watches, that short holds may be missed.
    pub(super) fn say_one_shot(&mut self) {
        if !self.reports_initial || std::mem::replace(&mut self.said_one_shot, true) {
            return;
        }
        let of = self.label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
        output::note(&format!(
            "{of}the server has no recursive watches that can be relied on (ZooKeeper has them from 3.6 on): the locks are              followed by one-shot watches, so that short holds may be missed"
        ));
    }

    /// Returns the error that the ensemble did not answer, with the reason.
    pub(in crate::cli) fn no_answer(&self) -> anyhow::Error {
        let ensemble = self.ensemble();
        let connect = ensemble.connect();
        let reason = match (&self.trouble, self.live.table().session()) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(_)) => format!("{connect} gave a session and then fell silent"),
            (None, None) => format!("{connect} gave no session"),
        };
        let reason = reason + self.hint();
        // Rounded to tenths of a second for the message.
        let tenths = u64::try_from(self.answered.elapsed().as_millis() / 100).unwrap_or(u64::MAX);
        let waited = Duration::from_millis(tenths.saturating_mul(100));
        output::no_answer(waited, reason)
    }

    pub(super) fn ended(&self) -> anyhow::Error {
        let refused = |reason: String| anyhow::Error::msg(reason + self.hint());
        self.refused.clone().map_or_else(|| self.no_answer(), refused)
    }

    /// Returns the advice on naming servers, if there is no session and none were named.
    fn hint(&self) -> &'static str {
        if self.live.table().session().is_none() { self.how_to_name_servers } else { "" }
    }

    /// Returns the ensemble, as reports name it.
    pub(in crate::cli) fn ensemble(&self) -> Ensemble {
        Ensemble::new(&self.connect, self.live.table().session()).with_view(self.live.table().view())
    }
}

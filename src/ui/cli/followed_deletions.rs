//! What the audit log says of deletions by hand, for a recording.
//!
//! A log has the deletions of every ensemble that somebody used. One is of this ensemble when it was made through at least one of the same
//! servers, `HOST:PORT`, below the same chroot: a server belongs to one ensemble. In which order the servers stood, and how many of them,
//! says nothing.

use chrono::DateTime;

use super::output::note;
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, Zxid};
use lockscope_live::admin::audit::{AuditEntry, AuditFollower};
use lockscope_live::zk::EnsembleAddress;
use lockscope_model::report::Ensemble;
use lockscope_past::record::tables::RecordedDeletion;

/// The audit log, as far as it is about one ensemble.
pub(super) struct FollowedDeletions {
    follower: Option<AuditFollower>,
    ensemble: EnsembleAddress,
    /// Why the log cannot be read, as it was said.
    trouble: Option<String>,
}

impl FollowedDeletions {
    /// Gives what is appended from now on. Blocks the thread as long as the disk does.
    pub(super) fn start(settings: &ResolvedOptions) -> Self {
        let follower = settings.audit_log.as_deref().map(AuditFollower::start);
        Self { follower, ensemble: EnsembleAddress::of(&settings.ensemble_name()), trouble: None }
    }

    /// Goes on in the same log, or where the settings name another one, in that.
    pub(super) fn go_on_with(&mut self, settings: &ResolvedOptions) {
        self.ensemble = EnsembleAddress::of(&settings.ensemble_name());
        if self.follower.as_ref().map(AuditFollower::path) != settings.audit_log.as_deref() {
            *self = Self::start(settings);
        }
    }

    /// The outcomes since the last time. A log that cannot be read is named, once. Blocks the thread as long as the disk does.
    pub(super) fn next(&mut self) -> Vec<RecordedDeletion> {
        let Some(follower) = &mut self.follower else { return Vec::new() };
        let next = follower.take_new();
        let trouble = next.as_ref().err().map(ToString::to_string);
        if let Some(error) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            let path = follower.path().display();
            note(&format!("deletions by hand are not recorded: the audit log {path} cannot be read: {error}"));
        }
        self.trouble = trouble;
        let entries = next.unwrap_or_default().into_iter();
        entries
            .filter(|entry| {
                EnsembleAddress::of(Ensemble::new(&entry.who.ensemble, None).connect()).is_of_the_same(&self.ensemble)
            })
            .filter_map(deletion)
            .collect()
    }
}

fn deletion(entry: AuditEntry) -> Option<RecordedDeletion> {
    let outcome = entry.outcome?;
    let at = DateTime::parse_from_rfc3339(&outcome.at).map_or_else(|_| now(), |at| Timestamp(at.timestamp_millis()));
    let by = entry.who.sudo_user.unwrap_or(entry.who.user);
    Some(RecordedDeletion {
        at,
        lock: entry.subject.lock,
        path: entry.subject.path,
        czxid: entry.subject.czxid.map(Zxid),
        by: Some(by).filter(|user| !user.is_empty()),
        result: outcome.result,
        reason: Some(outcome.reason),
    })
}

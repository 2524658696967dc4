//! Reads deletions by hand from the audit log, for a recording.
//!
//! A log contains the deletions on all ensembles of its users. A deletion belongs to this ensemble
//! if it was made through at least one of the same servers, `HOST:PORT`, below the same chroot,
//! because a server belongs to one ensemble. The order and the number of the servers do not matter.

use chrono::DateTime;

use super::output::note;
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, Zxid};
use lockscope_live::admin::audit::{AuditEntry, AuditFollower};
use lockscope_live::zk::EnsembleAddress;
use lockscope_model::report::Ensemble;
use lockscope_past::record::tables::RecordedDeletion;

/// The audit log, filtered by ensemble.
pub(super) struct FollowedDeletions {
    follower: Option<AuditFollower>,
    ensemble: EnsembleAddress,
    /// The error of the last read, once it was reported.
    trouble: Option<String>,
}

impl FollowedDeletions {
    /// Follows what is appended to the log from now on. Blocks the thread during disk access.
    pub(super) fn start(settings: &ResolvedOptions) -> Self {
        let follower = settings.audit_log.as_deref().map(AuditFollower::start);
        Self { follower, ensemble: EnsembleAddress::of(&settings.ensemble_name()), trouble: None }
    }

    /// Continues with new settings: in the same log, or in another one if the settings name it.
    pub(super) fn go_on_with(&mut self, settings: &ResolvedOptions) {
        self.ensemble = EnsembleAddress::of(&settings.ensemble_name());
        if self.follower.as_ref().map(AuditFollower::path) != settings.audit_log.as_deref() {
            *self = Self::start(settings);
        }
    }

    /// Returns the outcomes since the last call. An unreadable log is reported once. Blocks the
    /// thread during disk access.
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

//! What the work on a connection rests on: that the server answers, and that it can be trusted.

use super::super::connection_end::ConnectionEnd;
use super::super::heartbeat::{Beat, SILENT_AFTER};
use super::super::server_trust::Distrust;
use super::super::wire::{self, RecursiveWatches};
use super::ConnectionRun;
use lockscope_model::follow::WatchStyle;
use lockscope_model::queue::{Change, ConnectionState};

impl ConnectionRun<'_> {
    pub(super) fn begin_reading(&mut self) {
        self.heartbeat.heard();
        self.report_connected();
        self.follower.begin(self.trust.watching);
    }

    fn report_connected(&mut self) {
        let session = self.client.session();
        let recursive = self.trust.watching == WatchStyle::Recursive;
        self.outbox.push(Change::Connection(ConnectionState::Connected { session, recursive }));
    }

    pub(super) fn beat(&mut self, beat: Beat) -> Result<(), ConnectionEnd> {
        match beat {
            Beat::Answered(Err(error)) if wire::ends_connection(&error) => return Err(error.into()),
            Beat::Answered(_) => self.heard(),
            // A large reply on a slow link takes longer, and the question waits behind it.
            Beat::Silent if !self.reads.is_empty() && self.member.has_sent_within(SILENT_AFTER) => self.heard(),
            Beat::Silent => {
                let since = self.heartbeat.heard_at();
                tracing::info!("the ensemble does not answer");
                self.outbox.push(Change::Heard { at: since });
                self.outbox.push(Change::Connection(ConnectionState::Silent { since }));
            }
        }
        Ok(())
    }

    /// Notes that something came from the ensemble. After a silence everything is as before: the
    /// connection has lasted, so no event is missed.
    pub(super) fn heard(&mut self) {
        if self.heartbeat.heard() {
            self.report_connected();
        }
    }

    /// Goes on with one-shot watches, and reads everything again.
    pub(super) fn lose_trust(&mut self, why: Distrust) {
        self.trust.lose(why);
        self.watchers = RecursiveWatches::default();
        self.claims.clear();
        self.claimed.clear();
        // Only a listing of its own sets a watch.
        self.scheduler.read_one_by_one();
        self.drop_reads();
        self.begin_reading();
    }

    pub(super) fn drop_reads(&mut self) {
        self.reads.clear();
        self.scheduler.begin();
        self.armed.clear();
    }
}

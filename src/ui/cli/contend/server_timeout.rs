//! How long a run waits for sessions before it begins, and for servers that are lost in the middle.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time;

use super::super::output;
use super::super::resolved::ResolvedOptions;
use lockscope_lab::contend::FleetStatus;

/// The last status of the running fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FleetState {
    /// The number of the fleet in the run.
    fleet: usize,
    connected: u32,
    /// The wanted number of clients.
    wanted: u32,
    has_begun: bool,
    /// Whether the servers have been lost for longer than the limit.
    is_lost: bool,
    trouble: Option<String>,
}

/// Expires when no further client gets a session, or, once the clients contend, when the servers
/// are lost.
pub(super) struct ServerTimeout {
    limit: Duration,
    state: watch::Sender<FleetState>,
}

impl ServerTimeout {
    /// Creates a timeout. Each further session must come within `limit`, and the servers may be
    /// lost for `limit` in the middle of a run.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, state: watch::Sender::default() }
    }

    /// Takes the status of a fleet into account.
    pub(super) fn update(&self, fleet: usize, status: &FleetStatus) {
        let has_begun = !status.elapsed.is_zero();
        let is_lost = status.servers_lost_for.is_some_and(|lost| lost >= self.limit);
        self.state.send_if_modified(|state| {
            let is_progress = (state.fleet, state.connected, state.has_begun, state.is_lost)
                != (fleet, status.connected, has_begun, is_lost);
            *state = FleetState {
                fleet,
                connected: status.connected,
                wanted: status.scenario.clients,
                has_begun,
                is_lost,
                trouble: status.clients.iter().find_map(|client| client.trouble.clone()),
            };
            is_progress
        });
    }

    /// Resolves when no session came, or no server was there, for too long. Call it once for the
    /// whole run: each call restarts the time.
    pub(super) async fn expired(&self) {
        let mut state = self.state.subscribe();
        loop {
            let (waits, is_lost) = {
                let state = state.borrow_and_update();
                (!state.has_begun, state.has_begun && state.is_lost)
            };
            if is_lost {
                return;
            }
            // The sender belongs to `self`, so it stays alive.
            if waits && time::timeout(self.limit, state.changed()).await.is_err() {
                return;
            }
            if !waits && state.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns whether the clients have contended, so that there are figures to print.
    pub(super) fn had_begun(&self) -> bool {
        self.state.borrow().has_begun
    }

    /// Returns the error that the servers did not answer, with the reason.
    pub(super) fn no_answer(&self, settings: &ResolvedOptions) -> anyhow::Error {
        let FleetState { connected, wanted, trouble, .. } = self.state.borrow().clone();
        let why = trouble.unwrap_or_else(|| format!("{} is silent", settings.connect));
        let got =
            if connected == 0 { "no test client".to_owned() } else { format!("{connected} of {wanted} test clients") };
        let hint = if connected == 0 { settings.how_to_name_servers() } else { "" };
        output::no_answer(self.limit, format_args!("{got} got a session: {why}{hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::status;
    use super::*;
    use crate::cli::options::{EnsembleOptions, SharedOptions};
    use crate::cli::resolved::Environment;

    const LIMIT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn it_ends_when_no_session_comes_and_says_how_many_there_are() {
        let timeout = ServerTimeout::new(LIMIT);
        timeout.update(1, &status(2, Duration::ZERO));
        timeout.expired().await;
        let given = Environment::default();
        let connect = EnsembleOptions { connect: Some("zk1".to_owned()), ..EnsembleOptions::default() };
        let options = SharedOptions { ensemble: connect, ..SharedOptions::default() };
        let settings = ResolvedOptions::resolve(options, &given, SharedOptions::default()).expect("sound options");
        let sentence = timeout.no_answer(&settings).to_string();
        assert!(
            sentence.contains("2 of 3 test clients") && sentence.contains("zk1") && sentence.contains("--timeout"),
            "{sentence}"
        );
    }

    #[tokio::test]
    async fn it_ends_in_the_middle_of_a_run_when_the_servers_are_away_for_too_long() {
        let timeout = ServerTimeout::new(LIMIT);
        let lost_for = |lost| FleetStatus { servers_lost_for: Some(lost), ..status(0, Duration::from_millis(1)) };
        timeout.update(1, &lost_for(LIMIT / 2));
        assert!(time::timeout(LIMIT * 5, timeout.expired()).await.is_err());
        timeout.update(1, &lost_for(LIMIT));
        timeout.expired().await;
        assert!(timeout.had_begun());
    }

    #[tokio::test]
    async fn it_lasts_forever_once_all_contend_and_begins_anew_with_the_next_fleet() {
        let timeout = ServerTimeout::new(LIMIT);
        timeout.update(1, &status(3, Duration::from_millis(1)));
        assert!(time::timeout(LIMIT * 5, timeout.expired()).await.is_err());
        timeout.update(2, &status(0, Duration::ZERO));
        timeout.expired().await;
    }
}

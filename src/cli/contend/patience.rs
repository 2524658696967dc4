//! How long it is waited for sessions before a run has begun, and for servers that were lost in its middle.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::super::CliError;
use crate::contend::FleetStatus;

/// What was last seen of the fleet that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    fleet: usize,
    connected: u32,
    asked: u32,
    has_begun: bool,
    /// Whether the servers have been lost for longer than is waited.
    is_lost: bool,
    trouble: Option<String>,
}

/// Waits for sessions as long as more and more clients get one, and once they contend as long as there are servers.
pub(super) struct Patience {
    longest: Duration,
    seen: watch::Sender<Seen>,
}

impl Patience {
    /// The ensemble must give the next session within `longest`, and may be away for so long in the middle of a run.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, seen: watch::Sender::default() }
    }

    /// Takes notice of a fleet's status.
    pub(super) fn note(&self, fleet: usize, status: &FleetStatus) {
        let has_begun = !status.elapsed.is_zero();
        let is_lost = status.servers_lost_for.is_some_and(|lost| lost >= self.longest);
        self.seen.send_if_modified(|seen| {
            let comes = (seen.fleet, seen.connected, seen.has_begun, seen.is_lost)
                != (fleet, status.connected, has_begun, is_lost);
            *seen = Seen {
                fleet,
                connected: status.connected,
                asked: status.scenario.clients,
                has_begun,
                is_lost,
                trouble: status.clients.iter().find_map(|client| client.trouble.clone()),
            };
            comes
        });
    }

    /// Ends when no session came, or no server was there, for too long. Not to be begun anew for each status: the time would begin anew too.
    pub(super) async fn lost(&self) {
        let mut seen = self.seen.subscribe();
        loop {
            let (waits, is_lost) = {
                let seen = seen.borrow_and_update();
                (!seen.has_begun, seen.has_begun && seen.is_lost)
            };
            if is_lost {
                return;
            }
            // The sender is our own, so it does not go meanwhile.
            if waits && timeout(self.longest, seen.changed()).await.is_err() {
                return;
            }
            if !waits && seen.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether it was in the middle of a run that the servers were lost: there are figures to tell.
    pub(super) fn had_begun(&self) -> bool {
        self.seen.borrow().has_begun
    }

    /// How long it waits.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// That nobody answered, and for which reason.
    pub(super) fn no_answer(&self, connect: &str) -> CliError {
        let Seen { connected, asked, trouble, .. } = self.seen.borrow().clone();
        let why = trouble.unwrap_or_else(|| format!("{connect} is silent"));
        let got =
            if connected == 0 { "no test client".to_owned() } else { format!("{connected} of {asked} test clients") };
        let reason = format!("{got} got a session: {why}");
        CliError::NoAnswer { waited: self.longest, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::status;
    use super::*;

    const LONGEST: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn it_ends_when_no_session_comes_and_says_how_many_there_are() {
        let patience = Patience::new(LONGEST);
        patience.note(1, &status(2, Duration::ZERO));
        patience.lost().await;
        let told = patience.no_answer("zk1").to_string();
        assert!(told.contains("2 of 3 test clients") && told.contains("zk1") && told.contains("--timeout"), "{told}");
    }

    #[tokio::test]
    async fn it_ends_in_the_middle_of_a_run_when_the_servers_are_away_for_too_long() {
        let patience = Patience::new(LONGEST);
        let lost_for = |lost| FleetStatus { servers_lost_for: Some(lost), ..status(0, Duration::from_millis(1)) };
        patience.note(1, &lost_for(LONGEST / 2));
        assert!(timeout(LONGEST * 5, patience.lost()).await.is_err());
        patience.note(1, &lost_for(LONGEST));
        patience.lost().await;
        assert!(patience.had_begun());
    }

    #[tokio::test]
    async fn it_lasts_for_ever_once_all_contend_and_begins_anew_with_the_next_fleet() {
        let patience = Patience::new(LONGEST);
        patience.note(1, &status(3, Duration::from_millis(1)));
        assert!(timeout(LONGEST * 5, patience.lost()).await.is_err());
        patience.note(2, &status(0, Duration::ZERO));
        patience.lost().await;
    }
}

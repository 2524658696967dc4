//! How long it is waited for sessions before a run has begun.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::super::CliError;
use crate::contend::Status;

/// What was last seen of the fleet that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    fleet: usize,
    connected: u32,
    asked: u32,
    has_begun: bool,
    trouble: Option<String>,
}

/// Waits for sessions as long as more and more clients get one, and for no end once they contend.
pub(super) struct Patience {
    longest: Duration,
    seen: watch::Sender<Seen>,
}

impl Patience {
    /// The ensemble must give the next session within `longest`.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, seen: watch::Sender::default() }
    }

    /// Takes notice of a fleet's status.
    pub(super) fn note(&self, fleet: usize, status: &Status) {
        let has_begun = !status.elapsed.is_zero();
        self.seen.send_if_modified(|seen| {
            let comes = (seen.fleet, seen.connected, seen.has_begun) != (fleet, status.connected, has_begun);
            *seen = Seen {
                fleet,
                connected: status.connected,
                asked: status.scenario.clients,
                has_begun,
                trouble: status.clients.iter().find_map(|client| client.trouble.clone()),
            };
            comes
        });
    }

    /// Ends when no session came for too long. Not to be begun anew for each status: the time would begin anew too.
    pub(super) async fn lost(&self) {
        let mut seen = self.seen.subscribe();
        loop {
            let waits = !seen.borrow_and_update().has_begun;
            // The sender is our own, so it does not go meanwhile.
            if waits && timeout(self.longest, seen.changed()).await.is_err() {
                return;
            }
            if !waits && seen.changed().await.is_err() {
                return;
            }
        }
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
    async fn it_lasts_for_ever_once_all_contend_and_begins_anew_with_the_next_fleet() {
        let patience = Patience::new(LONGEST);
        patience.note(1, &status(3, Duration::from_millis(1)));
        assert!(timeout(LONGEST * 5, patience.lost()).await.is_err());
        patience.note(2, &status(0, Duration::ZERO));
        patience.lost().await;
    }
}

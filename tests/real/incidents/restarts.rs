//! Restarts of all candidates in turn are no trouble.

use std::time::Duration;

use lockscope_model::diagnose::{Code, Severity, Thresholds};

use crate::failures::fixture::{ConsoleFixture, hasty};
use crate::harness::elections::{Elections, Ending, MACHINES};
use crate::harness::server::Server;

/// The findings that compare an election with what it was before.
const OF_ELECTIONS: [Code; 5] =
    [Code::NobodyLeads, Code::ParticipantMissing, Code::TwoLeaders, Code::Flapping, Code::StaleOwner];

/// `tests/soak --elections` does the same for any length of time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_of_all_candidates_in_turn_raise_no_finding_of_elections() {
    let server = Server::start();
    let at = server.connect_string();
    let mut elections = Elections::start(std::slice::from_ref(&at), "/elections", 1, Ending::Killed).await;
    // Longer than a killed candidate is away: its session timeout and the start of its process.
    let thresholds =
        Thresholds { stuck_after: Duration::from_secs(20), ghost_after: Duration::from_secs(10), ..hasty() };
    let mut console = ConsoleFixture::start(&at, thresholds).await;
    console.until_contenders(MACHINES * elections.paths().len()).await;
    // Each ends as the restart before said, or as they were started.
    for (machine, ending) in [(0, Ending::Closed), (1, Ending::Closed), (2, Ending::Killed), (0, Ending::Killed)] {
        console.during(elections.restart(machine, Duration::from_secs(2), ending)).await;
    }
    console.looks_on(&[0, 10]).await;
    let raised = console.raised.iter().filter(|found| OF_ELECTIONS.contains(&found.code));
    assert_eq!(raised.map(|found| format!("{found:?}")).collect::<Vec<_>>(), [""; 0]);
    // They are found when they are real.
    for machine in 0..MACHINES {
        console.during(elections.stop(machine)).await;
    }
    console.finds(Code::NobodyLeads, Severity::Critical).await;
}

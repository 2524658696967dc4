//! What a client sees when a connection breaks, with the simulated servers and client library of
//! the exploration. The cases are those of `tests/real/requests`: what the exploration concludes
//! about locks holds for real clients only as far as both behave alike.
//!
//! Two tests of `tests/real/requests/client.rs` have no counterpart here:
//!
//! - `a_client_that_is_dropped_closes_its_session`: a simulated session ends by expiry only. A
//!   program that closes its client gives up nothing that an expiry does not end too.
//! - `more_than_128_kib_of_watched_paths_end_the_session_at_a_reconnect`: the programs of the
//!   exploration watch a few nodes.

#[path = "../real/requests/cases/mod.rs"]
mod cases;
mod client;
mod servers;

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::timeout;

use self::servers::{SimEnsemble, SimServers};

/// Longer than any case, in the time of the simulation.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

/// Runs a case on one thread. Its clock moves when everything waits.
fn run(case: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without sockets always starts");
    LocalSet::new().block_on(&runtime, async { timeout(PATIENCE, case).await.expect("it ends in time") });
}

macro_rules! tests {
    ($servers:ident: $($group:ident::$case:ident,)*) => {$(
        #[test]
        fn $case() {
            run(cases::$group::$case::<$servers>());
        }
    )*};
}

cases::for_each_case!(tests, SimServers);
cases::for_each_case_of_moving_sessions!(tests, SimEnsemble);

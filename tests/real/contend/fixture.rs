//! A fleet on a server, and ways to wait for its states.

use std::sync::Arc;

use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{
    ClientId, ClientStatus, Fleet, FleetCommand, FleetOptions, FleetOutcome, FleetStatus, Scenario,
};
use lockscope_lock::{Access, Algorithm};
use tokio::time::timeout;

use crate::harness::wait::PATIENCE;
use crate::observe::fixture::connection;

pub fn options(connect: &str) -> FleetOptions {
    FleetOptions { connection: connection(connect), own_watches: 0, asks_servers: true }
}

pub fn scenario(algorithm: Algorithm, path: &str, clients: u32, rounds: u32) -> Scenario {
    let path = ZnodePath::new(path).expect("a path");
    Scenario { rounds: Some(rounds), seed: 7, ..Scenario::new(algorithm, path, clients) }
}

/// Returns every algorithm, by its name on the command line.
pub fn all_algorithms() -> Vec<Algorithm> {
    let leases = std::num::NonZeroU32::new(3).expect("3");
    Algorithm::NAMES.iter().filter_map(|name| Algorithm::named(name, Access::Write, leases)).collect()
}

/// A running fleet.
pub struct FleetFixture {
    pub fleet: Fleet,
}

impl FleetFixture {
    pub fn start(connect: &str, scenario: Scenario) -> Self {
        Self { fleet: Fleet::start(options(connect), scenario).expect("a sound scenario") }
    }

    /// Waits until the fleet satisfies a condition.
    pub async fn until(&mut self, what: &str, mut is_so: impl FnMut(&FleetStatus) -> bool) -> Arc<FleetStatus> {
        let waiting = async {
            loop {
                let status = self.fleet.changed().await.expect("a fleet that runs");
                if is_so(&status) {
                    return status;
                }
            }
        };
        let Ok(status) = timeout(PATIENCE, waiting).await else {
            panic!("not {what}: {:#?}", self.fleet.status());
        };
        status
    }

    /// Waits until a client satisfies a condition.
    pub async fn until_client(
        &mut self,
        id: ClientId,
        what: &str,
        is_so: impl Fn(&ClientStatus) -> bool,
    ) -> Arc<FleetStatus> {
        self.until(what, |status| is_so(client(status, id))).await
    }

    pub fn order(&self, order: FleetCommand) {
        assert!(self.fleet.command(order), "there is room for orders");
    }

    /// Waits until all rounds are done, and ends the fleet. The rounds may take long, but must make
    /// progress.
    pub async fn finish(mut self) -> FleetOutcome {
        let progress = |status: &FleetStatus| {
            let connected = status.clients.iter().filter(|client| client.session.is_some()).count();
            (connected, status.totals.acquisitions)
        };
        loop {
            let before = progress(&self.fleet.status());
            let status =
                self.until("finished, nor goes on", |status| status.finished || progress(status) != before).await;
            if status.finished {
                return self.fleet.stop().await;
            }
        }
    }
}

pub fn client(status: &FleetStatus, id: ClientId) -> &ClientStatus {
    status.clients.iter().find(|client| client.id == id).unwrap_or_else(|| panic!("no client {id} in {status:#?}"))
}

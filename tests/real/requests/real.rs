//! A real server, and a relay that holds up and cuts the connection of the client under test.

use std::sync::Arc;
use std::time::Duration;

use lockscope_requests::Requests;
use zookeeper_client::Client;

use super::cases::Servers;
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The shared server, with a root node for each test.
#[derive(Debug)]
pub struct RealServers {
    root: String,
    relay: Relay,
    client: Arc<Client>,
    other: Arc<Client>,
}

impl RealServers {
    /// Stalls both directions from the first of these packets on.
    fn stall_at(&self, places: &[Place]) {
        let faults: Vec<Fault> = places.iter().map(|&place| Fault { place, then: Then::Stall }).collect();
        self.relay.arm(&faults);
    }
}

impl Servers for RealServers {
    async fn start(session_timeout: Duration) -> Self {
        let server = Server::shared().connect_string();
        let other = zk::own_root("requests").await;
        let root = other[server.len()..].to_owned();
        let relay = Relay::start(&server).await;
        let client = zk::connect_within(&(relay.connect_string() + &root), session_timeout).await;
        Self { root, relay, client: Arc::new(client), other: Arc::new(zk::connect(&other).await) }
    }

    fn client(&self) -> Arc<dyn Requests> {
        self.client.clone()
    }

    fn other(&self) -> Arc<dyn Requests> {
        self.other.clone()
    }

    fn hold_request(&mut self) {
        self.stall_at(&[Place::BeforeRequest(1)]);
    }

    fn hold_reply(&mut self) {
        self.stall_at(&[Place::AfterRequest(1), Place::AtEvent(1)]);
    }

    async fn held(&mut self) {
        eventually("a packet that is held", async || if self.relay.stalled() { Ok(()) } else { Err(()) }).await;
    }

    async fn cut(&mut self) {
        self.relay.refuse().await;
        self.relay.disarm();
        self.relay.resume();
    }

    async fn heal(&mut self) {
        self.relay.heal();
    }

    async fn expire(&mut self) {
        self.cut().await;
        let (server, session) = (Server::shared(), self.client.session().clone());
        let id = format!("0x{:x}", session.id().0);
        let taken_over = Client::connector().with_session(session).connect(&server.connect_string()).await;
        drop(taken_over.expect("the session is taken over"));
        eventually("the end of the session", async || match server.words("dump") {
            dump if dump.contains(&id) => Err(dump),
            _ => Ok(()),
        })
        .await;
    }

    async fn is_watched(&mut self, path: &str) -> bool {
        let path = format!("{}{path}", self.root);
        Server::shared().words("wchp").lines().any(|line| line == path)
    }
}

//! Simulated servers, on which everything moves at once that is not held up.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use lockscope_explore::ensemble::{LEADER, LinkId, SimulatedEnsemble, session_of};
use lockscope_explore::library::shared;
use lockscope_requests::Requests;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::cases::{Member, MovingSession, Servers};
use super::client::{Client, Hold};

/// The follower.
const FOLLOWER: usize = 1;

/// The number of the connection that takes over the session of the client under test.
const TAKEN_OVER: u32 = u32::MAX;

/// The interval in which requests and messages move.
const INTERVAL: Duration = Duration::from_millis(1);

/// The number of intervals in a second.
const INTERVALS: u32 = 1000;

/// The servers, and all clients. The first is the client under test.
#[derive(Debug)]
struct Simulation {
    ensemble: SimulatedEnsemble,
    clients: Vec<Client>,
}

type Shared = Rc<RefCell<Simulation>>;

impl Simulation {
    /// Starts servers, and connects a client to each of these members.
    fn start(members: usize, clients: &[usize]) -> Shared {
        let mut ensemble = SimulatedEnsemble::new(members, 0, false);
        let clients = clients.iter().enumerate().map(|(index, member)| Client::start(&mut ensemble, index, *member));
        let clients = clients.collect();
        let simulation = Rc::new(RefCell::new(Self { ensemble, clients }));
        spawn_local(run(Rc::clone(&simulation)));
        simulation
    }

    /// Moves everything that is not held up. A connection that breaks stays away until the next
    /// call, so that its client learns of it.
    fn settle(&mut self) {
        let Self { ensemble, clients } = self;
        for client in &mut *clients {
            client.connect(ensemble);
        }
        while clients.iter_mut().map(|client| client.step(ensemble)).fold(false, |moved, more| moved | more) {}
    }

    fn pass(&mut self) {
        for client in &mut self.clients {
            client.pass(&mut self.ensemble);
        }
    }
}

async fn run(simulation: Shared) {
    loop {
        for _ in 0..INTERVALS {
            sleep(INTERVAL).await;
            simulation.borrow_mut().settle();
        }
        simulation.borrow_mut().pass();
    }
}

fn client(simulation: &Shared, index: usize) -> Arc<dyn Requests> {
    shared(&simulation.borrow().clients[index].library)
}

/// A server with the client under test and another client.
#[derive(Debug)]
pub struct SimServers(Shared);

impl Servers for SimServers {
    /// The simulated servers do not negotiate the session timeout.
    async fn start(_: Duration) -> Self {
        Self(Simulation::start(1, &[LEADER, LEADER]))
    }

    fn client(&self) -> Arc<dyn Requests> {
        client(&self.0, 0)
    }

    fn other(&self) -> Arc<dyn Requests> {
        client(&self.0, 1)
    }

    fn hold_request(&mut self) {
        self.0.borrow_mut().clients[0].hold = Hold::FromRequest;
    }

    fn hold_reply(&mut self) {
        self.0.borrow_mut().clients[0].hold = Hold::FromMessage;
    }

    async fn held(&mut self) {
        while self.0.borrow().clients[0].hold != Hold::Everything {
            sleep(INTERVAL).await;
        }
    }

    async fn cut(&mut self) {
        let Simulation { ensemble, clients } = &mut *self.0.borrow_mut();
        clients[0].cut(ensemble);
    }

    async fn heal(&mut self) {
        self.0.borrow_mut().clients[0].is_refused = false;
    }

    async fn expire(&mut self) {
        self.cut().await;
        self.0.borrow_mut().ensemble.expire(session_of(0));
    }

    async fn is_watched(&mut self, path: &str) -> bool {
        self.0.borrow().ensemble.is_watched(path)
    }
}

/// Two servers with one client.
#[derive(Debug)]
pub struct SimEnsemble {
    simulation: Shared,
    member: Member,
}

fn place(member: Member) -> usize {
    match member {
        Member::Leader => LEADER,
        Member::Follower => FOLLOWER,
    }
}

impl MovingSession for SimEnsemble {
    async fn start(member: Member) -> Self {
        Self { simulation: Simulation::start(2, &[place(member)]), member }
    }

    fn client(&self) -> Arc<dyn Requests> {
        client(&self.simulation, 0)
    }

    async fn take_over(&mut self) {
        let target = match self.member {
            Member::Leader => Member::Follower,
            Member::Follower => Member::Leader,
        };
        let link = LinkId { client: 0, number: TAKEN_OVER };
        let lives = self.simulation.borrow_mut().ensemble.connect(link, place(target), 0);
        assert!(lives, "the session has ended");
    }
}

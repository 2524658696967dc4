//! The faults of servers, connections and clients. At most one member is affected at a time, so
//! that there is always a majority, and each fault ends.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::clients::Clients;
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::relay::Relay;

/// The time to wait for the end of the connections that are cut.
const GRACE: Duration = Duration::from_millis(500);

/// A group of connections, with a relay to each member.
pub struct Links {
    relays: Vec<Relay>,
    fault: Option<(usize, Fault, Instant)>,
}

impl Links {
    pub fn start(runtime: &Runtime, ensemble: &Ensemble) -> Self {
        let relays = (0..MEMBERS).map(|member| runtime.block_on(Relay::start(&ensemble.address(member))));
        Self { relays: relays.collect(), fault: None }
    }

    /// Returns the addresses of the relays to all members.
    pub fn connect_string(&self) -> String {
        self.relays.iter().map(Relay::connect_string).collect::<Vec<_>>().join(",")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Killed,
    Stopped,
    Refused,
    HeldUp,
}

/// The number of faults of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub members_killed: u32,
    pub members_stopped: u32,
    pub cuts: u32,
    pub hold_ups: u32,
    pub clients_killed: u32,
    pub clients_frozen: u32,
}

/// The servers, connections and clients that faults affect.
pub struct Faults {
    pub ensemble: Ensemble,
    /// The connections of the clients, and of each of lockscope's programs.
    pub links: Vec<Links>,
    pub clients: Clients,
    pub done: Done,
    member: Option<(usize, Fault, Instant)>,
    client: Option<(usize, Fault, Instant)>,
}

impl Faults {
    pub fn new(ensemble: Ensemble, links: Vec<Links>, clients: Clients) -> Self {
        Self { ensemble, links, clients, done: Done::default(), member: None, client: None }
    }

    /// Ends the faults that are due, and starts another one now and then. The caller calls this
    /// about ten times per second.
    pub fn step(&mut self, runtime: &Runtime, random: &mut fastrand::Rng) {
        let now = Instant::now();
        self.end(|until| until <= now);
        if self.member.is_none() && random.u32(..60) == 0 {
            self.harm_member(random);
        }
        if self.client.is_none() && random.u32(..30) == 0 {
            self.harm_client(random);
        }
        if random.u32(..25) == 0 {
            let links = random.usize(..self.links.len());
            self.harm_links(links, runtime, random);
        }
    }

    /// Ends all faults, and waits until all members serve.
    pub fn calm(&mut self) {
        self.end(|_| true);
        self.ensemble.leader();
    }

    fn end(&mut self, is_due: impl Fn(Instant) -> bool) {
        if let Some((member, fault, _)) = self.member.take_if(|(_, _, until)| is_due(*until)) {
            match fault {
                Fault::Killed => self.ensemble.start_again(member),
                _ => self.ensemble.resume(member),
            }
        }
        if let Some((client, fault, _)) = self.client.take_if(|(_, _, until)| is_due(*until)) {
            match fault {
                Fault::Killed => self.clients.processes[client].start(),
                _ => self.clients.thaw(client),
            }
        }
        for Links { relays, fault } in &mut self.links {
            if let Some((relay, fault, _)) = fault.take_if(|(_, _, until)| is_due(*until)) {
                match fault {
                    Fault::HeldUp => relays[relay].resume(),
                    _ => relays[relay].heal(),
                }
            }
        }
    }

    fn harm_member(&mut self, random: &mut fastrand::Rng) {
        let member = random.usize(..MEMBERS);
        let fault = if random.bool() { Fault::Killed } else { Fault::Stopped };
        if fault == Fault::Killed {
            self.ensemble.stop(member);
            self.done.members_killed += 1;
        } else {
            self.ensemble.pause(member);
            self.done.members_stopped += 1;
        }
        self.member = Some((member, fault, soon(random, 8)));
    }

    fn harm_client(&mut self, random: &mut fastrand::Rng) {
        let client = random.usize(..self.clients.processes.len());
        let fault = if random.bool() { Fault::Killed } else { Fault::Stopped };
        if fault == Fault::Killed {
            self.clients.kill(client);
            self.done.clients_killed += 1;
        } else {
            self.clients.processes[client].freeze();
            self.done.clients_frozen += 1;
        }
        self.client = Some((client, fault, soon(random, 10)));
    }

    fn harm_links(&mut self, links: usize, runtime: &Runtime, random: &mut fastrand::Rng) {
        let Links { relays, fault } = &mut self.links[links];
        if fault.is_some() {
            return;
        }
        let relay = random.usize(..relays.len());
        let new = if random.bool() { Fault::Refused } else { Fault::HeldUp };
        if new == Fault::Refused {
            // A connection of a frozen process ends only when the process continues, so the wait is
            // bounded.
            let _ = runtime.block_on(async { timeout(GRACE, relays[relay].refuse()).await });
            self.done.cuts += 1;
        } else {
            relays[relay].pause();
            self.done.hold_ups += 1;
        }
        *fault = Some((relay, new, soon(random, 8)));
    }
}

fn soon(random: &mut fastrand::Rng, most_seconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(random.u64(500..most_seconds * 1000))
}

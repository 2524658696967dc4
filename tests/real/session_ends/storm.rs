//! Many sessions, each with a lock node, that end in every way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::harness::raw::{Body, Raw, Request};

/// The flags of an ephemeral sequential node.
const EPHEMERAL_SEQUENTIAL: i32 = 3;

/// The number of locks; some contenders wait, and some hold.
pub const LOCKS: u32 = 40;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The client deletes the node and closes the session later.
    Delete,
    /// The client closes the session.
    Close,
    /// Another session deletes the node of a live client.
    DeletedByAnother,
    /// The connection is cut forever, as when the client's process is killed.
    Cut,
    /// The client falls silent, but its connection stays, as when its process is stopped or its network
    /// is cut.
    Silent,
    /// The connection is cut, and another session deletes the node before the session expires.
    CutAndDeletedByAnother,
    /// The connection is cut; the client returns and deletes the node if it is in time.
    CutAndBack,
    /// The client is silent for some time, then deletes the node if it is in time.
    SilentAndBack,
}

const ENDINGS: [Ending; 8] = [
    Ending::Delete,
    Ending::Close,
    Ending::DeletedByAnother,
    Ending::Cut,
    Ending::Silent,
    Ending::CutAndDeletedByAnother,
    Ending::CutAndBack,
    Ending::SilentAndBack,
];

/// The next step of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Begin,
    Beat,
    End,
    Finish,
}

/// A session and its node.
#[derive(Debug)]
struct Life {
    ending: Ending,
    timeout_ms: i32,
    lock: u32,
    client: Option<Raw>,
    node: String,
    /// When the life ends, or when its connection is cut or it falls silent.
    ends_at: Instant,
}

/// What a storm does.
#[derive(Clone, Debug)]
pub struct StormPlan {
    /// Each client connects to one of these servers.
    pub servers: Vec<SocketAddr>,
    /// The requested session timeouts, in milliseconds.
    pub timeouts_ms: Vec<i32>,
    /// The number of lives; one starts after each pause.
    pub lives: u32,
    pub pause: Duration,
    pub seed: u64,
}

/// Runs lives on one thread.
#[derive(Debug)]
pub struct Storm {
    plan: StormPlan,
    random: fastrand::Rng,
    lives: Vec<Life>,
    steps: BinaryHeap<Reverse<(Instant, usize, Step)>>,
    another: Raw,
    another_heard: Instant,
}

impl Storm {
    /// Runs all lives to their ends.
    pub fn run(plan: StormPlan) {
        let another = Raw::connect_at(plan.servers[0], 30_000);
        let random = fastrand::Rng::with_seed(plan.seed);
        let (now, lives, pause) = (Instant::now(), plan.lives, plan.pause);
        let mut storm = Self { plan, random, lives: Vec::new(), steps: BinaryHeap::new(), another, another_heard: now };
        for number in 0..lives {
            let begins = now + pause * number + pause.mul_f64(storm.random.f64());
            let number = storm.lives.len();
            let life = storm.life(number, begins);
            storm.lives.push(life);
            storm.plan(begins, number, Step::Begin);
        }
        while let Some(Reverse((at, number, step))) = storm.steps.pop() {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            storm.keep_another_alive();
            storm.step(number, step);
        }
        storm.another.close();
    }

    fn life(&mut self, number: usize, begins: Instant) -> Life {
        let timeout_ms = self.plan.timeouts_ms[self.random.usize(..self.plan.timeouts_ms.len())];
        // Some lives end at once, and some last longer than a short timeout.
        let longest = [60, 1_000, u64::try_from(timeout_ms).expect("positive") / 2 + 2_000][self.random.usize(..3)];
        let stands = Duration::from_millis(self.random.u64(..longest));
        Life {
            ending: ENDINGS[number % ENDINGS.len()],
            timeout_ms,
            lock: self.random.u32(..LOCKS),
            client: None,
            node: String::new(),
            ends_at: begins + stands,
        }
    }

    /// Returns a server that a client connects to.
    fn server(&mut self) -> SocketAddr {
        self.plan.servers[self.random.usize(..self.plan.servers.len())]
    }

    fn plan(&mut self, at: Instant, number: usize, step: Step) {
        self.steps.push(Reverse((at, number, step)));
    }

    fn keep_another_alive(&mut self) {
        if self.another_heard.elapsed() > Duration::from_secs(5) {
            self.another.drain();
            self.another_heard = Instant::now();
        }
    }

    fn step(&mut self, number: usize, step: Step) {
        match step {
            Step::Begin => self.begin(number),
            Step::Beat => self.beat(number),
            Step::End => self.end(number),
            Step::Finish => self.finish(number),
        }
    }

    fn begin(&mut self, number: usize) {
        let server = self.server();
        let life = &mut self.lives[number];
        let mut client = Raw::connect_at(server, life.timeout_ms);
        let id = uuid::Uuid::from_u128(self.random.u128(..));
        let wish = Request::create(&format!("/locks/lock-{}/_c_{id}-lock-", life.lock), EPHEMERAL_SEQUENTIAL);
        let reply = client.ask(&wish).pop().expect("a reply");
        life.node = Body(&reply.body).text();
        life.client = Some(client);
        let (ends_at, beat) = (life.ends_at, self.next_beat(number));
        self.plan(ends_at.max(Instant::now()), number, Step::End);
        self.plan(beat, number, Step::Beat);
    }

    fn next_beat(&self, number: usize) -> Instant {
        Instant::now() + Duration::from_millis(u64::try_from(self.lives[number].timeout_ms / 3).expect("positive"))
    }

    /// Sends a heartbeat for as long as the client is active.
    fn beat(&mut self, number: usize) {
        let life = &mut self.lives[number];
        let is_over = Instant::now() >= life.ends_at;
        let Some(client) = life.client.as_mut().filter(|_| !is_over) else { return };
        client.drain();
        let beat = self.next_beat(number);
        self.plan(beat, number, Step::Beat);
    }

    fn end(&mut self, number: usize) {
        let timeout = self.lives[number].timeout_ms;
        let within = |random: &mut fastrand::Rng, millis: i32| {
            Duration::from_millis(random.u64(..u64::try_from(millis.max(1)).expect("positive")))
        };
        let life = &mut self.lives[number];
        let client = life.client.as_mut().expect("it lives");
        let wait = match life.ending {
            Ending::Delete => {
                client.ask(&Request::delete(&life.node, -1));
                within(&mut self.random, 700)
            }
            Ending::Close => return life.client.take().expect("it lives").close(),
            Ending::DeletedByAnother => {
                self.another.ask(&Request::delete(&life.node, -1));
                within(&mut self.random, 700)
            }
            Ending::Cut => return life.client = None,
            Ending::CutAndDeletedByAnother => {
                life.client = None;
                within(&mut self.random, timeout)
            }
            Ending::Silent => Duration::from_millis(u64::try_from(timeout).expect("positive") + 3_000),
            // Also around the time of the expiry.
            Ending::CutAndBack | Ending::SilentAndBack => within(&mut self.random, timeout * 6 / 5),
        };
        if life.ending == Ending::CutAndBack {
            life.cut();
        }
        self.plan(Instant::now() + wait, number, Step::Finish);
    }

    fn finish(&mut self, number: usize) {
        let server = self.server();
        let life = &mut self.lives[number];
        match life.ending {
            Ending::CutAndDeletedByAnother => drop(self.another.ask(&Request::delete(&life.node, -1))),
            Ending::CutAndBack => {
                let Some(greeting) = life.client.take().map(|client| client.greeting) else { return };
                let back = Raw::resume_at(server, life.timeout_ms, greeting.session, &greeting.password, 0);
                if let Ok(mut back) = back
                    && back.greeting.timeout > 0
                {
                    back.ask(&Request::delete(&life.node, -1));
                    back.close();
                }
            }
            Ending::SilentAndBack => {
                let Some(mut client) = life.client.take() else { return };
                client.ask(&Request::delete(&life.node, -1));
                client.close();
            }
            Ending::Delete | Ending::DeletedByAnother => life.client.take().expect("it lives").close(),
            Ending::Silent | Ending::Close | Ending::Cut => life.client = None,
        }
    }
}

impl Life {
    /// Cuts the connection; the session can resume.
    fn cut(&mut self) {
        if let Some(client) = &self.client {
            client.cut();
        }
    }
}

//! A relay on a loopback port between clients and a server. It cuts, refuses, stalls, delays,
//! counts and rewrites, and makes each [`Fault`] strike at exactly the request or event that the
//! fault names.

mod fault;
mod link;
mod log;
mod session;
mod wire;

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::fault::{Fault, Place, Then};
pub use self::log::{Asked, Passed, round_trips};
pub use self::wire::op;

use super::wait::eventually;

/// A relay to one server. It ends when dropped.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    target: String,
    /// The address at which the server sees the clients, if it is not the usual one.
    from: Option<Ipv4Addr>,
    conditions: watch::Sender<Conditions>,
    live: AtomicUsize,
    traffic: Traffic,
    rewrites: Mutex<HashMap<i32, i32>>,
    plan: Mutex<fault::Plan>,
}

/// The packets that a relay has let through.
#[derive(Debug, Default)]
struct Traffic {
    to_server: AtomicU64,
    to_client: AtomicU64,
    accepted: AtomicU64,
    requests: Mutex<HashMap<i32, u64>>,
    events: AtomicU64,
    log: Mutex<Option<Vec<Passed>>>,
}

/// The conditions of all connections. Connections of an earlier age end.
#[derive(Clone, Copy, Debug, Default)]
struct Conditions {
    age: u64,
    refuses: bool,
    /// Whether the sessions of cut connections end too.
    expires: bool,
    paused: bool,
    delay: Duration,
}

impl Relay {
    /// Starts a relay to a server, given as `HOST:PORT`, in the current runtime.
    pub async fn start(target: &str) -> Self {
        Self::between(None, target).await
    }

    /// Starts a relay to a server that sees the clients at another loopback address, so that clients
    /// seem to be on a machine of their own.
    pub async fn start_from(from: Ipv4Addr, target: &str) -> Self {
        Self::between(Some(from), target).await
    }

    async fn between(from: Option<Ipv4Addr>, target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            target: target.to_owned(),
            from,
            conditions: watch::Sender::default(),
            live: AtomicUsize::new(0),
            traffic: Traffic::default(),
            rewrites: Mutex::default(),
            plan: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { port, shared, accepting }
    }

    /// Returns `127.0.0.1:PORT`.
    pub fn connect_string(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Drops all connections, and returns when they are gone. New connections are accepted.
    pub async fn cut(&self) {
        let refused = self.shared.conditions.borrow().refuses;
        self.refuse().await;
        self.shared.conditions.send_modify(|conditions| conditions.refuses = refused);
    }

    /// Drops all connections and every new one until `heal`. Returns when the old ones are gone.
    pub async fn refuse(&self) {
        self.shared.conditions.send_modify(|conditions| {
            conditions.age += 1;
            conditions.refuses = true;
        });
        eventually("the end of the relay's connections", async || match self.live() {
            0 => Ok(()),
            live => Err(live),
        })
        .await;
    }

    /// Drops every new connection until `heal`. Existing connections stay.
    pub fn refuse_new(&self) {
        self.shared.refuse_new();
    }

    /// Ends `refuse`.
    pub fn heal(&self) {
        self.shared.heal();
    }

    /// Ends the sessions of all connections without a message from the server: cuts the connections
    /// and refuses new ones until the sessions are gone from the server.
    pub async fn expire(&self) {
        self.shared.conditions.send_modify(|conditions| conditions.expires = true);
        self.refuse().await;
        self.shared.conditions.send_modify(|conditions| conditions.expires = false);
        self.heal();
    }

    /// Stalls both directions; connections stay.
    pub fn pause(&self) {
        self.shared.set_paused(true);
    }

    /// Releases everything that was stalled.
    pub fn resume(&self) {
        self.shared.set_paused(false);
    }

    /// Delays every later packet by `each_way` in each direction; packets do not wait for each
    /// other.
    pub fn delay(&self, each_way: Duration) {
        self.shared.conditions.send_modify(|conditions| conditions.delay = each_way);
    }

    /// Arms faults: each strikes once, at the request or event that it names, counted from now.
    /// Replaces the faults armed before.
    pub fn arm(&self, faults: &[Fault]) {
        lock(&self.shared.plan).arm(faults);
    }

    /// Forgets the faults that have not struck. Returns whether there were none.
    pub fn disarm(&self) -> bool {
        lock(&self.shared.plan).disarm().is_empty()
    }

    /// Returns whether everything is stalled, by `pause` or by a fault.
    pub fn stalled(&self) -> bool {
        self.shared.conditions.borrow().paused
    }

    /// Returns whether connections are refused, by `refuse` or until a fault's session is gone from
    /// the server.
    pub fn refuses(&self) -> bool {
        self.shared.conditions.borrow().refuses
    }

    /// Rewrites later requests of one operation into another operation.
    pub fn rewrite_op(&self, from: i32, to: i32) {
        lock(&self.shared.rewrites).insert(from, to);
    }

    /// Returns the number of requests of each operation so far, as the clients sent them.
    pub fn requests(&self) -> HashMap<i32, u64> {
        lock(&self.shared.traffic.requests).clone()
    }

    /// Returns the number of watch events that the clients have received.
    pub fn events(&self) -> u64 {
        self.shared.traffic.events.load(Ordering::SeqCst)
    }

    /// Starts a new log of the packets and drops the previous log. Heartbeats, authentication and
    /// watches set again after a reconnect are not logged.
    pub fn record(&self) {
        *lock(&self.shared.traffic.log) = Some(Vec::new());
    }

    /// Returns the packets since `record`, in order.
    pub fn recorded(&self) -> Vec<Passed> {
        lock(&self.shared.traffic.log).clone().expect("record was called")
    }

    /// Returns the number of open connections.
    pub fn live(&self) -> usize {
        self.shared.live.load(Ordering::SeqCst)
    }

    /// Returns the number of connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.shared.traffic.accepted.load(Ordering::SeqCst)
    }

    /// Returns the bytes let through so far, to the server and to the clients.
    pub fn bytes(&self) -> (u64, u64) {
        let Traffic { to_server, to_client, .. } = &self.shared.traffic;
        (to_server.load(Ordering::SeqCst), to_client.load(Ordering::SeqCst))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.conditions.send_modify(|conditions| conditions.age += 1);
    }
}

impl Shared {
    fn refuse_new(&self) {
        self.conditions.send_modify(|conditions| conditions.refuses = true);
    }

    fn set_paused(&self, paused: bool) {
        self.conditions.send_modify(|conditions| conditions.paused = paused);
    }

    fn heal(&self) {
        self.conditions.send_modify(|conditions| conditions.refuses = false);
    }

    /// Counts a request, logs it unless it is the session's own, and rewrites its operation.
    fn note(&self, frame: &mut [u8], asked: Option<Asked>) {
        let Some(sent) = wire::operation(frame) else { return };
        *lock(&self.traffic.requests).entry(sent).or_default() += 1;
        if let Some(rewritten) = lock(&self.rewrites).get(&sent) {
            wire::set_operation(frame, *rewritten);
        }
        if let Some(asked) = asked {
            self.traffic.write_down(Passed::Request(asked));
        }
    }
}

impl Traffic {
    fn write_down(&self, passed: Passed) {
        if passed == Passed::Event {
            self.events.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(log) = &mut *lock(&self.log) {
            log.push(passed);
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        // Counted before the conditions are read: a cut either counts this connection, or the
        // connection sees the cut.
        shared.live.fetch_add(1, Ordering::SeqCst);
        let conditions = shared.conditions.subscribe();
        let Conditions { age, refuses, .. } = *conditions.borrow();
        if refuses {
            shared.live.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        shared.traffic.accepted.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(client, Arc::clone(&shared), age, conditions));
    }
}

async fn serve(client: TcpStream, shared: Arc<Shared>, age: u64, conditions: watch::Receiver<Conditions>) {
    // Ends with either side, like any connection; the kind of error does not matter.
    let doomed = link::serve(&shared, client, age, conditions).await.unwrap_or_default();
    if let Some(session) = doomed {
        session.close(&shared.target).await;
        shared.heal();
    }
    shared.live.fetch_sub(1, Ordering::SeqCst);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

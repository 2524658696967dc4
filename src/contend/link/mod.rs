//! A client's own link: a relay on loopback between the client and a server, which counts what passes, and can delay,
//! pause, cut and heal.

mod frames;
mod pump;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use self::frames::{Frames, Side};
use self::pump::pump;
use super::LinkState;
use crate::zk::Dialer;

/// A client has one connection, and for a moment two while it makes a new one.
const MOST_CONNECTIONS: usize = 4;

/// How a link treats what passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// How long everything is kept, each way.
    pub(super) delay: Duration,
    /// Whether nothing passes, while the connection stays.
    pub(super) paused: bool,
    /// Whether there is no connection.
    pub(super) cut: bool,
}

impl Flow {
    pub(super) fn state(self) -> LinkState {
        match self {
            Self { cut: true, .. } => LinkState::Cut,
            Self { paused: true, .. } => LinkState::Paused,
            Self { delay: Duration::ZERO, .. } => LinkState::Whole,
            _ => LinkState::Delayed,
        }
    }
}

/// What passed a link, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Requests that somebody made for a purpose: no heartbeats, no authentication, no end of a session.
    pub(super) requests: u64,
    /// Watch events.
    pub(super) events: u64,
    /// Bytes to the server.
    pub(super) up: u64,
    /// Bytes from the server.
    pub(super) down: u64,
}

impl std::ops::AddAssign for Passed {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.events += other.events;
        self.up += other.up;
        self.down += other.down;
    }
}

/// Counts what passes.
#[derive(Debug, Default)]
pub(super) struct Meter {
    requests: AtomicU64,
    events: AtomicU64,
    up: AtomicU64,
    down: AtomicU64,
}

impl Meter {
    /// Counts bytes that have passed.
    fn count(&self, frames: &mut Frames, bytes: &[u8]) {
        let (passed, marked) = match frames.side() {
            Side::Client => (&self.up, &self.requests),
            Side::Server => (&self.down, &self.events),
        };
        passed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        marked.fetch_add(frames.feed(bytes), Ordering::Relaxed);
    }

    fn passed(&self) -> Passed {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Passed {
            requests: load(&self.requests),
            events: load(&self.events),
            up: load(&self.up),
            down: load(&self.down),
        }
    }
}

/// A link. It ends with this value.
#[derive(Debug)]
pub(super) struct Link {
    address: SocketAddr,
    flow: watch::Sender<Flow>,
    meter: Arc<Meter>,
    _task: AbortOnDropHandle<()>,
}

impl Link {
    /// A link to the servers that `dialer` knows. It fails when there are no sockets left.
    pub(super) async fn start(dialer: Arc<Dialer>, delay: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (flow, seen) = watch::channel(Flow { delay, ..Flow::default() });
        let meter = Arc::new(Meter::default());
        let task = tokio::spawn(serve(listener, dialer, seen, Arc::clone(&meter)));
        Ok(Self { address, flow, meter, _task: AbortOnDropHandle::new(task) })
    }

    /// Where the client connects.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn flow(&self) -> Flow {
        *self.flow.borrow()
    }

    /// Changes how it treats what passes, from now on; what is under way included.
    pub(super) fn change(&self, change: impl FnOnce(&mut Flow)) {
        self.flow.send_modify(change);
    }

    pub(super) fn passed(&self) -> Passed {
        self.meter.passed()
    }
}

async fn serve(listener: TcpListener, dialer: Arc<Dialer>, flow: watch::Receiver<Flow>, meter: Arc<Meter>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((client, _)) = listener.accept().await else {
            // No socket left, or the like. It passes, or the client gives up.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if flow.borrow().cut || connections.len() >= MOST_CONNECTIONS {
            continue;
        }
        connections.spawn(relay(client, Arc::clone(&dialer), flow.clone(), Arc::clone(&meter)));
    }
}

/// Relays one connection until either side ends it, or the link is cut.
async fn relay(client: TcpStream, dialer: Arc<Dialer>, flow: watch::Receiver<Flow>, meter: Arc<Meter>) {
    let mut cut = flow.clone();
    tokio::select! {
        () = converse(client, &dialer, &flow, &meter) => {}
        // The link's end is the end of its connections too.
        _ = cut.wait_for(|flow| flow.cut) => {}
    }
}

async fn converse(client: TcpStream, dialer: &Dialer, flow: &watch::Receiver<Flow>, meter: &Meter) {
    let Ok(_) = flow.clone().wait_for(|flow| !flow.paused).await else { return };
    let Ok(server) = dialer.dial().await else { return };
    // Small frames shall not wait for each other.
    let _ = client.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = tokio::io::split(server);
    tokio::select! {
        () = pump(from_client, to_server, flow.clone(), meter, Frames::new(Side::Client)) => {}
        () = pump(from_server, to_client, flow.clone(), meter, Frames::new(Side::Server)) => {}
    }
}

//! A relay on a loopback port between clients and a server: it cuts, refuses, holds up, counts and rewrites.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::wait::eventually;

/// Operation codes of ZooKeeper's protocol that tests ask about.
pub mod op {
    pub const GET_DATA: i32 = 4;
    pub const PING: i32 = 11;
    pub const REMOVE_WATCHES: i32 = 18;
    pub const ADD_WATCH: i32 = 106;
    /// No server knows it.
    pub const UNKNOWN: i32 = 999;
}

/// A frame of this size or more is none: four-letter words and TLS records look so, and are passed on as they are.
const NO_FRAME: u32 = 1 << 26;

/// A relay to one server. It ends with this value.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    target: String,
    weather: watch::Sender<Weather>,
    live: AtomicUsize,
    traffic: Traffic,
    rewrites: Mutex<HashMap<i32, i32>>,
}

/// What a relay has let through.
#[derive(Debug, Default)]
struct Traffic {
    to_server: AtomicU64,
    to_client: AtomicU64,
    accepted: AtomicU64,
    requests: Mutex<HashMap<i32, u64>>,
}

/// What connections go through. Those of an earlier age end.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    age: u64,
    refuses: bool,
    paused: bool,
}

impl Relay {
    /// A relay to a server, given as `HOST:PORT`, in the current runtime.
    pub async fn start(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            target: target.to_owned(),
            weather: watch::Sender::default(),
            live: AtomicUsize::new(0),
            traffic: Traffic::default(),
            rewrites: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { port, shared, accepting }
    }

    /// `127.0.0.1:PORT`.
    pub fn connect_string(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Drops all connections, and returns when they are gone. New ones are welcome.
    pub async fn cut(&self) {
        let refused = self.shared.weather.borrow().refuses;
        self.refuse().await;
        self.shared.weather.send_modify(|weather| weather.refuses = refused);
    }

    /// Drops all connections and every new one, until `heal`. Returns when they are gone.
    pub async fn refuse(&self) {
        self.shared.weather.send_modify(|weather| {
            weather.age += 1;
            weather.refuses = true;
        });
        eventually("the end of the relay's connections", async || match self.live() {
            0 => Ok(()),
            live => Err(live),
        })
        .await;
    }

    /// Ends `refuse`.
    pub fn heal(&self) {
        self.shared.weather.send_modify(|weather| weather.refuses = false);
    }

    /// Holds everything up in both directions; connections stay.
    pub fn pause(&self) {
        self.shared.weather.send_modify(|weather| weather.paused = true);
    }

    /// Lets what was held up through.
    pub fn resume(&self) {
        self.shared.weather.send_modify(|weather| weather.paused = false);
    }

    /// From now on clients' requests of one operation arrive as requests of another.
    pub fn rewrite_op(&self, from: i32, to: i32) {
        lock(&self.shared.rewrites).insert(from, to);
    }

    /// How many requests of each operation clients have sent so far, as they sent them.
    pub fn requests(&self) -> HashMap<i32, u64> {
        lock(&self.shared.traffic.requests).clone()
    }

    /// How many connections there are.
    pub fn live(&self) -> usize {
        self.shared.live.load(Ordering::SeqCst)
    }

    /// How many connections there have ever been.
    pub fn accepted(&self) -> u64 {
        self.shared.traffic.accepted.load(Ordering::SeqCst)
    }

    /// The bytes let through so far, to the server and to clients.
    pub fn bytes(&self) -> (u64, u64) {
        let Traffic { to_server, to_client, .. } = &self.shared.traffic;
        (to_server.load(Ordering::SeqCst), to_client.load(Ordering::SeqCst))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.weather.send_modify(|weather| weather.age += 1);
    }
}

impl Shared {
    async fn serve(&self, client: TcpStream, age: u64, weather: watch::Receiver<Weather>) -> io::Result<()> {
        let server = TcpStream::connect(&self.target).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let mut cut = weather.clone();
        tokio::select! {
            ended = self.requests(from_client, to_server, weather.clone()) => ended,
            ended = self.copy(from_server, to_client, weather, &self.traffic.to_client) => ended,
            _ = cut.wait_for(|weather| weather.age != age) => Ok(()),
        }
    }

    /// Passes a client's frames on. The first is the handshake; every later one starts with an xid and an operation.
    async fn requests(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        mut weather: watch::Receiver<Weather>,
    ) -> io::Result<()> {
        let mut shaken = false;
        loop {
            let length = from.read_u32().await?;
            let mut frame = length.to_be_bytes().to_vec();
            if length >= NO_FRAME {
                to.write_all(&frame).await?;
                return self.copy(from, to, weather, &self.traffic.to_server).await;
            }
            frame.resize(4 + length as usize, 0);
            from.read_exact(&mut frame[4..]).await?;
            if shaken {
                self.note(&mut frame);
            }
            shaken = true;
            pass(&frame, &mut to, &mut weather, &self.traffic.to_server).await?;
        }
    }

    /// Counts a request, and rewrites its operation.
    fn note(&self, frame: &mut [u8]) {
        let Some(code) = frame.get_mut(8..12) else { return };
        let sent = i32::from_be_bytes(code.try_into().expect("four bytes"));
        *lock(&self.traffic.requests).entry(sent).or_default() += 1;
        if let Some(rewritten) = lock(&self.rewrites).get(&sent) {
            code.copy_from_slice(&rewritten.to_be_bytes());
        }
    }

    async fn copy(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        mut weather: watch::Receiver<Weather>,
        count: &AtomicU64,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = from.read(&mut buffer).await?;
            if length == 0 {
                return Ok(());
            }
            pass(&buffer[..length], &mut to, &mut weather, count).await?;
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        // Counted before the weather is read: a cut either sees it here, or is seen by it.
        shared.live.fetch_add(1, Ordering::SeqCst);
        let weather = shared.weather.subscribe();
        let Weather { age, refuses, .. } = *weather.borrow();
        if refuses {
            shared.live.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        shared.traffic.accepted.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // Ends with either side, like any connection; which error it was tells nothing more.
            let _ = shared.serve(client, age, weather).await;
            shared.live.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn pass(
    bytes: &[u8],
    to: &mut (impl AsyncWrite + Unpin),
    weather: &mut watch::Receiver<Weather>,
    count: &AtomicU64,
) -> io::Result<()> {
    weather.wait_for(|weather| !weather.paused).await.map_err(io::Error::other)?;
    // Counted first: who has received something finds it counted.
    count.fetch_add(bytes.len() as u64, Ordering::SeqCst);
    to.write_all(bytes).await
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The connections between the members of an ensemble, each through a relay. A member can be cut
//! off from the others while clients still reach it.

use std::net::Ipv4Addr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Relays for the traffic between followers and their leader. They end when dropped.
///
/// The traffic of elections goes directly. A member that is cut off keeps its leader for
/// `syncLimit` ticks and cannot follow another one during that time.
#[derive(Debug)]
pub struct QuorumLinks {
    /// `ports[from][to]` is the port, at the address of member `to`, by which member `from` reaches
    /// it.
    ports: Vec<Vec<u16>>,
    cut_off: watch::Sender<Option<usize>>,
    _relays: JoinSet<()>,
}

impl QuorumLinks {
    /// Starts relays in the current runtime, between members at the addresses `hosts`. Each member
    /// listens for the others on the port `quorum`.
    pub fn start(hosts: &[Ipv4Addr], quorum: u16) -> Self {
        let (cut_off, _) = watch::channel(None);
        let (mut relays, mut ports) = (JoinSet::new(), Vec::new());
        for from in 0..hosts.len() {
            let mut row = Vec::new();
            for (to, host) in hosts.iter().enumerate() {
                let listener = std::net::TcpListener::bind((*host, 0)).expect("a free port");
                listener.set_nonblocking(true).expect("a socket");
                row.push(listener.local_addr().expect("it is bound").port());
                let listener = TcpListener::from_std(listener).expect("a runtime");
                let link = Link { between: [from, to], cut_off: cut_off.subscribe() };
                relays.spawn(serve(listener, (*host, quorum), link));
            }
            ports.push(row);
        }
        Self { ports, cut_off, _relays: relays }
    }

    /// Returns the port by which a member reaches another one.
    pub fn port(&self, from: usize, to: usize) -> u16 {
        self.ports[from][to]
    }

    /// Holds up everything between a member and the others until `heal`. Connections stay, as in a
    /// network that loses packets.
    pub fn cut_off(&self, member: usize) {
        self.cut_off.send_replace(Some(member));
    }

    /// Releases everything that was held up.
    pub fn heal(&self) {
        self.cut_off.send_replace(None);
    }
}

#[derive(Clone)]
struct Link {
    between: [usize; 2],
    cut_off: watch::Receiver<Option<usize>>,
}

impl Link {
    /// Waits until neither member is cut off.
    async fn is_open(&mut self) {
        let between = self.between;
        let is_open = |cut_off: &Option<usize>| cut_off.is_none_or(|member| !between.contains(&member));
        // The relays end before the sender does.
        let _ = self.cut_off.wait_for(is_open).await;
    }
}

async fn serve(listener: TcpListener, target: (Ipv4Addr, u16), link: Link) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let mut link = link.clone();
        connections.spawn(async move {
            link.is_open().await;
            let Ok(server) = TcpStream::connect(target).await else { return };
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            // Each direction ends on its own, as on the wire.
            tokio::join!(copy(from_client, to_server, link.clone()), copy(from_server, to_client, link));
        });
    }
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut link: Link) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        link.is_open().await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    link.is_open().await;
    let _ = to.shutdown().await;
}

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::zk::Dialer;

/// How long after the first lost byte the connection ends: time enough for what the client sent to take effect.
const CUT_AFTER: Duration = Duration::from_millis(300);
/// How long it rests after it could not accept.
const REST: Duration = Duration::from_millis(50);

/// A relay on loopback for one client, which can lose what the server says and then end the connection. It ends with this
/// value.
#[derive(Debug)]
pub(super) struct LossyLink {
    address: SocketAddr,
    loses: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

impl LossyLink {
    /// A link to the servers that `dialer` knows. It fails when there are no sockets left.
    pub(super) async fn start(dialer: Arc<Dialer>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (loses, seen) = watch::channel(false);
        let task = tokio::spawn(async move {
            // A client has one connection; the next one comes when it has ended.
            loop {
                match listener.accept().await {
                    Ok((client, _)) => relay(client, &dialer, seen.clone()).await,
                    Err(_) => tokio::time::sleep(REST).await,
                }
            }
        });
        Ok(Self { address, loses, _task: AbortOnDropHandle::new(task) })
    }

    /// Where the client connects.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether from now on everything that the server says is lost, and the connection ends soon after.
    pub(super) fn lose(&self, loses: bool) {
        self.loses.send_replace(loses);
    }
}

/// Relays one connection until either side ends it, or something was lost.
async fn relay(client: TcpStream, dialer: &Dialer, loses: watch::Receiver<bool>) {
    let Ok(server) = dialer.dial().await else { return };
    let _ = client.set_nodelay(true);
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = split(server);
    let down = async {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = from_server.read(&mut piece).await {
            if *loses.borrow() {
                // Keep on reading: what is lost must not hold up the server.
                let rest = async { while matches!(from_server.read(&mut piece).await, Ok(1..)) {} };
                let _ = timeout(CUT_AFTER, rest).await;
                return;
            }
            if to_client.write_all(&piece[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = down => {}
        _ = copy(&mut from_client, &mut to_server) => {}
    }
}

//! A session as the server granted it, and a way to end it with its password.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::wire;

/// How long a server gets to end a session.
const PATIENCE: Duration = Duration::from_secs(20);

/// The credentials with which a client can resume its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    id: i64,
    password: Vec<u8>,
}

impl Credentials {
    /// Reads the server's answer to a handshake.
    pub fn granted(frame: &[u8]) -> Option<Self> {
        let id = i64::from_be_bytes(frame.get(12..20)?.try_into().ok()?);
        let length = usize::try_from(wire::number(frame, 20)?).ok()?;
        Some(Self { id, password: frame.get(24..24 + length)?.to_vec() })
    }

    /// Ends the session at the server, by the same transaction as an expiry, without the client.
    /// When this returns, the session is gone or the server cannot be reached.
    pub async fn close(&self, server: &str) {
        // A server that is down cannot end a session; the tests see whether the session remains.
        let _ = timeout(PATIENCE, self.try_close(server)).await;
    }

    async fn try_close(&self, server: &str) -> io::Result<()> {
        let mut server = TcpStream::connect(server).await?;
        let mut shake = Vec::new();
        shake.extend(0_i32.to_be_bytes());
        shake.extend(0_i64.to_be_bytes());
        shake.extend(30_000_i32.to_be_bytes());
        shake.extend(self.id.to_be_bytes());
        shake.extend(u32::try_from(self.password.len()).map_err(io::Error::other)?.to_be_bytes());
        shake.extend(&self.password);
        shake.push(0);
        send(&mut server, &shake).await?;
        let granted = wire::frame(&mut server).await?;
        if Self::granted(&granted).is_none_or(|granted| granted.id != self.id) {
            // The session is already gone.
            return Ok(());
        }
        let mut end = 1_i32.to_be_bytes().to_vec();
        end.extend(wire::op::CLOSE_SESSION.to_be_bytes());
        send(&mut server, &end).await?;
        wire::frame(&mut server).await?;
        Ok(())
    }
}

async fn send(to: &mut TcpStream, body: &[u8]) -> io::Result<()> {
    to.write_u32(u32::try_from(body.len()).map_err(io::Error::other)?).await?;
    to.write_all(body).await
}

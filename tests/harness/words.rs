//! Four-letter words: a server's answers about itself.

use std::io::{Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use lockscope_base::znode::SessionId;

/// Returns the answer of the server on a loopback port within a time. A server that just starts may
/// never answer.
pub fn ask(port: u16, word: &str, within: Duration) -> Result<String> {
    ask_at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), word, within)
}

/// Asks as [`ask`] does, a server on another loopback address.
pub fn ask_at(server: SocketAddr, word: &str, within: Duration) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&server, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A connection, as listed by `cons`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    pub session: SessionId,
    /// Packets that the server received from the client, pings included.
    pub received: u64,
    /// Packets that the server sent to the client, watch events included.
    pub sent: u64,
    /// The last operation.
    pub last: String,
}

/// Parses the answer to `cons`. Connections without a session are left out.
pub fn connections(cons: &str) -> Vec<Connection> {
    cons.lines().filter_map(connection).collect()
}

fn connection(line: &str) -> Option<Connection> {
    let fields = line.split_once('(')?.1.trim_end_matches(')');
    let field = |name: &str| fields.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let session = u64::from_str_radix(field("sid")?.trim_start_matches("0x"), 16).ok()?;
    Some(Connection {
        session: SessionId(session.cast_signed()),
        received: field("recved")?.parse().ok()?,
        sent: field("sent")?.parse().ok()?,
        last: field("lop")?.to_owned(),
    })
}

/// Returns a figure of `mntr`.
pub fn figure(mntr: &str, name: &str) -> Option<u64> {
    mntr.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t')?.trim().parse().ok())
}

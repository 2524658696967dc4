//! A login on one connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::KerberosFault;
use super::context::{LoginContext, LoginToken, credentials};
use super::frames::{Reply, reply, request};
use super::threads::on_a_thread;
use crate::zk::fault::ServerFault;
use crate::zk::options::KerberosLogin;
use crate::zk::stream::Stream;

/// The time limit for getting a ticket before any server is contacted. With a keytab, the ticket
/// comes from the KDC.
const TICKET_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest reply, in bytes: tokens of servers have a few hundred bytes.
const MAX_REPLY: usize = 64 << 10;

/// The most tokens in a login; Kerberos 5 needs three.
const MAX_TOKENS: i32 = 8;

/// A login that has a ticket for the server and has not been sent.
#[derive(Debug)]
pub(in crate::zk) struct Login {
    context: LoginContext,
    token: LoginToken,
}

/// Checks that a login is possible: finds a ticket, or gets one with a keytab. Cancel safe.
pub(in crate::zk) async fn check(login: &KerberosLogin) -> Result<(), KerberosFault> {
    let login = login.clone();
    let found = timeout(TICKET_TIMEOUT, on_a_thread(move || credentials(&login).map(drop))).await;
    found.map_err(|_| no_kdc())?.ok_or_else(no_thread)?
}

impl Login {
    /// Gets a ticket for the server on a host by `until`. Cancel safe.
    pub(in crate::zk) async fn begin(login: &KerberosLogin, host: &str, until: Instant) -> Result<Self, KerberosFault> {
        let (login, server) = (login.clone(), login.server.at(host));
        let begun = timeout_at(until, on_a_thread(move || LoginContext::begin(&login, server))).await;
        let (context, token) = begun.map_err(|_| no_kdc())?.ok_or_else(no_thread)??;
        Ok(Self { context, token })
    }

    /// Logs in on a connection that has a session, by `until`.
    pub(in crate::zk) async fn finish(self, stream: &mut dyn Stream, until: Instant) -> Result<(), ServerFault> {
        let Self { mut context, mut token } = self;
        for xid in 1..=MAX_TOKENS {
            let exchanged = timeout_at(until, exchange(stream, xid, &token.bytes)).await;
            let answer =
                exchanged.map_err(|_| ServerFault::Silent)?.map_err(|error| ServerFault::of_connection(&error))?;
            let challenge = match answer.ok_or(ServerFault::Foreign)? {
                Reply::Refused => return Err(KerberosFault::Refused(context.server()).into()),
                Reply::Token(_) if token.is_last => return Ok(()),
                Reply::Token(None) => return Err(KerberosFault::NotOffered.into()),
                Reply::Token(Some(challenge)) => challenge,
            };
            // This step needs no KDC and takes no time.
            token = context.step(&challenge)?;
        }
        Err(KerberosFault::Other("the login does not end".to_owned()).into())
    }
}

/// Sends a token and reads the reply; `None` when the frame does not answer it.
async fn exchange(stream: &mut dyn Stream, xid: i32, token: &[u8]) -> io::Result<Option<Reply>> {
    stream.write_all(&request(xid, token)).await?;
    stream.flush().await?;
    let length = stream.read_u32().await? as usize;
    if length > MAX_REPLY {
        return Ok(None);
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await?;
    Ok(reply(xid, &frame))
}

fn no_kdc() -> KerberosFault {
    KerberosFault::NoKdc("it did not answer in time".to_owned())
}

fn no_thread() -> KerberosFault {
    KerberosFault::Other("this machine cannot start more threads".to_owned())
}

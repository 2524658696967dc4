//! A login on one connection: the client side of GSSAPI (RFC 4752), step by step.
//!
//! The library's requests to the KDC are synchronous, take up to half a minute, and cannot be
//! interrupted. So they run on threads of their own.

use std::time::Duration;
use std::{io, thread};

use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE, GSS_NT_KRB5_PRINCIPAL, OidSet};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::frames::{SaslReply, reply, request};
use super::{KerberosFault, ServerPrincipal};
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
pub(in crate::zk) struct KerberosSession {
    context: LoginContext,
    token: LoginToken,
}

/// Checks that a login is possible: finds a ticket, or gets one with a keytab. Cancel safe.
pub(in crate::zk) async fn check(login: &KerberosLogin) -> Result<(), KerberosFault> {
    let login = login.clone();
    let found = timeout(TICKET_TIMEOUT, on_a_thread(move || credentials(&login).map(drop))).await;
    found.map_err(|_| no_kdc())?.ok_or_else(no_thread)?
}

impl KerberosSession {
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
                SaslReply::Refused => return Err(KerberosFault::Refused(context.server()).into()),
                SaslReply::Token(_) if token.is_last => return Ok(()),
                SaslReply::Token(None) => return Err(KerberosFault::NotOffered.into()),
                SaslReply::Token(Some(challenge)) => challenge,
            };
            // This step needs no KDC and takes no time.
            token = context.step(&challenge)?;
        }
        Err(KerberosFault::Other("the login does not end".to_owned()).into())
    }
}

/// Sends a token and reads the reply; `None` when the frame does not answer it.
async fn exchange(stream: &mut dyn Stream, xid: i32, token: &[u8]) -> io::Result<Option<SaslReply>> {
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

/// The client's last message: no security layer (TLS protects the connection) and no other
/// authorization identity.
const NO_SECURITY_LAYER: [u8; 4] = [1, 0, 0, 0];

/// The base of the Kerberos error codes of the library: `ERROR_TABLE_BASE_krb5`.
const KRB5: i32 = -1_765_328_384;

/// Returns the requested flags: mutual authentication, and no delegation of our ticket.
fn wanted() -> CtxFlags {
    CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_SEQUENCE_FLAG | CtxFlags::GSS_C_INTEG_FLAG
}

/// A login in progress.
#[derive(Debug)]
pub(super) struct LoginContext {
    context: ClientCtx,
    server: ServerPrincipal,
    is_agreed: bool,
}

/// The next token to send.
#[derive(Debug)]
pub(super) struct LoginToken {
    pub(super) bytes: Vec<u8>,
    /// Whether the server's reply to this token ends the login.
    pub(super) is_last: bool,
}

/// Finds a ticket, or gets one with a keytab.
pub(super) fn credentials(login: &KerberosLogin) -> Result<Cred, KerberosFault> {
    let server = &login.server;
    let fault = |error: Error| fault_of(error, server);
    let mut mechanisms = OidSet::new();
    mechanisms.add(GSS_MECH_KRB5).map_err(fault)?;
    let name = match &login.principal {
        Some(principal) => Some(Name::new(principal.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL)).map_err(fault)?),
        None => None,
    };
    let found = Cred::acquire(name.as_ref(), None, CredUsage::Initiate, Some(&mechanisms)).map_err(fault)?;
    match found.lifetime() {
        Ok(left) if left.is_zero() => Err(KerberosFault::Expired),
        _ => Ok(found),
    }
}

impl LoginContext {
    /// Begins a login to a server and returns the first token for it.
    pub(super) fn begin(login: &KerberosLogin, server: ServerPrincipal) -> Result<(Self, LoginToken), KerberosFault> {
        let found = credentials(login)?;
        let fault = |error: Error| fault_of(error, &server);
        let name = match server.as_service() {
            Some(service) => Name::new(service.as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE)),
            None => Name::new(server.to_string().as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL)),
        };
        let context = ClientCtx::new(Some(found), name.map_err(fault)?, wanted(), Some(GSS_MECH_KRB5));
        let mut login = Self { context, server, is_agreed: false };
        let bytes = login.establish(None)?;
        Ok((login, LoginToken { bytes, is_last: false }))
    }

    /// Handles a token of the server.
    pub(super) fn step(&mut self, challenge: &[u8]) -> Result<LoginToken, KerberosFault> {
        if !self.context.is_complete() {
            return Ok(LoginToken { bytes: self.establish(Some(challenge))?, is_last: false });
        }
        if self.is_agreed {
            return Err(KerberosFault::Other("the server asks for more than the protocol allows".to_owned()));
        }
        let offer = self.context.unwrap(challenge).map_err(|error| fault_of(error, &self.server))?;
        if offer.len() != NO_SECURITY_LAYER.len() || offer[0] & NO_SECURITY_LAYER[0] == 0 {
            return Err(KerberosFault::Other(
                "the server insists on encryption by Kerberos, which is not supported".to_owned(),
            ));
        }
        let answer = self.context.wrap(false, &NO_SECURITY_LAYER).map_err(|error| fault_of(error, &self.server))?;
        self.is_agreed = true;
        Ok(LoginToken { bytes: answer.to_vec(), is_last: true })
    }

    /// Returns the principal of the server.
    pub(super) fn server(&self) -> String {
        self.server.to_string()
    }

    fn establish(&mut self, challenge: Option<&[u8]>) -> Result<Vec<u8>, KerberosFault> {
        let token = self.context.step(challenge, None).map_err(|error| fault_of(error, &self.server))?;
        Ok(token.map(|token| token.to_vec()).unwrap_or_default())
    }
}

/// Translates an error. The library keeps error texts per thread, so the text is read on the thread
/// where the error occurred.
fn fault_of(error: Error, server: &ServerPrincipal) -> KerberosFault {
    let text = text_of(error);
    let routine = error.major.bits() >> 16 & 0xff;
    match i32::from_ne_bytes(error.minor.to_ne_bytes()).wrapping_sub(KRB5) {
        // KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN
        7 => KerberosFault::UnknownServer(server.to_string()),
        // KRB5KRB_AP_ERR_TKT_EXPIRED
        32 => KerberosFault::Expired,
        // KRB5KRB_AP_ERR_SKEW, KRB5_KDCREP_SKEW
        37 | 148 => KerberosFault::ClockSkew,
        // KRB5_REALM_UNKNOWN, KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE
        154 | 156 | 220 => KerberosFault::NoKdc(text),
        // KRB5_CC_NOTFOUND, KRB5_FCC_NOFILE
        141 | 195 => KerberosFault::NoTicket(text),
        _ => match routine {
            // GSS_S_NO_CRED, GSS_S_CREDENTIALS_EXPIRED
            7 => KerberosFault::NoTicket(text),
            11 => KerberosFault::Expired,
            // GSS_S_DEFECTIVE_TOKEN: the server's token belongs to another mechanism.
            9 => KerberosFault::NotOffered,
            _ => KerberosFault::Other(text),
        },
    }
}

/// Returns the mechanism's text, which stands in parentheses behind GSSAPI's generic text.
fn text_of(error: Error) -> String {
    let whole = error.to_string();
    let text = whole.split_once(" (").and_then(|(_, text)| text.strip_suffix(')')).unwrap_or(&whole);
    text.chars().filter(|char| !char.is_control()).collect()
}

/// The most threads at a time; further work waits for one to end.
const MAX_THREADS: usize = 8;

static PERMITS: Semaphore = Semaphore::const_new(MAX_THREADS);

/// Runs `work` on a thread of its own, which may outlive the waiting future but not the program.
/// Returns `None` when no thread could be started. Cancel safe.
pub(super) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let permit = PERMITS.acquire().await.ok()?;
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        let _permit = permit;
        // Sending fails only when the waiter was dropped.
        let _ = sender.send(work());
    };
    thread::Builder::new().name("kerberos".to_owned()).spawn(work).ok()?;
    receiver.await.ok()
}

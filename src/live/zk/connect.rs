//! Opens a session in one attempt of bounded length, checks its login, and closes it.
//!
//! # Logins
//!
//! A server may keep a client whose SASL login failed as anonymous
//! (`zookeeper.allowSaslFailedClients`, or no SASL provider at all), and the protocol does not
//! report it. Nodes hidden from that client then look as if they did not exist. So the server is
//! asked who we are (`whoAmI`, since ZooKeeper 3.7).
//!
//! A `digest` identity needs no such question: the server confirms it, and a wrong password makes
//! another identity, not a failure.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use zookeeper_client::{AuthUser, Client, Connector, Error, SaslOptions, SessionState, StateWatcher};

use super::dial::Dialer;
use super::fault::Unreachable;
use super::kerberos::KerberosFault;
use super::transport::{Flow, Transport, TransportStatus};
use super::{Auth, ConnectError, ConnectOptions};

/// The longest session timeout: the protocol counts it in milliseconds, in 31 bits.
const MAX_SESSION_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);

/// The shortest time allowed for an attempt, whatever session timeout is asked for.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Opens a session in one attempt, which tries the servers of the connect string in random order,
/// each at most once.
///
/// The attempt takes at most about the session timeout, and ends as soon as every server has
/// failed. With a chroot it costs one request, which checks that the chroot exists. Once connected,
/// the client reconnects by itself until the session expires.
///
/// Must be called within a Tokio runtime. Cancel safe, except that a session being created lives on
/// at the servers until it times out.
pub async fn connect(options: &ConnectOptions) -> Result<Client, ConnectError> {
    connect_and_gather(options, Duration::ZERO).await.map(|(client, _)| client)
}

/// Connects like [`connect`], and also returns what is known about the servers during the session.
/// Bytes from the servers may be held for `gather`, so that a stream of events causes few wake-ups:
/// see [`Flow::gather`].
pub async fn connect_and_gather(
    options: &ConnectOptions,
    gather: Duration,
) -> Result<(Client, TransportStatus), ConnectError> {
    let dialer = Dialer::new(options).await?;
    let transport = Transport::start(Arc::new(dialer), Flow { gather, ..Flow::default() })
        .await
        .map_err(ConnectError::NoTransport)?;
    let client = open(&transport, options).await?;
    let (chroot, mut servers) = (transport.chroot(), transport.status());
    let (states, mut ending) = (client.state_watcher(), transport.status());
    tokio::spawn(async move {
        tokio::select! {
            _ = ended(states) => {}
            () = ending.until_library_ended() => {}
            () = transport.leave_members() => {}
        }
        drop(transport);
    });
    check_login(&client, options, &servers, connect_timeout(options)).await?;
    check_chroot(&client, &chroot, &mut servers, options).await?;
    Ok((client, servers))
}

/// Connects like [`connect`], over an existing transport. The servers, the chroot and TLS come from
/// the transport, everything else from the options. The session ends with the transport.
pub async fn connect_through(transport: &Transport, options: &ConnectOptions) -> Result<Client, ConnectError> {
    let client = open(transport, options).await?;
    check_login(&client, options, &transport.status(), connect_timeout(options)).await?;
    check_chroot(&client, &transport.chroot(), &mut transport.status(), options).await?;
    Ok(client)
}

async fn open(transport: &Transport, options: &ConnectOptions) -> Result<Client, ConnectError> {
    let mut connector = Client::connector()
        .with_session_timeout(options.asked_timeout().min(MAX_SESSION_TIMEOUT))
        .with_session(transport.session());
    for auth in &options.auth {
        connector = add(connector, auth)?;
    }
    let at = format!("{}{}", transport.address(), transport.chroot());
    let (patience, status) = (connect_timeout(options), transport.status());
    let mut trying = status.clone();
    let rounds = trying.rounds();
    let client = tokio::select! {
        biased;
        connected = connector.connect(&at) => connected.map_err(|error| explain(error, options, &status, patience))?,
        servers = trying.exhausted(rounds) => return Err(all_failed(servers, options)),
        () = sleep(patience) => return Err(explain(Error::Timeout, options, &status, patience)),
    };
    transport.serves(client.state_watcher());
    Ok(client)
}

/// Returns how long an attempt may take.
fn connect_timeout(options: &ConnectOptions) -> Duration {
    options.session_timeout.clamp(MIN_CONNECT_TIMEOUT, MAX_SESSION_TIMEOUT)
}

fn add(connector: Connector, auth: &Auth) -> Result<Connector, ConnectError> {
    if !matches!(auth.scheme.as_str(), "sasl" | "digest") {
        return Ok(connector.with_auth(&auth.scheme, &auth.credentials));
    }
    let bad = |why| ConnectError::BadCredentials { scheme: auth.scheme.clone(), why };
    if !auth.credentials.contains(&b':') {
        return Err(bad("they must be written as user:password"));
    }
    if auth.scheme == "digest" {
        return Ok(connector.with_auth(&auth.scheme, &auth.credentials));
    }
    let text = std::str::from_utf8(&auth.credentials).map_err(|_| bad("they are not valid UTF-8"))?;
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    Ok(connector.with_sasl(SaslOptions::digest_md5(user.to_owned(), password.to_owned())))
}

/// Translates an error of the client library for the user.
fn explain(error: Error, options: &ConnectOptions, status: &TransportStatus, within: Duration) -> ConnectError {
    match error {
        Error::Timeout | Error::SessionExpired | Error::NoHosts => {
            ConnectError::TooLate { within, servers: status.faults_so_far() }
        }
        Error::AuthFailed => refused(options),
        error => ConnectError::Other(error),
    }
}

/// Returns the error after every server has failed.
fn all_failed(servers: Unreachable, options: &ConnectOptions) -> ConnectError {
    if servers.refused_login() { refused(options) } else { ConnectError::Unreachable(servers) }
}

fn refused(options: &ConnectOptions) -> ConnectError {
    let mut schemes: Vec<String> = options.auth.iter().map(|auth| auth.scheme.clone()).collect();
    schemes.dedup();
    ConnectError::AuthRefused { schemes }
}

async fn check_chroot(
    client: &Client,
    chroot: &str,
    status: &mut TransportStatus,
    options: &ConnectOptions,
) -> Result<(), ConnectError> {
    let patience = connect_timeout(options);
    if chroot.is_empty() {
        return Ok(());
    }
    match timeout(patience, client.check_stat("/")).await {
        Ok(Ok(Some(_))) => Ok(()),
        Ok(Ok(None)) => Err(ConnectError::NoChroot { chroot: chroot.to_owned() }),
        Ok(Err(error)) => Err(ConnectError::Other(error)),
        Err(_) => Err(ConnectError::TooLate { within: patience, servers: status.faults_so_far() }),
    }
}

/// The note shown once when a login could not be verified.
const UNVERIFIED: &str = "the sasl login could not be verified: this server is older than ZooKeeper 3.7 and does not say who we are; \
                          if it refused the login, it may treat us as anonymous, and what only that user may read is missing";

/// Whether a login of this process could not be verified. The flag is global, because many parts of
/// the process open sessions with the identities of the same user, and the note is for that user.
static COULD_NOT_VERIFY: LazyLock<watch::Sender<bool>> = LazyLock::new(watch::Sender::default);

/// Returns the note to show when a login of this process could not be verified; `None` when there
/// was no such login so far.
pub fn unverified_login() -> Option<&'static str> {
    COULD_NOT_VERIFY.borrow().then_some(UNVERIFIED)
}

/// Waits for a login that could not be verified. Cancel safe.
pub async fn until_unverified_login() -> &'static str {
    // The sender lives as long as the process.
    let _ = COULD_NOT_VERIFY.subscribe().wait_for(|unverified| *unverified).await;
    UNVERIFIED
}

/// Fails when a SASL login was given and the server did not accept it. Costs one request with such
/// a login, and none otherwise.
///
/// A server older than 3.7 answers by closing the connection; this function then waits until the
/// session continues.
async fn check_login(
    client: &Client,
    options: &ConnectOptions,
    status: &TransportStatus,
    patience: Duration,
) -> Result<(), ConnectError> {
    if options.kerberos.is_none() && !options.auth.iter().any(|auth| auth.scheme == "sasl") {
        return Ok(());
    }
    let asked = async {
        let mut changes = client.state_watcher();
        let mut lost = 0;
        loop {
            match client.list_auth_users().await {
                // The first cut may have another cause. A server that cuts twice at this request
                // does not know it.
                Err(Error::ConnectionLoss) if lost == 0 => lost += 1,
                Err(Error::Unimplemented | Error::ConnectionLoss) => return Ok(None),
                answer => return answer.map(Some),
            }
            while client.state() == zookeeper_client::SessionState::Disconnected {
                changes.changed().await;
            }
        }
    };
    match timeout(patience, asked).await {
        Ok(Ok(Some(users))) if knows_login(&users) => Ok(()),
        Ok(Ok(Some(_))) if options.kerberos.is_some() => Err(ConnectError::Kerberos(KerberosFault::Nobody)),
        Ok(Ok(Some(_))) => Err(ConnectError::AuthRefused { schemes: vec!["sasl".to_owned()] }),
        Ok(Ok(None)) => {
            tracing::warn!("{UNVERIFIED}");
            COULD_NOT_VERIFY.send_replace(true);
            Ok(())
        }
        Ok(Err(error)) => Err(ConnectError::Other(error)),
        Err(_) => Err(ConnectError::TooLate { within: patience, servers: status.faults_so_far() }),
    }
}

/// Returns whether one of the session's identities is a login. Its name may differ from the user's,
/// because servers may shorten it, add a realm or map it. A failed login leaves no identity.
fn knows_login(users: &[AuthUser]) -> bool {
    users.iter().any(|user| user.scheme() == "sasl" && !user.user().is_empty())
}

/// The longest wait for a session to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Closes a session if this is its last client, and waits up to two seconds until it is closed.
/// Without a connection a session cannot be closed; it then expires at the servers.
pub async fn close_session(client: Client) {
    let states = client.state_watcher();
    drop(client);
    let _ = timeout(CLOSE_TIMEOUT, ended(states)).await;
}

/// Waits until a session is over, and returns its final state. Cancel safe.
pub async fn ended(mut states: StateWatcher) -> SessionState {
    let mut state = states.peek_state();
    while !state.is_terminated() {
        state = states.changed().await;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::{SessionRole, TlsFiles};

    fn options(connect: &str) -> ConnectOptions {
        ConnectOptions {
            connect: connect.to_owned(),
            session_timeout: Duration::from_secs(4),
            role: SessionRole::Console,
            auth: Vec::new(),
            tls: None,
            kerberos: None,
        }
    }

    #[tokio::test]
    async fn a_missing_server_is_named_with_advice() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let error = connect(&options(&address)).await.expect_err("nobody is there");
        assert!(error.to_string().contains(&format!("{address} refused the connection")), "{error}");
        assert!(!error.is_permanent());
    }

    #[tokio::test]
    async fn credentials_never_show_in_an_error() {
        let auth = Auth { scheme: "digest".to_owned(), credentials: b"secret".to_vec() };
        let error = connect(&ConnectOptions { auth: vec![auth], ..options("127.0.0.1") }).await.expect_err("no colon");
        assert!(error.is_permanent());
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("user:password") && !shown.contains("secret"), "{shown}");
    }

    #[tokio::test]
    async fn a_host_that_no_certificate_can_name_is_refused_at_once() {
        let tls = Some(TlsFiles { ca: "ca.pem".into(), cert: None, key: None });
        let error = connect(&ConnectOptions { tls, ..options("-host-:2281") }).await.expect_err("no name");
        assert!(error.to_string().contains("no certificate can name"), "{error}");
    }

    #[test]
    fn only_an_identity_of_the_login_proves_it() {
        let users = |users: &[(&str, &str)]| users.iter().map(|(s, u)| AuthUser::new(s, u)).collect::<Vec<_>>();
        for (of, proved) in [
            (&[][..], false),
            (&[("ip", "127.0.0.1")], false),
            (&[("ip", "127.0.0.1"), ("digest", "alice")], false),
            (&[("sasl", "")], false),
            (&[("ip", "127.0.0.1"), ("sasl", "alice")], true),
            (&[("sasl", "alice/host@EXAMPLE.ORG")], true),
        ] {
            assert_eq!(knows_login(&users(of)), proved, "{of:?}");
        }
    }
}

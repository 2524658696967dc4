//! Opens a session in one attempt of bounded length.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use zookeeper_client::{Client, Connector, Error, SaslOptions};

use super::dial::Dialer;
use super::fault::Unreachable;
use super::transport::{Flow, Transport, TransportStatus};
use super::{Auth, ConnectError, ConnectOptions, ended, login};

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
    login::check(&client, options, &servers, connect_timeout(options)).await?;
    check_chroot(&client, &chroot, &mut servers, options).await?;
    Ok((client, servers))
}

/// Connects like [`connect`], over an existing transport. The servers, the chroot and TLS come from
/// the transport, everything else from the options. The session ends with the transport.
pub async fn connect_through(transport: &Transport, options: &ConnectOptions) -> Result<Client, ConnectError> {
    let client = open(transport, options).await?;
    login::check(&client, options, &transport.status(), connect_timeout(options)).await?;
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
            ConnectError::TooLate { within, servers: status.servers().unwrap_or_default() }
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
        Err(_) => Err(ConnectError::TooLate { within: patience, servers: status.servers().unwrap_or_default() }),
    }
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
}

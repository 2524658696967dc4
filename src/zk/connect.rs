use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::{Client, Connector, Error, SaslOptions};

use super::connect_string::{ConnectString, Server};
use super::probe::probe;
use super::{Auth, ConnectError, ConnectOptions, ServerFault, Unreachable, login, tls};

/// The protocol counts a session timeout in milliseconds, in 31 bits.
const LONGEST_SESSION_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);

/// The shortest patience with servers, whatever session timeout is asked for.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(2);

/// Opens a session: one attempt that asks the servers of the connect string in random order, each at most once.
///
/// It takes at most about the session timeout, and in case of failure a few seconds more for finding out why. With a
/// chroot it costs one request, which checks that the chroot exists. Once connected, the client reconnects by itself until
/// the session expires. Must be called within a Tokio runtime. Cancel safe, except that a session which was being made
/// lives on at the servers until it times out.
pub async fn connect(options: &ConnectOptions) -> Result<Client, ConnectError> {
    let target = ConnectString::parse(&options.connect, options.tls.is_some())?;
    check_certifiable(&target.servers)?;
    let mut connector = Client::connector()
        .with_session_timeout(options.session_timeout.min(LONGEST_SESSION_TIMEOUT))
        .with_fail_eagerly();
    for auth in &options.auth {
        connector = add(connector, auth)?;
    }
    if let Some(files) = &options.tls {
        connector = connector.with_tls(tls::load(files).await?);
    } else if let Some(server) = target.servers.iter().find(|server| server.tls) {
        let why =
            format!("{} is to be spoken to over TLS: give the authority's certificate (--tls-ca)", server.address());
        return Err(ConnectError::BadTls(why));
    }
    let patience = options.session_timeout.clamp(SHORTEST_PATIENCE, LONGEST_SESSION_TIMEOUT);
    let client = match timeout(patience, connector.connect(&target.to_string())).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => return Err(explain(error, options, &target, patience).await),
        Err(_) => return Err(explain(Error::Timeout, options, &target, patience).await),
    };
    login::check(&client, &options.auth, &target, patience).await?;
    check_chroot(&client, &target, patience).await?;
    Ok(client)
}

/// What is the matter with the servers that cannot be talked to, when a connection was lost; `None` when nothing is. Takes a few
/// seconds at most.
pub(crate) async fn diagnose(options: &ConnectOptions) -> Option<Unreachable> {
    let target = ConnectString::parse(&options.connect, options.tls.is_some()).ok()?;
    let mut found = probe(&target.servers).await;
    // These answer as they should, seen from outside.
    found.servers.retain(|(_, fault)| !matches!(fault, ServerFault::NoSession | ServerFault::Handshake));
    (!found.servers.is_empty()).then_some(found)
}

fn check_certifiable(servers: &[Server]) -> Result<(), ConnectError> {
    match servers.iter().find(|server| server.tls && !server.can_be_certified()) {
        Some(server) => Err(ConnectError::BadTls(format!("no certificate can name the host {:?}", server.host))),
        None => Ok(()),
    }
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

/// What the client library's error means for the user.
async fn explain(error: Error, options: &ConnectOptions, target: &ConnectString, within: Duration) -> ConnectError {
    match error {
        Error::NoHosts => ConnectError::Unreachable(probe(&target.servers).await),
        Error::Timeout | Error::SessionExpired => {
            ConnectError::TooLate { within, servers: probe(&target.servers).await }
        }
        Error::AuthFailed => {
            let mut schemes: Vec<String> = options.auth.iter().map(|auth| auth.scheme.clone()).collect();
            schemes.dedup();
            ConnectError::AuthRefused { schemes }
        }
        // Before a connection is tried, only the TLS files can be at fault: everything else was checked.
        Error::Custom(_) | Error::BadArguments(_) if options.tls.is_some() => {
            ConnectError::BadTls("the certificate and the key do not belong together, or are not supported".to_owned())
        }
        error => ConnectError::Other(error),
    }
}

async fn check_chroot(client: &Client, target: &ConnectString, patience: Duration) -> Result<(), ConnectError> {
    let Some(chroot) = &target.chroot else { return Ok(()) };
    match timeout(patience, client.check_stat("/")).await {
        Ok(Ok(Some(_))) => Ok(()),
        Ok(Ok(None)) => Err(ConnectError::NoChroot { chroot: chroot.to_string() }),
        Ok(Err(error)) => Err(ConnectError::Other(error)),
        Err(_) => Err(ConnectError::TooLate { within: patience, servers: probe(&target.servers).await }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::TlsFiles;

    fn options(connect: &str) -> ConnectOptions {
        ConnectOptions {
            connect: connect.to_owned(),
            session_timeout: Duration::from_secs(4),
            auth: Vec::new(),
            tls: None,
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_named_with_what_to_do() {
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
    async fn a_host_that_no_certificate_can_name_is_refused_instead_of_tried() {
        let tls = Some(TlsFiles { ca: "ca.pem".into(), cert: None, key: None });
        let error = connect(&ConnectOptions { tls, ..options("-host-:2281") }).await.expect_err("no name");
        assert!(error.to_string().contains("no certificate can name"), "{error}");
    }
}

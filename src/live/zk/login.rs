//! Checks whether the servers accepted a SASL login.
//!
//! A server may keep a client whose SASL login failed as anonymous
//! (`zookeeper.allowSaslFailedClients`, or no SASL provider at all), and the protocol does not
//! report it. Nodes hidden from that client then look as if they did not exist. So this module asks
//! the server who we are (`whoAmI`, since ZooKeeper 3.7).
//!
//! A `digest` identity needs no such question: the server confirms it, and a wrong password makes
//! another identity, not a failure.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use zookeeper_client::{AuthUser, Client, Error};

use super::kerberos::KerberosFault;
use super::transport::TransportStatus;
use super::{ConnectError, ConnectOptions};

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
pub(super) async fn check(
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
        Err(_) => Err(ConnectError::TooLate { within: patience, servers: status.servers().unwrap_or_default() }),
    }
}

/// Returns whether one of the session's identities is a login. Its name may differ from the user's,
/// because servers may shorten it, add a realm or map it. A failed login leaves no identity.
fn knows_login(users: &[AuthUser]) -> bool {
    users.iter().any(|user| user.scheme() == "sasl" && !user.user().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! The person who changes something, for the audit log.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use zookeeper_client::Client;

use lockscope_model::report::Ensemble;

/// The time limit for the server to tell our identities.
const WHO_AM_I_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of bytes that are read of a system file.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The person who changes something, with the machine, and the identities at the ensemble. Contains
/// no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Who {
    /// The user's name, or the number if the system has no name.
    pub user: String,
    /// The user's id.
    pub uid: u32,
    /// The user who ran `sudo`, as that program reports.
    pub sudo_user: Option<String>,
    /// The machine's name.
    pub host: String,
    /// This process's id.
    pub pid: u32,
    /// The identities that the server knows us by, each as `SCHEME:NAME`; empty if the server does
    /// not tell (before 3.7).
    pub identities: Vec<String>,
    /// The connect string of the ensemble, without any identities in it.
    pub ensemble: String,
    /// The id of our session there, as unsigned hex.
    pub own_session: Option<String>,
}

impl Who {
    /// Asks the system, and the server for at most a second. Costs one request, which servers
    /// before 3.7 do not know.
    pub async fn ask(client: &Client, connect: &str) -> Self {
        let identities = match timeout(WHO_AM_I_TIMEOUT, client.list_auth_users()).await {
            Ok(Ok(users)) => users.iter().map(|user| identity(user.scheme(), user.user())).collect(),
            _ => Vec::new(),
        };
        let session = lockscope_base::znode::SessionId(client.session_id().0);
        Self { identities, own_session: Some(session.to_string()), ..Self::here(connect) }
    }

    /// Returns the facts that the system knows, without asking a server.
    pub fn here(connect: &str) -> Self {
        let uid = rustix::process::getuid().as_raw();
        let user = named(&read("/etc/passwd"), uid).unwrap_or_else(|| format!("uid {uid}"));
        let host = read("/proc/sys/kernel/hostname").trim().to_owned();
        let host = if host.is_empty() { read("/etc/hostname").trim().to_owned() } else { host };
        Self {
            user,
            uid,
            sudo_user: std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty()),
            host,
            pid: std::process::id(),
            identities: Vec::new(),
            ensemble: Ensemble::new(connect, None).connect().to_owned(),
            own_session: None,
        }
    }
}

/// Returns an identity without the password hash that servers keep after a digest's name.
fn identity(scheme: &str, user: &str) -> String {
    let name = if scheme == "digest" { user.split(':').next().unwrap_or_default() } else { user };
    format!("{scheme}:{name}")
}

/// Reads the beginning of a small system file; empty if there is none.
fn read(path: &str) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        // The part that was read before an error is still good for a name.
        let _ = file.take(MAX_FILE_SIZE).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn named(passwd: &str, uid: u32) -> Option<String> {
    let entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut found = entries.filter(|fields| fields.get(2).is_some_and(|number| number.parse() == Ok(uid)));
    found.next().and_then(|fields| Some((*fields.first()?).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_digest_is_kept() {
        assert_eq!(identity("digest", "ann:c2VjcmV0"), "digest:ann");
        assert_eq!(identity("ip", "10.0.0.1"), "ip:10.0.0.1");
    }

    #[test]
    fn a_password_in_the_connect_string_is_not_kept() {
        assert_eq!(Who::here("me:secret@zk1:2181,zk2/prod").ensemble, "zk1:2181,zk2/prod");
    }

    #[test]
    fn a_users_name_is_found_by_the_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\n\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(named(passwd, 1000).as_deref(), Some("ann"));
        assert_eq!(named(passwd, 7), None);
    }
}

//! A realm with an operator and servers, and the commands that log in there.

use std::path::PathBuf;
use std::process::Command;

use portable_pty::CommandBuilder;
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission};

use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::terminal::Terminal;
use crate::harness::zk;
use crate::kdc::{Kdc, REALM};
use crate::program::{PROGRAM, lockscope};

/// The name of the principal that logs in.
pub const OPERATOR: &str = "operator";

/// A KDC with an operator, who has a keytab and no ticket yet.
pub struct Realm {
    pub kdc: Kdc,
    pub keytab: PathBuf,
}

impl Realm {
    pub fn start() -> Self {
        let kdc = Kdc::start();
        let keytab = kdc.add(OPERATOR);
        Self { kdc, keytab }
    }

    /// Starts a server that accepts Kerberos logins as `zookeeper/localhost`.
    pub fn server(&self) -> Server {
        self.kdc.server("localhost").iter().fold(Settings::default(), |settings, one| settings.property(one)).start()
    }

    /// Gets the operator's ticket into a credential cache, for an hour.
    pub fn kinit(&self, cache: &str) {
        self.kdc.kinit(cache, OPERATOR, &self.keytab, 3600);
    }

    /// Returns a command of the program with the tickets of a credential cache.
    pub fn lockscope(&self, cache: &str, arguments: &[&str]) -> Command {
        let mut command = lockscope(arguments);
        command.envs(self.kdc.client(cache));
        command
    }

    /// Starts the console with the tickets of a credential cache.
    pub fn console(&self, cache: &str, arguments: &[&str]) -> Terminal {
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(arguments);
        command.env_clear();
        for (name, value) in [("LANG", "C.UTF-8"), ("TERM", "xterm-256color")] {
            command.env(name, value);
        }
        // In a terminal, the program starts in its home folder, which must exist.
        command.env("HOME", self.kdc.file(""));
        self.kdc.client(cache).iter().for_each(|(name, value)| command.env(name, value));
        Terminal::start(command, 160, 40)
    }
}

/// Creates the lock `/closed/job` with one contender. Only the operator may see and delete
/// contenders. Returns the contender's path.
pub async fn closed_lock(client: &Client) -> String {
    zk::make(client, ["/closed/job".to_owned()]).await;
    let contender = contender(client).await;
    let anybody = Acl::new(Permission::CREATE, AuthId::new("world", "anyone"));
    let acl = [Acl::new(Permission::ALL, AuthId::new("sasl", &format!("{OPERATOR}@{REALM}"))), anybody];
    for path in ["/closed/job", "/closed"] {
        client.set_acl(path, &acl, None).await.expect("closed");
    }
    contender
}

/// Creates a contender of that lock. Returns its path.
pub async fn contender(client: &Client) -> String {
    let acl = [Acl::new(Permission::ALL, AuthId::new("sasl", &format!("{OPERATOR}@{REALM}")))];
    let options = CreateMode::EphemeralSequential.with_acls(Acls::new(&acl));
    let prefix = format!("/closed/job/_c_{}-lock-", uuid::Uuid::new_v4());
    let (_, sequence) = client.create(&prefix, b"", &options).await.expect("created");
    format!("{prefix}{sequence}")
}

/// Returns the address of a server with the host name of its principal.
pub fn named(server: &Server) -> String {
    server.connect_string().replace("127.0.0.1", "localhost")
}

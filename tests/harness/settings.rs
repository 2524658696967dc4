//! The settings of a server.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::certificates::Certificates;
use super::server::Server;

/// Whether a TLS server requires a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// The server does not ask for a certificate.
    None,
    /// The server refuses clients without a certificate.
    Need,
}

impl ClientCertificate {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Need => "need",
        }
    }
}

/// The keys of `zoo.cfg` that servers of one JVM can have with different values.
const PER_SERVER: [&str; 3] = ["maxClientCnxns=", "minSessionTimeout=", "maxSessionTimeout="];

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) heap_mib: u32,
    pub(super) tls: Option<ClientCertificate>,
    tick: Duration,
    jute_maxbuffer: Option<u32>,
    sasl_users: Vec<(String, String)>,
    lines: Vec<String>,
    pub(super) properties: Vec<String>,
    has_own_process: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            heap_mib: 512,
            tls: None,
            tick: Duration::from_millis(200),
            jute_maxbuffer: None,
            sasl_users: Vec::new(),
            lines: Vec::new(),
            properties: Vec::new(),
            has_own_process: false,
        }
    }
}

impl Settings {
    /// Sets the tick: session timeouts range from two ticks to one minute, and sessions expire at
    /// ticks.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// Sets the JVM's heap, in MiB. The server gets a process of its own.
    pub fn heap_mib(mut self, mib: u32) -> Self {
        self.heap_mib = mib;
        self.own_process()
    }

    /// Gives the server a process of its own, which can be frozen and killed.
    pub fn own_process(mut self) -> Self {
        self.has_own_process = true;
        self
    }

    /// Sets the maximum size of a request, in bytes.
    pub fn jute_maxbuffer(mut self, bytes: u32) -> Self {
        self.jute_maxbuffer = Some(bytes);
        self
    }

    /// Adds a port for TLS to the plain one.
    pub fn tls(mut self, clients: ClientCertificate) -> Self {
        self.tls = Some(clients);
        self
    }

    /// Adds a user who may authenticate by SASL DIGEST-MD5.
    pub fn sasl_user(mut self, name: &str, password: &str) -> Self {
        self.sasl_users.push((name.to_owned(), password.to_owned()));
        self
    }

    /// Adds a line to `zoo.cfg`.
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Adds a system property of the JVM, as `NAME=VALUE`. Servers with the same ones share a JVM.
    pub fn property(mut self, property: &str) -> Self {
        self.properties.push(property.to_owned());
        self
    }

    /// Starts a server with these settings.
    pub fn start(self) -> Server {
        Server::with(self)
    }

    /// Returns whether a sandbox can have these settings.
    pub(super) fn is_plain(&self) -> bool {
        let special = self.tls.is_some() || self.jute_maxbuffer.is_some();
        !special && self.sasl_users.is_empty() && self.lines.is_empty() && self.properties.is_empty()
    }

    /// Returns whether the server can share a JVM with others that have its properties: no other setting
    /// is one of the whole JVM.
    pub(super) fn is_shareable(&self) -> bool {
        let is_of_one_server = |line: &String| PER_SERVER.iter().any(|key| line.starts_with(key));
        let special = self.has_own_process || self.tls.is_some() || self.jute_maxbuffer.is_some();
        !special && self.sasl_users.is_empty() && self.lines.iter().all(is_of_one_server)
    }

    /// Returns the command that starts a sandbox on a port.
    pub(super) fn sandbox(&self, port: u16) -> Vec<String> {
        let least = format!("{}ms", (self.tick * 2).as_millis());
        // Tests of the library alone are built without the program, and start only real servers.
        let Some(program) = option_env!("CARGO_BIN_EXE_lockscope") else {
            panic!("the program is not built with these tests");
        };
        [program, "sandbox", "--port", &port.to_string(), "--min-session-timeout", &least].map(str::to_owned).to_vec()
    }

    /// Returns the text of `zoo.cfg`.
    pub(super) fn zoo_cfg(&self, folder: &Path, ports: Ports) -> String {
        let tick = self.tick.as_millis();
        let mut text = format!(
            "tickTime={tick}\nminSessionTimeout={}\nmaxSessionTimeout=60000\ndataDir={}\n\
             clientPort={}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n4lw.commands.whitelist=*\n\
             admin.enableServer=false\nforceSync=no\npreAllocSize=1024\n",
            tick * 2,
            folder.join("data").display(),
            ports.plain,
        );
        if let Some(clients) = self.tls {
            // AdminServer and the quorum use the same files.
            let [server, authority] =
                [Certificates::SERVER, Certificates::AUTHORITY].map(|file| folder.join(file).display().to_string());
            let _ = writeln!(
                text,
                "secureClientPort={}\nsecureClientPortAddress=127.0.0.1\n\
                 serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
                 ssl.keyStore.location={server}\nssl.trustStore.location={authority}\nssl.clientAuth={}\n\
                 ssl.quorum.keyStore.location={server}\nssl.quorum.trustStore.location={authority}",
                ports.secure,
                clients.name(),
            );
        }
        if !self.sasl_users.is_empty() {
            text.push_str("authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n");
        }
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Returns the login configuration, if there are users.
    pub(super) fn jaas(&self) -> Option<String> {
        let mut users = String::new();
        for (name, password) in &self.sasl_users {
            let _ = write!(users, "\n  user_{name}=\"{password}\"");
        }
        (!users.is_empty())
            .then(|| format!("Server {{\n  org.apache.zookeeper.server.auth.DigestLoginModule required{users};\n}};\n"))
    }

    /// Returns the JVM's system properties.
    pub(super) fn properties(&self, folder: &Path) -> Vec<String> {
        let mut properties = Vec::new();
        if !self.sasl_users.is_empty() {
            properties.push(format!("-Djava.security.auth.login.config={}", folder.join("jaas.conf").display()));
        }
        properties.extend(self.properties.iter().map(|property| format!("-D{property}")));
        properties.extend(self.jute_maxbuffer.map(|bytes| format!("-Djute.maxbuffer={bytes}")));
        properties
    }
}

/// The ports of a server.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub plain: u16,
    pub secure: u16,
}

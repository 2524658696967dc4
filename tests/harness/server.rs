//! A real standalone ZooKeeper server, on a free loopback port and with a folder of its own.
//!
//! A server with plain settings is leased from the host, a JVM that all tests share. A server with
//! settings of a whole JVM, and one that is frozen or killed, has a process of its own.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lockscope_base::znode::SessionId;

use super::certificates::Certificates;
use super::host::{self, Lease};
use super::jvm::{java, note_start};
use super::process::{Supervised, await_end_of};
use super::settings::{Ports, Settings};
use super::wait::{PATIENCE, eventually_blocking};
use super::words::{self, Connection};

/// How often another port is tried when another process takes the chosen one.
const ATTEMPTS: usize = 8;

/// How long a starting server gets to answer before it is asked again.
const STARTING: Duration = Duration::from_millis(500);

/// When this variable is `sandbox`, every server without special settings is this crate's own
/// sandbox, in a process, so the suites run on either. Tests of features that a sandbox lacks by
/// design, such as data that survives a restart, then fail.
const KIND: &str = "LOCKSCOPE_SERVER";

/// A running server. When dropped, it ends and its folder is removed.
#[derive(Debug)]
pub struct Server {
    running: Option<Running>,
    folder: PathBuf,
    settings: Settings,
    ports: Ports,
    certificates: Option<Certificates>,
}

#[derive(Debug)]
enum Running {
    Process(Supervised),
    Hosted(Lease),
}

impl Server {
    /// Starts a server with the default settings. It serves when this returns.
    pub fn start() -> Self {
        Self::with(Settings::default())
    }

    /// Starts a server in a process of its own, which can be frozen and has an id.
    pub fn in_own_process() -> Self {
        Settings::default().own_process().start()
    }

    /// Starts a server with a tick of a second. Sessions expire at ticks, and servers print their
    /// expiries in whole seconds: with shorter ticks an expiry can rarely be told from a release.
    pub fn with_certain_expiries() -> Self {
        Self::with(Settings::default().tick(Duration::from_secs(1)))
    }

    /// Returns a server that all tests of a process share; each test stays below a node of its own
    /// (see `zk::own_root`). The server ends with the process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    pub(super) fn with(settings: Settings) -> Self {
        let folder =
            tempfile::Builder::new().prefix("lockscope-server-").tempdir().expect("a folder can be made").keep();
        let certificates = settings.tls.map(|_| Certificates::make(&folder));
        let ports = free_ports();
        let mut server = Self { running: None, folder, settings, ports, certificates };
        for _ in 0..ATTEMPTS {
            if server.launch() {
                return server;
            }
            server.ports = free_ports();
        }
        panic!("no server after {ATTEMPTS} attempts; its last words:\n{}", server.log());
    }

    /// Returns `127.0.0.1:PORT`.
    pub fn connect_string(&self) -> String {
        format!("127.0.0.1:{}", self.ports.plain)
    }

    /// Returns `127.0.0.1:PORT` with the port for TLS.
    pub fn secure_connect_string(&self) -> String {
        format!("127.0.0.1:{}", self.ports.secure)
    }

    /// Returns the port without TLS.
    pub fn port(&self) -> u16 {
        self.ports.plain
    }

    /// Returns the client certificates of a TLS server.
    pub fn certificates(&self) -> &Certificates {
        self.certificates.as_ref().expect("the server was started with TLS")
    }

    /// Returns the folder of the server's data.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the JVM's process id, of a server in a process of its own.
    pub fn pid(&self) -> u32 {
        self.process().pid()
    }

    /// Ends the server and its connections, but keeps its data and sessions. A server in a process of
    /// its own is killed.
    pub fn stop(&mut self) {
        match self.running.take() {
            Some(Running::Process(process)) => process.kill(),
            Some(Running::Hosted(mut lease)) => {
                let stopped = lease.ask("stop");
                assert_eq!(stopped.as_deref(), Ok("stopped"));
                self.running = Some(Running::Hosted(lease));
            }
            None => {}
        }
    }

    /// Starts the server again on its port and data. A running server is stopped first.
    pub fn restart(&mut self) {
        self.stop();
        assert!(self.launch(), "the server did not start again; its last words:\n{}", self.log());
    }

    /// Freezes the server, as a long garbage collection would: connections stay, but nothing is
    /// answered. It needs a process of its own.
    pub fn pause(&self) {
        self.process().freeze();
    }

    /// Ends `pause`.
    pub fn resume(&self) {
        self.process().thaw();
    }

    /// Returns the answer to a four-letter word.
    pub fn words(&self, word: &str) -> String {
        words::ask(self.port(), word, PATIENCE).expect("the server answers")
    }

    /// Returns the connections that have a session.
    pub fn connections(&self) -> Vec<Connection> {
        words::connections(&self.words("cons"))
    }

    /// Returns a session's connection with its packet counts, if it has one.
    pub fn connection_of(&self, session: SessionId) -> Option<Connection> {
        self.connections().into_iter().find(|connection| connection.session == session)
    }

    /// Returns a figure of `mntr`, such as `zk_watch_count`.
    pub fn figure(&self, name: &str) -> u64 {
        let answer = self.words("mntr");
        words::figure(&answer, name).unwrap_or_else(|| panic!("no {name} in:\n{answer}"))
    }

    fn process(&self) -> &Supervised {
        match self.running.as_ref().expect("the server was not stopped") {
            Running::Process(process) => process,
            Running::Hosted(_) => panic!("the server shares its process: start it by `Server::in_own_process`"),
        }
    }

    /// Starts the server and waits until it serves. Returns `false` if it ended instead.
    fn launch(&mut self) -> bool {
        let began = Instant::now();
        let serves = self.try_launch();
        let what = match self.running {
            Some(Running::Hosted(_)) => "server: leased",
            _ if self.is_sandbox() => "server: the sandbox",
            _ => "server: a JVM",
        };
        note_start(what, began);
        serves
    }

    fn try_launch(&mut self) -> bool {
        let sandbox = self.is_sandbox();
        let process = match self.running.take() {
            Some(Running::Hosted(lease)) => return self.launch_hosted(lease),
            _ if !sandbox && self.settings.is_shareable() => {
                let line = format!("server {}", self.folder.display());
                return self.launch_hosted(Lease::open(&self.settings.properties, &line));
            }
            _ if sandbox => Supervised::start(&self.folder, &self.settings.sandbox(self.port())),
            _ => Supervised::start(&self.folder, &self.real()),
        };
        let port = self.port();
        let ours = format!("dataDir={}/", self.folder.join("data").display());
        let is_ours = |answer: &str| if sandbox { process.runs() } else { answer.contains(&ours) };
        let serves = eventually_blocking("a server that serves", || match words::ask(port, "conf", STARTING) {
            Ok(answer) if is_ours(&answer) && self.listens_securely() => Ok(true),
            _ if !process.runs() => Ok(false),
            other => Err(other),
        });
        self.running = Some(Running::Process(process));
        serves
    }

    fn is_sandbox(&self) -> bool {
        std::env::var(KIND).is_ok_and(|kind| kind == "sandbox") && self.settings.is_plain()
    }

    /// Starts the leased server.
    fn launch_hosted(&mut self, mut lease: Lease) -> bool {
        let config = self.settings.zoo_cfg(&self.folder, self.ports) + "metricsProvider.className=GroupedFigures\n";
        write(&self.folder.join("zoo.cfg"), config);
        let started = lease.ask("start");
        self.running = Some(Running::Hosted(lease));
        let serves = started.as_deref() == Ok("started");
        if !serves {
            eprintln!("the host does not start a server: {started:?}");
        }
        serves
    }

    /// Returns the command for a real server, and writes the server's configuration.
    fn real(&self) -> Vec<String> {
        let config = self.folder.join("zoo.cfg");
        write(&config, self.settings.zoo_cfg(&self.folder, self.ports));
        if let Some(jaas) = self.settings.jaas() {
            write(&self.folder.join("jaas.conf"), jaas);
        }
        let mut command = java(self.settings.heap_mib);
        command.extend(self.settings.properties(&self.folder));
        command.push("org.apache.zookeeper.server.ZooKeeperServerMain".to_owned());
        command.push(config.display().to_string());
        command
    }

    /// Returns whether the TLS port, which opens after the plain one, accepts connections; `true`
    /// without TLS.
    fn listens_securely(&self) -> bool {
        self.settings.tls.is_none() || TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports.secure)).is_ok()
    }

    fn log(&self) -> String {
        if let Some(Running::Hosted(_)) = self.running {
            return host::complaints(&self.settings.properties);
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(Running::Process(process)) = self.running.take() {
            let pid = process.pid();
            drop(process);
            if !std::thread::panicking() {
                await_end_of(pid);
            }
        }
        // After a stop, only this removes the folder; otherwise the supervisor has removed it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn write(path: &Path, text: String) {
    // The supervisor of an earlier try, whose port was taken, may have removed the folder.
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
    fs::write(path, text).expect("the folder is writable");
}

fn free_ports() -> Ports {
    let mut free = ports_free_on(&[Ipv4Addr::LOCALHOST]);
    let mut next = || free.next().expect("the ports are tried again and again");
    Ports { plain: next(), secure: next() }
}

/// Returns ports without listeners, below the range that the system uses for outgoing connections.
/// A port thus stays free while its server is stopped.
pub fn ports_free_on(hosts: &[Ipv4Addr]) -> impl Iterator<Item = u16> {
    let seed = RandomState::new().hash_one(std::process::id());
    (0..)
        .map(move |i: u64| 15_000 + u16::try_from(seed.wrapping_add(i) % 17_000).expect("it is below 17 000"))
        .filter(|port| hosts.iter().all(|host| TcpListener::bind((*host, *port)).is_ok()))
}

//! A real ensemble of three servers, each on a loopback address of its own, as on three machines.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::jvm::{java, java_program, note_start};
use super::process::{Supervised, await_end_of};
use super::quorum_links::QuorumLinks;
use super::server::ports_free_on;
use super::wait::eventually_blocking;
use super::words;

/// The number of servers; two of them are a majority.
pub const MEMBERS: usize = 3;

/// How often other ports are tried when another process takes the chosen ones.
const ATTEMPTS: usize = 5;

/// How long a starting server gets to answer before it is asked again.
const STARTING: Duration = Duration::from_millis(500);

/// Three servers. When dropped, they end and their folders are removed.
#[derive(Debug)]
pub struct Ensemble {
    members: Vec<Member>,
    ports: Ports,
    /// Additional lines of `zoo.cfg`.
    lines: Vec<String>,
    /// The system properties of each member's JVM, as `NAME=VALUE`.
    properties: [Vec<String>; MEMBERS],
    /// The relays between the members, if members can be cut off.
    links: Option<QuorumLinks>,
    has_links: bool,
}

#[derive(Debug)]
struct Member {
    host: Ipv4Addr,
    folder: PathBuf,
    process: Option<Supervised>,
}

/// The ports, the same on each address.
#[derive(Clone, Copy, Debug)]
struct Ports {
    client: u16,
    quorum: u16,
    election: u16,
    admin: u16,
}

impl Ensemble {
    /// Starts an ensemble. It serves and has a leader when this returns.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts an ensemble with additional lines of `zoo.cfg`.
    pub fn with(lines: &[&str]) -> Self {
        Self::set_up(lines, Default::default())
    }

    /// Starts an ensemble in which any member can be cut off from the others ([`Self::cut_off`]).
    /// The member then keeps its leader for `sync_limit` ticks of 0.2 s. Must be called within a
    /// multi-threaded runtime.
    pub fn with_links(sync_limit: u32) -> Self {
        Self::set_up_with(&[&format!("syncLimit={sync_limit}")], Default::default(), true)
    }

    /// Starts an ensemble in which a member without a quorum serves reads.
    pub fn with_read_only_mode() -> Self {
        Self::set_up(&[], [(); MEMBERS].map(|()| vec!["readonlymode.enabled=true".to_owned()]))
    }

    /// Starts an ensemble with system properties of each member's JVM, as `NAME=VALUE`.
    pub fn with_properties(properties: [Vec<String>; MEMBERS]) -> Self {
        Self::set_up(&[], properties)
    }

    fn set_up(lines: &[&str], properties: [Vec<String>; MEMBERS]) -> Self {
        Self::set_up_with(lines, properties, false)
    }

    fn set_up_with(lines: &[&str], properties: [Vec<String>; MEMBERS], has_links: bool) -> Self {
        let members = (1..=MEMBERS).map(|number| Member {
            host: Ipv4Addr::new(127, 0, 0, u8::try_from(number).expect("there are few")),
            folder: tempfile::Builder::new().prefix("lockscope-member-").tempdir().expect("a folder").keep(),
            process: None,
        });
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let (members, ports) = (members.collect(), free_ports());
        let mut ensemble = Self { members, ports, lines, properties, links: None, has_links };
        for _ in 0..ATTEMPTS {
            let hosts: Vec<Ipv4Addr> = ensemble.members.iter().map(|member| member.host).collect();
            ensemble.links = ensemble.has_links.then(|| QuorumLinks::start(&hosts, ensemble.ports.quorum));
            (0..MEMBERS).for_each(|member| ensemble.launch(member));
            if (0..MEMBERS).all(|member| ensemble.serves(member)) {
                return ensemble;
            }
            (0..MEMBERS).for_each(|member| ensemble.stop(member));
            ensemble.ports = free_ports();
        }
        panic!("no ensemble after {ATTEMPTS} attempts; the last words of its first member:\n{}", ensemble.log(0));
    }

    /// Returns `HOST:PORT` of all servers, separated by commas.
    pub fn connect_string(&self) -> String {
        (0..MEMBERS).map(|member| self.address(member)).collect::<Vec<_>>().join(",")
    }

    /// Returns `HOST:PORT` of a server, counted from 0.
    pub fn address(&self, member: usize) -> String {
        self.socket(member).to_string()
    }

    /// Returns the address of a server.
    pub fn socket(&self, member: usize) -> SocketAddr {
        SocketAddr::from((self.members[member].host, self.ports.client))
    }

    /// Returns the folder of a server's snapshots and logs.
    pub fn data(&self, member: usize) -> PathBuf {
        self.members[member].folder.join("data")
    }

    /// Returns `http://HOST:PORT/commands`, where the literal `HOST` stands for each server's host.
    pub fn admin_url(&self) -> String {
        format!("http://HOST:{}/commands", self.ports.admin)
    }

    /// Kills a server but keeps its data.
    pub fn stop(&mut self, member: usize) {
        if let Some(process) = self.members[member].process.take() {
            process.kill();
        }
    }

    /// Starts a stopped server again on its data, and waits until it serves.
    pub fn start_again(&mut self, member: usize) {
        self.launch(member);
        assert!(self.serves(member), "member {member} did not start again; its last words:\n{}", self.log(member));
    }

    /// Creates a node in the files of a server alone, which must have been stopped. The server shows
    /// it once it is started again.
    pub fn put_node(&self, member: usize, path: &str) {
        let folder = self.members[member].folder.join("data");
        let command = java_program("PutNode");
        let put = Command::new(&command[0]).args(&command[1..]).arg(folder).arg(path).output().expect("it starts");
        assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
    }

    /// Kills the leader and returns its number. The other members then elect a new leader.
    pub fn kill_leader(&mut self) -> usize {
        let leader = self.leader();
        self.stop(leader);
        leader
    }

    /// Freezes a server: its connections stay, but nothing is answered.
    pub fn pause(&self, member: usize) {
        self.running(member).freeze();
    }

    /// Ends `pause`.
    pub fn resume(&self, member: usize) {
        self.running(member).thaw();
    }

    /// Cuts a member off from the other members, but not from its clients.
    pub fn cut_off(&self, member: usize) {
        self.links().cut_off(member);
    }

    /// Ends `cut_off`.
    pub fn heal(&self) {
        self.links().heal();
    }

    fn links(&self) -> &QuorumLinks {
        self.links.as_ref().expect("the ensemble was started with links")
    }

    /// Waits until there is a leader, and returns its number.
    pub fn leader(&self) -> usize {
        eventually_blocking("a leader", || {
            let modes: Vec<_> = (0..MEMBERS).map(|member| self.mode(member)).collect();
            modes.iter().position(|mode| mode.as_deref() == Some("leader")).ok_or(modes)
        })
    }

    /// Returns a server that follows the leader.
    pub fn follower(&self) -> usize {
        let leader = self.leader();
        (0..MEMBERS).find(|member| *member != leader && self.members[*member].process.is_some()).expect("a follower")
    }

    /// Waits until a server without a quorum serves reads.
    pub fn await_reads_only(&self, member: usize) {
        eventually_blocking("a member that serves reads only", || match self.mode(member) {
            Some(mode) if mode == "read-only" => Ok(()),
            other => Err(other),
        });
    }

    fn mode(&self, member: usize) -> Option<String> {
        self.members[member].process.as_ref()?;
        let answer = words::ask_at(self.socket(member), "srvr", STARTING).ok()?;
        answer.lines().find_map(|line| line.strip_prefix("Mode: ").map(str::to_owned))
    }

    fn running(&self, member: usize) -> &Supervised {
        self.members[member].process.as_ref().expect("the server was not stopped")
    }

    fn launch(&mut self, number: usize) {
        let (text, properties) = (self.zoo_cfg(number), &self.properties[number]);
        let member = &mut self.members[number];
        let (config, data) = (member.folder.join("zoo.cfg"), member.folder.join("data"));
        fs::create_dir_all(&data).expect("the folder is writable");
        fs::write(data.join("myid"), (number + 1).to_string()).expect("the folder is writable");
        fs::write(&config, text).expect("the folder is writable");
        let mut command = java(256);
        command.extend(properties.iter().map(|property| format!("-D{property}")));
        command.push("org.apache.zookeeper.server.quorum.QuorumPeerMain".to_owned());
        command.push(config.display().to_string());
        member.process = Some(Supervised::start(&member.folder, &command));
        note_start("member of an ensemble: a JVM", Instant::now());
    }

    /// Waits until a server is part of a quorum. Returns `false` if the server ended instead.
    fn serves(&self, member: usize) -> bool {
        eventually_blocking("a server in a quorum", || match self.mode(member) {
            Some(_) => Ok(true),
            None if !self.running(member).runs() => Ok(false),
            None => Err(self.log(member)),
        })
    }

    fn zoo_cfg(&self, member: usize) -> String {
        let Ports { client, quorum, election, admin } = self.ports;
        let (data, host) = (self.members[member].folder.join("data"), self.members[member].host);
        let servers = self.members.iter().enumerate().map(|(index, Member { host, .. })| {
            let links = self.links.as_ref().filter(|_| index != member);
            let quorum = links.map_or(quorum, |links| links.port(member, index));
            format!("server.{}={host}:{quorum}:{election};{host}:{client}", index + 1)
        });
        let mut lines = vec![
            "tickTime=200\ninitLimit=20\nsyncLimit=10\nminSessionTimeout=400\nmaxSessionTimeout=60000".to_owned(),
            "maxClientCnxns=0\n4lw.commands.whitelist=*\nforceSync=no\npreAllocSize=1024".to_owned(),
            format!("dataDir={}\nadmin.serverAddress={host}\nadmin.serverPort={admin}", data.display()),
        ];
        lines.extend(servers);
        lines.extend(self.lines.iter().cloned());
        lines.join("\n") + "\n"
    }

    fn log(&self, member: usize) -> String {
        let log = fs::read_to_string(self.members[member].folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Ensemble {
    fn drop(&mut self) {
        let processes = self.members.iter_mut().filter_map(|member| member.process.take());
        let pids: Vec<u32> = processes.map(|process| process.pid()).collect();
        if !std::thread::panicking() {
            pids.into_iter().for_each(await_end_of);
        }
        // After a stop, only this removes the folder; otherwise the supervisor has removed it.
        for member in &self.members {
            let _ = fs::remove_dir_all(&member.folder);
        }
    }
}

fn free_ports() -> Ports {
    let hosts: Vec<Ipv4Addr> =
        (1..=MEMBERS).filter_map(|number| Some([127, 0, 0, u8::try_from(number).ok()?].into())).collect();
    let mut free = ports_free_on(&hosts);
    let mut next = || free.next().expect("the ports are tried again and again");
    Ports { client: next(), quorum: next(), election: next(), admin: next() }
}

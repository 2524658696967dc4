//! The answers to four-letter words, in a real server's format.
//!
//! - `srvr`, `stat`, `mntr` and `conf`: the server's figures and settings.
//! - `cons` and `dump`: connections, sessions and their ephemeral nodes.
//! - `wchs`, `wchp` and `wchc`: which session watches which path. Like a real server, they list the
//!   watches of nodes and data, and no child watches.
//! - `envi`: the properties of Java and of the machine, under a real server's names.
//!
//! `ClickHouse` Keeper has formats of its own, those of its documentation.

use std::env::consts;
use std::fmt;
use std::fmt::Write;

use chrono::DateTime;

use super::config::ServerBehaviour;
use super::machine::Machine;
use super::wire::SandboxWord;
use crate::machine::{ClientConnection, millis};
use lockscope_base::wire::EventKind;

/// The version that the server reports. It names the ZooKeeper release that the sandbox behaves
/// like, the sandbox's own version in place of a commit, and that release's date. Clients parse it.
const VERSION: &str = concat!("3.8.0-lockscope-", env!("CARGO_PKG_VERSION"), ", built on 2022-02-25 08:49 UTC");

/// The version in the format of 3.5.
const VERSION_3_5: &str =
    concat!("3.5.4-beta-lockscope-", env!("CARGO_PKG_VERSION"), ", built on 05/11/2018 16:27 GMT");

impl Machine {
    /// Returns the whole answer to a word, or `None` when it exceeds `longest` bytes. The costly
    /// words visit every connection, session or watch.
    pub fn answer_to(&self, word: SandboxWord, now: i64, longest: usize) -> Option<String> {
        let mut text = BoundedText { written: String::new(), longest, is_whole: true };
        match word {
            _ if self.options.behaviour == ServerBehaviour::Keeper => keeper_answer(&mut text, self, word),
            SandboxWord::Ruok => text.push_str("imok"),
            SandboxWord::Isro => text.push_str("rw"),
            SandboxWord::Srvr => srvr(&mut text, self),
            SandboxWord::Stat => stat(&mut text, self),
            SandboxWord::Envi => envi(&mut text, self),
            SandboxWord::Mntr if self.is_3_5() => mntr_of_3_5(&mut text, self),
            SandboxWord::Mntr => mntr(&mut text, self, now),
            SandboxWord::Conf => conf(&mut text, self),
            SandboxWord::Cons => cons(&mut text, self),
            SandboxWord::Dump => dump(&mut text, self, now),
            SandboxWord::Wchs => wchs(&mut text, self),
            SandboxWord::Wchp => wchp(&mut text, self),
            SandboxWord::Wchc => wchc(&mut text, self),
        }
        text.is_whole.then_some(text.written)
    }

    fn is_3_5(&self) -> bool {
        self.options.behaviour == ServerBehaviour::ZooKeeper35
    }

    /// Returns the version that a server of `ZooKeeper` reports.
    fn version(&self) -> &'static str {
        if self.is_3_5() { VERSION_3_5 } else { VERSION }
    }
}

/// A text that stops growing at `longest` bytes.
struct BoundedText {
    written: String,
    longest: usize,
    is_whole: bool,
}

impl BoundedText {
    fn push_str(&mut self, more: &str) {
        self.is_whole &= self.written.len() + more.len() <= self.longest;
        if self.is_whole {
            self.written.push_str(more);
        }
    }
}

impl fmt::Write for BoundedText {
    /// Appends text; drops what exceeds the bound. Never fails.
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push_str(more);
        Ok(())
    }
}

const EVENTS: [(&str, EventKind); 4] = [
    ("node_created", EventKind::Created),
    ("node_deleted", EventKind::Deleted),
    ("node_changed", EventKind::DataChanged),
    ("node_children", EventKind::ChildrenChanged),
];

fn srvr(text: &mut BoundedText, machine: &Machine) {
    put(text, format_args!("Zookeeper version: {}\n", machine.version()));
    put_counts(text, machine);
}

/// Appends the text of `srvr`, with a brief line for each connection.
fn stat(text: &mut BoundedText, machine: &Machine) {
    put(text, format_args!("Zookeeper version: {}\nClients:\n", machine.version()));
    put_brief(text, machine);
    text.push_str("\n");
    put_counts(text, machine);
}

fn put(text: &mut BoundedText, more: std::fmt::Arguments<'_>) {
    // Writing to a `BoundedText` cannot fail.
    let _ = text.write_fmt(more);
}

fn put_counts(text: &mut BoundedText, machine: &Machine) {
    let average = machine.latency.average();
    let average = if machine.is_3_5() { format!("{average:.0}") } else { format!("{average:?}") };
    put(
        text,
        format_args!(
            "Latency min/avg/max: {}/{average}/{}\nReceived: {}\nSent: {}\nConnections: {}\n\
             Outstanding: 0\nZxid: {:#x}\nMode: standalone\nNode count: {}\n",
            machine.latency.least,
            machine.latency.most,
            machine.received,
            machine.sent,
            machine.connections.len(),
            machine.zxid,
            node_count(machine),
        ),
    );
}

fn mntr(text: &mut BoundedText, machine: &Machine, now: i64) {
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a `BoundedText` cannot fail.
        let _ = writeln!(text, "zk_{name}\t{value}");
    };
    line("version", &machine.version());
    line("server_state", &"standalone");
    line("ephemerals_count", &ephemerals(machine));
    line("num_alive_connections", &machine.connections.len());
    line("avg_latency", &decimals(machine.latency.average()));
    line("outstanding_requests", &0);
    line("znode_count", &node_count(machine));
    line("global_sessions", &machine.sessions.len());
    line("packets_sent", &machine.sent);
    line("packets_received", &machine.received);
    line("watch_count", &machine.watches.len());
    line("min_latency", &machine.latency.least);
    line("max_latency", &machine.latency.most);
    line("approximate_data_size", &machine.tree.data_size());
    line("local_sessions", &0);
    line("uptime", &(now - machine.started));
    for (name, kind) in EVENTS {
        let figure = machine.watches.statistics.of(kind);
        line(&format!("avg_{name}_watch_count"), &decimals(figure.average()));
        line(&format!("min_{name}_watch_count"), &figure.least);
        line(&format!("max_{name}_watch_count"), &figure.most);
        line(&format!("cnt_{name}_watch_count"), &figure.count);
        line(&format!("sum_{name}_watch_count"), &figure.sum);
    }
}

/// Appends the figures of 3.5, in its order.
fn mntr_of_3_5(text: &mut BoundedText, machine: &Machine) {
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a `BoundedText` cannot fail.
        let _ = writeln!(text, "zk_{name}\t{value}");
    };
    line("version", &machine.version());
    line("avg_latency", &format_args!("{:.0}", machine.latency.average()));
    line("max_latency", &machine.latency.most);
    line("min_latency", &machine.latency.least);
    line("packets_received", &machine.received);
    line("packets_sent", &machine.sent);
    line("num_alive_connections", &machine.connections.len());
    line("outstanding_requests", &0);
    line("server_state", &"standalone");
    line("znode_count", &node_count(machine));
    line("watch_count", &machine.watches.len());
    line("ephemerals_count", &ephemerals(machine));
    line("approximate_data_size", &machine.tree.data_size());
}

fn conf(text: &mut BoundedText, machine: &Machine) {
    let options = &machine.options;
    put(
        text,
        format_args!(
            "tickTime={}\nmaxClientCnxns={}\nminSessionTimeout={}\nmaxSessionTimeout={}\nserverId=0\n",
            millis(options.tick),
            options.max_connections,
            millis(options.min_session_timeout),
            millis(options.max_session_timeout),
        ),
    );
}

fn ephemerals(machine: &Machine) -> usize {
    machine.tree.owners().map(|(_, paths)| paths.len()).sum()
}

/// Returns the number of nodes. A real server counts the root twice, since its tree knows the root
/// by two names.
fn node_count(machine: &Machine) -> usize {
    machine.tree.nodes() + 1
}

/// Formats a number as Java does, with one to four decimals.
fn decimals(value: f64) -> String {
    format!("{:?}", (value * 10_000.0).round() / 10_000.0)
}

fn cons(text: &mut BoundedText, machine: &Machine) {
    for (_, connection) in &machine.connections {
        put_traffic(text, connection);
        put_session(text, connection);
        text.push_str(")\n");
    }
    text.push_str("\n");
}

/// Appends a line for each connection, without its session's figures.
fn put_brief(text: &mut BoundedText, machine: &Machine) {
    for (_, connection) in &machine.connections {
        put_traffic(text, connection);
        text.push_str(")\n");
    }
}

fn put_traffic(text: &mut BoundedText, connection: &ClientConnection) {
    let traffic = &connection.traffic;
    let open = u8::from(connection.end.is_none());
    // Writing to a `BoundedText` cannot fail.
    let _ = write!(text, " /{}[{open}](queued=0,recved={},sent={}", connection.peer, traffic.received, traffic.sent);
}

fn put_session(text: &mut BoundedText, connection: &ClientConnection) {
    let Some((session, timeout)) = connection.session else { return };
    let (traffic, latency) = (&connection.traffic, &connection.traffic.latency);
    let _ = write!(
        text,
        ",sid={session:#x},lop={},est={},to={timeout},lcxid={:#x},lzxid={:#x},lresp={},llat=0,minlat={},avglat={:.0},maxlat={}",
        traffic.last,
        traffic.since,
        traffic.last_xid,
        traffic.last_zxid,
        traffic.last_response,
        latency.least,
        latency.average(),
        latency.most,
    );
}

fn dump(text: &mut BoundedText, machine: &Machine, now: i64) {
    text.push_str("SessionTracker dump:\n");
    let expiries: Vec<(i64, i64)> = machine.sessions.by_expiry().collect();
    let groups: Vec<&[(i64, i64)]> = expiries.chunk_by(|one, next| one.0 == next.0).collect();
    // Writing to a `BoundedText` cannot fail.
    let _ = writeln!(text, "Session Sets ({})/({}):", groups.len(), expiries.len());
    for group in groups {
        let _ = writeln!(text, "{} expire at {}:", group.len(), date(group[0].0, now));
        for (_, session) in group {
            let _ = writeln!(text, "\t{session:#x}");
        }
    }
    let owners: Vec<_> = machine.tree.owners().collect();
    text.push_str("ephemeral nodes dump:\n");
    let _ = writeln!(text, "Sessions with Ephemerals ({}):", owners.len());
    for (session, paths) in owners {
        let _ = writeln!(text, "{session:#x}:");
        for path in paths {
            let _ = writeln!(text, "\t{path}");
        }
    }
    text.push_str("Connections dump:\nConnections Sets (1)/(");
    let _ = writeln!(text, "{}):", machine.connections.len());
}

/// Formats a date as Java does, in UTC.
fn date(at: i64, now: i64) -> String {
    DateTime::from_timestamp_millis(at)
        .map_or_else(|| format!("in {} ms", at - now), |at| at.format("%a %b %d %H:%M:%S UTC %Y").to_string())
}

fn wchs(text: &mut BoundedText, machine: &Machine) {
    let table = &machine.watches.data;
    let (connections, paths) = table.breadth();
    // Writing to a `BoundedText` cannot fail.
    let _ = write!(text, "{connections} connections watching {paths} paths\nTotal watches:{}\n", table.len());
}

fn wchp(text: &mut BoundedText, machine: &Machine) {
    for (path, watchers) in machine.watches.data.paths() {
        text.push_str(path);
        text.push_str("\n");
        for session in watchers.filter_map(|watcher| session(machine, watcher)) {
            // Writing to a `BoundedText` cannot fail.
            let _ = writeln!(text, "\t{session:#x}");
        }
    }
    text.push_str("\n");
}

fn wchc(text: &mut BoundedText, machine: &Machine) {
    for (watcher, paths) in machine.watches.data.watchers() {
        let Some(session) = session(machine, watcher) else { continue };
        let _ = writeln!(text, "{session:#x}");
        for path in paths {
            let _ = writeln!(text, "\t{path}");
        }
    }
    text.push_str("\n");
}

fn session(machine: &Machine, watcher: usize) -> Option<i64> {
    machine.connections.get(watcher)?.session.map(|(session, _)| session)
}

/// The text that Java prints for a property that is not set.
const ABSENT: &str = "<NA>";

/// The Java properties that a real server prints. The sandbox has none of them.
const JAVA: [&str; 7] = [
    "java.version",
    "java.vendor",
    "java.home",
    "java.class.path",
    "java.library.path",
    "java.io.tmpdir",
    "java.compiler",
];

/// Appends a real server's names in their order. The memory figures are those of the sandbox's
/// bound for nodes and watches.
fn envi(text: &mut BoundedText, machine: &Machine) {
    text.push_str("Environment:\n");
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a `BoundedText` cannot fail.
        let _ = writeln!(text, "{name}={value}");
    };
    line("zookeeper.version", &machine.version());
    line("host.name", &"localhost");
    for name in JAVA {
        line(name, &ABSENT);
    }
    line("os.name", &consts::OS);
    line("os.arch", &consts::ARCH);
    for name in ["os.version", "user.name", "user.home", "user.dir"] {
        line(name, &ABSENT);
    }
    let most = machine.options.max_memory;
    line("os.memory.free", &mebibytes(most.saturating_sub(machine.memory())));
    line("os.memory.max", &mebibytes(most));
    line("os.memory.total", &mebibytes(most));
}

fn mebibytes(bytes: usize) -> String {
    format!("{}MB", bytes >> 20)
}

/// The version that Keeper reports.
const KEEPER_VERSION: &str = concat!("v25.12.1.1-lockscope-", env!("CARGO_PKG_VERSION"));

/// The session of a connection without one.
const NO_SESSION: i64 = -1;

/// Appends the answer to a word. A word that is not allowed by default has none.
fn keeper_answer(text: &mut BoundedText, machine: &Machine, word: SandboxWord) {
    match word {
        SandboxWord::Ruok => text.push_str("imok"),
        SandboxWord::Isro => text.push_str("rw"),
        SandboxWord::Srvr => keeper_srvr(text, machine),
        SandboxWord::Stat => {
            keeper_put(text, format_args!("ClickHouse Keeper version: {KEEPER_VERSION}\nClients:\n"));
            machine.connections.iter().for_each(|(_, connection)| keeper_put_traffic(text, connection));
            text.push_str("\n");
            keeper_counts(text, machine);
        }
        SandboxWord::Mntr => keeper_mntr(text, machine),
        SandboxWord::Conf => keeper_conf(text, machine),
        SandboxWord::Cons => keeper_cons(text, machine),
        SandboxWord::Envi => {
            keeper_put(text, format_args!("Environment:\nclickhouse.keeper.version={KEEPER_VERSION}\n"));
        }
        SandboxWord::Wchs => {
            let (connections, paths) = machine.watches.data.breadth();
            let watches = machine.watches.data.len();
            keeper_put(
                text,
                format_args!("{connections} connections watching {paths} paths\nTotal watches:{watches}\n"),
            );
        }
        SandboxWord::Dump | SandboxWord::Wchp | SandboxWord::Wchc => {}
    }
}

fn keeper_put(text: &mut BoundedText, more: std::fmt::Arguments<'_>) {
    // Writing to a `BoundedText` cannot fail.
    let _ = text.write_fmt(more);
}

fn keeper_srvr(text: &mut BoundedText, machine: &Machine) {
    keeper_put(text, format_args!("ClickHouse Keeper version: {KEEPER_VERSION}\n"));
    keeper_counts(text, machine);
}

fn keeper_counts(text: &mut BoundedText, machine: &Machine) {
    let (received, sent, connections) = (machine.received, machine.sent, machine.connections.len());
    let (zxid, nodes) = (machine.zxid, machine.tree.nodes());
    keeper_put(
        text,
        format_args!(
            "Latency min/avg/max: 0/0/0\nReceived: {received}\nSent: {sent}\nConnections: {connections}\n\
             Outstanding: 0\nZxid: {zxid}\nMode: standalone\nNode count: {nodes}\n"
        ),
    );
}

fn keeper_mntr(text: &mut BoundedText, machine: &Machine) {
    let ephemerals: usize = machine.tree.owners().map(|(_, paths)| paths.len()).sum();
    let mut line = |name: &str, value: &dyn std::fmt::Display| keeper_put(text, format_args!("zk_{name}\t{value}\n"));
    line("version", &KEEPER_VERSION);
    for name in ["avg_latency", "max_latency", "min_latency"] {
        line(name, &0);
    }
    line("packets_received", &machine.received);
    line("packets_sent", &machine.sent);
    line("num_alive_connections", &machine.connections.len());
    line("outstanding_requests", &0);
    line("server_state", &"standalone");
    line("znode_count", &machine.tree.nodes());
    line("watch_count", &machine.watches.len());
    line("ephemerals_count", &ephemerals);
    line("approximate_data_size", &machine.tree.data_size());
}

fn keeper_conf(text: &mut BoundedText, machine: &Machine) {
    let options = &machine.options;
    let (least, most) = (millis(options.min_session_timeout), millis(options.max_session_timeout));
    keeper_put(
        text,
        format_args!("server_id=1\ntcp_port=9181\nmin_session_timeout_ms={least}\nsession_timeout_ms={most}\n"),
    );
}

fn keeper_cons(text: &mut BoundedText, machine: &Machine) {
    for (_, connection) in &machine.connections {
        keeper_put_traffic(text, connection);
    }
    text.push_str("\n");
}

fn keeper_put_traffic(text: &mut BoundedText, connection: &ClientConnection) {
    let traffic = &connection.traffic;
    let (session, timeout) = connection.session.unwrap_or((NO_SESSION, 0));
    keeper_put(
        text,
        format_args!(
            " {}(recved={},sent={},sid={session:#018x},lop={},est={},to={timeout},lcxid={:#018x},lzxid={:#018x},\
             lresp={},llat=0,minlat=0,avglat=0,maxlat=0)\n",
            connection.peer,
            traffic.received,
            traffic.sent,
            traffic.last,
            traffic.since,
            traffic.last_xid,
            traffic.last_zxid,
            traffic.last_response,
        ),
    );
}

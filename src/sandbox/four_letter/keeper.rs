//! The answers of `ClickHouse` Keeper, in the formats of its documentation.

use std::fmt::Write;

use super::BoundedText;
use crate::machine::{ClientConnection, Machine, millis};
use crate::wire::Word;

/// The version that Keeper reports.
const VERSION: &str = concat!("v25.12.1.1-lockscope-", env!("CARGO_PKG_VERSION"));

/// The session of a connection without one.
const NO_SESSION: i64 = -1;

/// Appends the answer to a word. A word that is not allowed by default has none.
pub(super) fn answer(text: &mut BoundedText, machine: &Machine, word: Word) {
    match word {
        Word::Ruok => text.push_str("imok"),
        Word::Isro => text.push_str("rw"),
        Word::Srvr => srvr(text, machine),
        Word::Stat => {
            put(text, format_args!("ClickHouse Keeper version: {VERSION}\nClients:\n"));
            machine.connections.iter().for_each(|(_, connection)| put_traffic(text, connection));
            text.push_str("\n");
            counts(text, machine);
        }
        Word::Mntr => mntr(text, machine),
        Word::Conf => conf(text, machine),
        Word::Cons => cons(text, machine),
        Word::Envi => put(text, format_args!("Environment:\nclickhouse.keeper.version={VERSION}\n")),
        Word::Wchs => {
            let (connections, paths) = machine.watches.data.breadth();
            let watches = machine.watches.data.len();
            put(text, format_args!("{connections} connections watching {paths} paths\nTotal watches:{watches}\n"));
        }
        Word::Dump | Word::Wchp | Word::Wchc => {}
    }
}

fn put(text: &mut BoundedText, more: std::fmt::Arguments<'_>) {
    // Writing to a `BoundedText` cannot fail.
    let _ = text.write_fmt(more);
}

fn srvr(text: &mut BoundedText, machine: &Machine) {
    put(text, format_args!("ClickHouse Keeper version: {VERSION}\n"));
    counts(text, machine);
}

fn counts(text: &mut BoundedText, machine: &Machine) {
    let (received, sent, connections) = (machine.received, machine.sent, machine.connections.len());
    let (zxid, nodes) = (machine.zxid, machine.tree.nodes());
    put(
        text,
        format_args!(
            "Latency min/avg/max: 0/0/0\nReceived: {received}\nSent: {sent}\nConnections: {connections}\n\
             Outstanding: 0\nZxid: {zxid}\nMode: standalone\nNode count: {nodes}\n"
        ),
    );
}

fn mntr(text: &mut BoundedText, machine: &Machine) {
    let ephemerals: usize = machine.tree.owners().map(|(_, paths)| paths.len()).sum();
    let mut line = |name: &str, value: &dyn std::fmt::Display| put(text, format_args!("zk_{name}\t{value}\n"));
    line("version", &VERSION);
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

fn conf(text: &mut BoundedText, machine: &Machine) {
    let options = &machine.options;
    let (least, most) = (millis(options.min_session_timeout), millis(options.max_session_timeout));
    put(text, format_args!("server_id=1\ntcp_port=9181\nmin_session_timeout_ms={least}\nsession_timeout_ms={most}\n"));
}

fn cons(text: &mut BoundedText, machine: &Machine) {
    for (_, connection) in &machine.connections {
        put_traffic(text, connection);
    }
    text.push_str("\n");
}

fn put_traffic(text: &mut BoundedText, connection: &ClientConnection) {
    let traffic = &connection.traffic;
    let (session, timeout) = connection.session.unwrap_or((NO_SESSION, 0));
    put(
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

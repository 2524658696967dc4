//! `srvr`, `stat`, `mntr` and `conf`: the server's figures and settings.

use std::fmt::Write;

use super::{BoundedText, connections};
use crate::machine::{Machine, millis};
use lockscope_base::wire::EventKind;

const EVENTS: [(&str, EventKind); 4] = [
    ("node_created", EventKind::Created),
    ("node_deleted", EventKind::Deleted),
    ("node_changed", EventKind::DataChanged),
    ("node_children", EventKind::ChildrenChanged),
];

pub(super) fn srvr(text: &mut BoundedText, machine: &Machine) {
    put(text, format_args!("Zookeeper version: {}\n", machine.version()));
    put_counts(text, machine);
}

/// Appends the text of `srvr`, with a brief line for each connection.
pub(super) fn stat(text: &mut BoundedText, machine: &Machine) {
    put(text, format_args!("Zookeeper version: {}\nClients:\n", machine.version()));
    connections::put_brief(text, machine);
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

pub(super) fn mntr(text: &mut BoundedText, machine: &Machine, now: i64) {
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
pub(super) fn mntr_of_3_5(text: &mut BoundedText, machine: &Machine) {
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

pub(super) fn conf(text: &mut BoundedText, machine: &Machine) {
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

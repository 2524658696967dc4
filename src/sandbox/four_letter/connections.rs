//! `cons` and `dump`: connections, sessions and their ephemeral nodes.

use std::fmt::Write;

use chrono::DateTime;

use super::BoundedText;
use crate::machine::{ClientConnection, Machine};

pub(super) fn cons(text: &mut BoundedText, machine: &Machine) {
    for (_, connection) in &machine.connections {
        put_traffic(text, connection);
        put_session(text, connection);
        text.push_str(")\n");
    }
    text.push_str("\n");
}

/// Appends a line for each connection, without its session's figures.
pub(super) fn put_brief(text: &mut BoundedText, machine: &Machine) {
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

pub(super) fn dump(text: &mut BoundedText, machine: &Machine, now: i64) {
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

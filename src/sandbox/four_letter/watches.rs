//! `wchs`, `wchp` and `wchc`: which session watches which path. Like a real server, they list the
//! watches of nodes and data, and no child watches.

use std::fmt::Write;

use super::BoundedText;
use crate::machine::Machine;

pub(super) fn wchs(text: &mut BoundedText, machine: &Machine) {
    let table = &machine.watches.data;
    let (connections, paths) = table.breadth();
    // Writing to a `BoundedText` cannot fail.
    let _ = write!(text, "{connections} connections watching {paths} paths\nTotal watches:{}\n", table.len());
}

pub(super) fn wchp(text: &mut BoundedText, machine: &Machine) {
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

pub(super) fn wchc(text: &mut BoundedText, machine: &Machine) {
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

//! As on a real server, these tell of watches of nodes and their data alone, never of those of children.

use std::fmt::Write;

use crate::sandbox::machine::Machine;

pub(super) fn wchs(machine: &Machine) -> String {
    let table = &machine.watches.data;
    let (connections, paths) = table.breadth();
    format!("{connections} connections watching {paths} paths\nTotal watches:{}\n", table.len())
}

pub(super) fn wchp(machine: &Machine) -> String {
    let mut text = String::new();
    for (path, watchers) in machine.watches.data.paths() {
        text.push_str(path);
        text.push('\n');
        for session in watchers.filter_map(|watcher| session(machine, watcher)) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t{session:#x}");
        }
    }
    text.push('\n');
    text
}

pub(super) fn wchc(machine: &Machine) -> String {
    let mut text = String::new();
    for (watcher, paths) in machine.watches.data.watchers() {
        let Some(session) = session(machine, watcher) else { continue };
        let _ = writeln!(text, "{session:#x}");
        for path in paths {
            let _ = writeln!(text, "\t{path}");
        }
    }
    text.push('\n');
    text
}

fn session(machine: &Machine, watcher: usize) -> Option<i64> {
    machine.connections.get(watcher)?.session.map(|(session, _)| session)
}

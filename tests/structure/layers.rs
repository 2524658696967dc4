//! The allowed dependencies of crates and modules, read from the page about the architecture, and
//! the names that pure parts must not use.

use std::collections::BTreeSet;

/// A row of the table of modules.
#[derive(Debug, PartialEq, Eq)]
pub struct Layer {
    /// The module.
    pub name: String,
    /// Whether the module is pure: time is an argument, and nothing is sent or drawn.
    pub is_pure: bool,
    /// The other modules that it may use.
    pub allowed: BTreeSet<String>,
}

/// Returns the rows of the table of modules, from the bottom up.
///
/// The last column of a row is `nothing`, names of modules, `all above`, or `all above but` names.
pub fn layers(docs: &str) -> Result<Vec<Layer>, String> {
    let mut layers: Vec<Layer> = Vec::new();
    for line in table(docs, "| module |") {
        let unreadable = || format!("no row of the table: {line}");
        let [_, name, _, purpose, column, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err(unreadable());
        };
        let above: BTreeSet<String> = layers.iter().map(|layer| layer.name.clone()).collect();
        let allowed = match column.strip_prefix("all above") {
            _ if column == "nothing" => BTreeSet::new(),
            Some("") => above.clone(),
            Some(rest) => {
                let excepted = modules(rest.strip_prefix(" but ").ok_or_else(unreadable)?).ok_or_else(unreadable)?;
                above.difference(&excepted).cloned().collect()
            }
            None => modules(column).ok_or_else(unreadable)?,
        };
        if let Some(not_above) = allowed.difference(&above).next() {
            return Err(format!("{not_above} does not stand above {name}, which may use it"));
        }
        let name = name.trim_matches('`').to_owned();
        layers.push(Layer { name, is_pure: purpose.ends_with(" Pure."), allowed });
    }
    Ok(layers)
}

/// A row of the table of crates.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// The package.
    pub name: String,
    /// The packages of the workspace that it depends on.
    pub uses: BTreeSet<String>,
    /// The packages that it must not depend on.
    pub never: BTreeSet<String>,
}

/// Returns the rows of the table of crates except the last one, which may use everything.
pub fn members(docs: &str) -> Vec<Member> {
    let names = |column: &str| column.split(", ").map(str::to_owned).collect::<BTreeSet<_>>();
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, uses, never, _] = columns[..] else { panic!("no row of the table: {line}") };
        let uses = names(uses).into_iter().filter(|name| name != "nothing");
        let uses = uses.map(|name| format!("lockscope-{name}")).collect();
        Member { name: name.trim_matches('`').to_owned(), uses, never: names(never) }
    };
    let mut members: Vec<Member> = table(docs, "| crate |").map(row).collect();
    members.pop();
    members
}

/// Returns the rows of the table below a heading.
fn table<'d>(docs: &'d str, heading: &'d str) -> impl Iterator<Item = &'d str> {
    docs.lines().skip_while(move |line| !line.starts_with(heading)).skip(2).take_while(|line| line.starts_with('|'))
}

/// Returns the names in a list such as `` `files`, `znode` ``.
fn modules(list: &str) -> Option<BTreeSet<String>> {
    list.split(", ").map(|name| Some(name.strip_prefix('`')?.strip_suffix('`')?.to_owned())).collect()
}

/// Pure parts of modules that are not pure as a whole.
pub const PURE_PARTS: [&str; 15] = [
    "tui/app",
    "tui/own_command",
    "tui/lock_history",
    "tui/page",
    "demo/script",
    "follow",
    "admin/plan",
    "admin/guard",
    "sandbox/tree",
    "sandbox/watch",
    "sandbox/wire",
    "sandbox/machine",
    "sandbox/four_letter",
    "zk/transport/body",
    "zk/transport/replies",
];

/// Crates that a pure module must not name.
pub const IMPURE_CRATES: [&str; 4] = ["tokio", "ratatui", "crossterm", "zookeeper_client"];

/// Clocks that a pure module must not read, by the last two names of their paths.
pub const CLOCKS: [[&str; 2]; 4] = [["Instant", "now"], ["SystemTime", "now"], ["Utc", "now"], ["Local", "now"]];

/// The modules and the paths of other crates that parts of the screen must not use.
pub const TUI: [(&str, &[&str], &[&str]); 4] = [
    ("tui/page", &["tui/app", "tui/view", "tui/widget", "tui/keymap", "tui/theme"], &["std::fs", "std::io"]),
    ("tui/app", &["tui/view", "tui/widget"], &["std::fs", "std::io"]),
    ("tui/widget", &["tui/app", "tui/page", "tui/view"], &["tokio", "std::fs", "std::io", "std::net"]),
    ("tui/view", &["tui/run", "tui/terminal"], &["tokio", "zookeeper_client", "std::fs", "std::io", "std::net"]),
];

/// The only parts of the screen that use the async runtime.
pub const TUI_RUNTIME: [&str; 7] = [
    "tui/mod",
    "tui/run",
    "tui/terminal",
    "tui/live_parts",
    "tui/command_runner",
    "tui/background",
    "tui/ensemble_watch",
];

/// Returns whether `file`, relative to `src`, belongs to a module given by its path, such as
/// `zk/transport`.
pub fn belongs(file: &str, module: &str) -> bool {
    file.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{Layer, layers};

    fn allowed(column: &str) -> Result<Vec<String>, String> {
        let docs = format!(
            "text\n| module |\n| --- |\n| `a` | x | Names. Pure. | nothing |\n| `b` | x | Waits. | `a` |\n| `c` | x | Draws. | {column} |"
        );
        layers(&docs).map(|mut layers| layers.pop().into_iter().flat_map(|layer| layer.allowed).collect())
    }

    #[test]
    fn a_row_of_the_map_says_what_its_module_may_use() {
        for (column, expected) in [
            ("nothing", vec![]),
            ("`a`", vec!["a"]),
            ("`b`, `a`", vec!["a", "b"]),
            ("all above", vec!["a", "b"]),
            ("all above but `a`", vec!["b"]),
        ] {
            assert_eq!(allowed(column).expect(column), expected, "{column}");
        }
        for column in ["", "a", "`c`", "`d`", "all", "all above but a", "`a` | `b`"] {
            assert!(allowed(column).is_err(), "{column}");
        }
        let pure = layers("| module |\n| --- |\n| `a` | x | Names. Pure. | nothing |\n| `b` | x | Waits. | nothing |")
            .expect("a map");
        assert_eq!(pure.iter().map(|Layer { is_pure, .. }| *is_pure).collect::<Vec<_>>(), [true, false]);
    }
}

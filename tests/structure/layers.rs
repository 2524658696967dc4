//! Which module may use which, and what some must not know.

/// Each module of the crate, and those that it may use. The order is from the bottom up.
pub const LAYERS: [(&str, &[&str]); 19] = [
    ("znode", &[]),
    ("text", &["znode"]),
    ("time", &["znode"]),
    ("recipe", &["znode"]),
    ("server_view", &["znode"]),
    ("queue", &["recipe", "server_view", "znode"]),
    ("diagnose", &["queue", "recipe", "server_view", "text", "znode"]),
    ("report", &["diagnose", "queue", "recipe", "server_view", "text", "znode"]),
    ("files", &[]),
    ("zk", &["files", "server_view", "time", "znode"]),
    ("observe", &["zk", "queue", "recipe", "time", "znode"]),
    ("lock", &["recipe", "time", "znode"]),
    ("contend", &["lock", "zk", "server_view", "time", "znode"]),
    ("sandbox", &["time", "znode"]),
    ("demo", &["contend", "lock", "zk", "time", "znode"]),
    ("admin", &["zk", "files", "report", "diagnose", "queue", "recipe", "server_view", "text", "time", "znode"]),
    ("examine", &["admin", "observe", "zk", "diagnose", "queue", "recipe", "server_view", "time", "znode"]),
    (
        "cli",
        &[
            "examine",
            "admin",
            "demo",
            "sandbox",
            "contend",
            "lock",
            "observe",
            "zk",
            "files",
            "report",
            "diagnose",
            "queue",
            "recipe",
            "server_view",
            "text",
            "time",
            "znode",
            "tui",
        ],
    ),
    (
        "tui",
        &[
            "examine",
            "demo",
            "admin",
            "contend",
            "lock",
            "observe",
            "zk",
            "files",
            "report",
            "diagnose",
            "queue",
            "recipe",
            "server_view",
            "text",
            "time",
            "znode",
        ],
    ),
];

/// Where time is an argument and nothing is sent or drawn.
pub const PURE: [&str; 24] = [
    "znode",
    "text",
    "recipe",
    "server_view",
    "queue",
    "diagnose",
    "report",
    "tui/app",
    "tui/page",
    "demo/script",
    "observe/follow",
    "admin/plan",
    "admin/guard",
    "sandbox/tree",
    "sandbox/watch",
    "sandbox/session",
    "sandbox/wire",
    "sandbox/machine",
    "sandbox/four_letter",
    "zk/transport/body",
    "zk/transport/handshake",
    "zk/transport/outstanding",
    "zk/transport/replies",
    "zk/transport/requests",
];

/// Crates that a pure module must not name.
pub const IMPURE_CRATES: [&str; 4] = ["tokio", "ratatui", "crossterm", "zookeeper_client"];

/// Clocks that a pure module must not read, by the ends of their paths.
pub const CLOCKS: [[&str; 2]; 4] = [["Instant", "now"], ["SystemTime", "now"], ["Utc", "now"], ["Local", "now"]];

/// What parts of the screen must not use: the crate's own modules, and paths of others.
pub const TUI: [(&str, &[&str], &[&str]); 4] = [
    ("tui/page", &["tui/app", "tui/view", "tui/widget", "tui/keymap", "tui/theme"], &["std::fs", "std::io"]),
    ("tui/app", &["tui/view", "tui/widget"], &["std::fs", "std::io"]),
    ("tui/widget", &["tui/app", "tui/page", "tui/view"], &["tokio", "std::fs", "std::io", "std::net"]),
    ("tui/view", &["tui/run", "tui/terminal"], &["tokio", "zookeeper_client", "std::fs", "std::io", "std::net"]),
];

/// The only parts of the screen that know the runtime.
pub const TUI_RUNTIME: [&str; 7] =
    ["tui/mod", "tui/run", "tui/terminal", "tui/input", "tui/sources", "tui/fleet_tasks", "tui/deletion_runner"];

/// Whether `file`, relative to `src`, belongs to a module that is given by its path, such as `zk/transport`.
pub fn belongs(file: &str, module: &str) -> bool {
    file.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

//! Holds the rules of the house: which room may use which, and what the pure rooms must not know.

use std::fs;
use std::path::{Path, PathBuf};

/// Each room, and the rooms that it may use. The order is from the ground up.
const ROOMS: [(&str, &[&str]); 17] = [
    ("znode", &[]),
    ("recipe", &["znode"]),
    ("server_view", &["znode"]),
    ("queue", &["recipe", "server_view", "znode"]),
    ("diagnose", &["queue", "recipe", "server_view", "znode"]),
    ("report", &["diagnose", "queue", "recipe", "server_view", "znode"]),
    ("files", &[]),
    ("zk", &["files", "server_view", "znode"]),
    ("observe", &["zk", "queue", "recipe", "znode"]),
    ("lock", &["recipe", "znode"]),
    ("contend", &["lock", "zk", "server_view", "znode"]),
    ("sandbox", &["znode"]),
    ("demo", &["contend", "lock", "zk", "znode"]),
    ("admin", &["zk", "files", "report", "diagnose", "queue", "recipe", "server_view", "znode"]),
    ("examine", &["admin", "observe", "zk", "diagnose", "queue", "recipe", "server_view", "znode"]),
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
            "znode",
        ],
    ),
];

/// Where time is an argument and nothing is sent or drawn.
const PURE: [&str; 22] = [
    "znode",
    "recipe",
    "server_view",
    "queue",
    "diagnose",
    "report",
    "tui/app",
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

/// What a pure room must not name.
const IMPURE: [&str; 7] =
    ["tokio", "ratatui", "crossterm", "zookeeper_client", "Instant::now", "SystemTime::now", "Utc::now"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The files of a room, which is a folder, a file, or both.
fn files(room: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![source().join(room), source().join(format!("{room}.rs"))];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") && path.exists() {
            found.push(path);
        }
    }
    found
}

/// A file's lines of code: what stands before its tests, without comments.
fn code(path: &Path) -> Vec<String> {
    let is_test = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
    if is_test {
        return Vec::new();
    }
    let text = fs::read_to_string(path).expect("a readable source file");
    let body = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    body.map(|line| line.split("//").next().unwrap_or_default().to_owned()).collect()
}

fn rooms_named(line: &str) -> Vec<&str> {
    let rest = line.split("crate::").skip(1);
    rest.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()).collect()
}

#[test]
fn every_room_uses_only_the_rooms_below_it() {
    let mut broken = Vec::new();
    for (room, allowed) in ROOMS {
        let files = files(room);
        assert!(!files.is_empty(), "the room {room} is empty");
        for file in files {
            for line in code(&file) {
                for named in rooms_named(&line) {
                    let is_room = ROOMS.iter().any(|(other, _)| *other == named);
                    if is_room && named != room && !allowed.contains(&named) {
                        broken.push(format!("{}: {}", file.display(), line.trim()));
                    }
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_folder_is_a_room_with_rules() {
    for entry in fs::read_dir(source()).expect("src") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let known = ROOMS.iter().any(|(room, _)| *room == name) || ["lib", "main"].contains(&&*name);
        assert!(known, "{name} has no rules yet: say in tests/house which rooms it may use");
    }
}

#[test]
fn the_pure_rooms_know_no_runtime_no_screen_no_client_and_no_clock() {
    let mut broken = Vec::new();
    for room in PURE {
        let files = files(room);
        assert!(!files.is_empty(), "the pure room {room} is empty");
        for file in files {
            for line in code(&file) {
                if IMPURE.iter().any(|word| line.contains(word)) {
                    broken.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_map_in_the_crate_docs_names_every_room() {
    let docs = fs::read_to_string(source().join("lib.rs")).expect("lib.rs");
    for (room, _) in ROOMS {
        assert!(docs.contains(&format!("[`{room}`]")), "{room} is not on the map of lib.rs");
    }
}

#[test]
fn json_is_written_in_one_place_which_escapes_what_a_terminal_could_obey() {
    let writers = ["serde_json::to_string", "serde_json::to_writer", "serde_json::to_vec", "serde_json::Serializer"];
    let mut broken = Vec::new();
    for (room, _) in ROOMS {
        for file in files(room).into_iter().filter(|file| !file.ends_with("report/json.rs")) {
            for line in code(&file) {
                if writers.iter().any(|writer| line.contains(writer)) {
                    broken.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "use report::json: {}", broken.join("\n"));
}

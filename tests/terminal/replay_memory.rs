//! The memory of `replay`, whatever the recording unpacks to. `tests/memory` measures the commands
//! that need no terminal.

use std::fs;

use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;

#[path = "../memory/crafted.rs"]
mod crafted;
#[path = "../bench/nodes.rs"]
mod nodes;

/// The maximum memory, in bytes.
const MOST: u64 = 300_000_000;

/// Returns the peak memory of a running program, in bytes.
fn peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok()).expect("a number") * 1024
}

/// Returns the peak memory of a replay, in bytes, once it shows the recording or the damage.
fn replayed(content: &crafted::Content) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = crafted::recording(folder.path(), content);
    let mut terminal = Terminal::lockscope(&["replay", recording.to_str().expect("text"), "--utc"], 120, 30);
    let most = eventually_blocking("the recording on the screen", || {
        let (text, most) = (terminal.text(), peak(terminal.id()));
        // The last text stands above a table without locks.
        let is_shown = ["/locks/", "damaged", "nothing read yet"].iter().any(|shown| text.contains(shown));
        if is_shown { Ok(most) } else { Err(text) }
    });
    terminal.press("qy");
    assert!(terminal.ends().success());
    most
}

#[test]
fn no_recording_takes_300_mb_of_a_replay() {
    // `replay` keeps another state beside the one shown: 100,000 locks take about 315 MB.
    let sound = crafted::state("85,000 locks", 85_000, 1, 0);
    for content in [sound].into_iter().chain(crafted::contents()) {
        let most = replayed(&content);
        println!("{}: replay: {} MB", content.name, most / 1_000_000);
        assert!(most < MOST, "{}: {most} bytes", content.name);
    }
}

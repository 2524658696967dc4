//! Records the tour in asciinema's format (version 2), while the program plays it.
//!
//! Every test run records a few seconds. If `LOCKSCOPE_RECORDING` names a file, the whole tour is
//! written there.

use std::fmt::Write;
use std::time::{Duration, Instant};

use vt100::Screen;

use crate::harness::terminal::Terminal;

/// Columns and lines of the recording.
const SIZE: (u16, u16) = (100, 30);
/// How often the screen is sampled: shorter changes are not recorded.
const LOOKS: Duration = Duration::from_millis(250);
/// How long the last picture stays.
const LAST: Duration = Duration::from_secs(16);
/// The time limit of a whole tour.
const PATIENCE: Duration = Duration::from_secs(400);

/// Records until `is_over`, at most for `most`.
fn record(terminal: &Terminal, most: Duration, is_over: impl Fn(&str) -> bool) -> String {
    let header = serde_json::json!({
        "version": 2, "width": SIZE.0, "height": SIZE.1, "title": "lockscope demo", "env": {"TERM": "xterm-256color"},
    });
    let mut cast = format!("{header}\n");
    let begun = Instant::now();
    let mut before: Option<Screen> = None;
    let mut ends: Option<Instant> = None;
    while begun.elapsed() < most && ends.is_none_or(|ends| Instant::now() < ends) {
        let at = begun.elapsed().as_secs_f64();
        let screen = terminal.screen();
        let changed = before.as_ref().map_or_else(|| screen.state_formatted(), |before| screen.state_diff(before));
        if !changed.is_empty() {
            let text = serde_json::Value::from(changed);
            writeln!(cast, "[{at:.2}, \"o\", {text}]").expect("a string takes all");
        }
        if ends.is_none() && is_over(&screen.contents()) {
            ends = Some(Instant::now() + LAST);
        }
        before = Some(screen);
        std::thread::sleep(LOOKS);
    }
    cast
}

/// Returns the screen of a player at the end.
fn replay(cast: &str) -> String {
    let (rows, columns) = (SIZE.1.try_into().expect("rows"), SIZE.0.try_into().expect("columns"));
    let mut parser = vt100::Parser::new(rows, columns, 0);
    let mut last = 0.0;
    for line in cast.lines().skip(1) {
        let (at, kind, text): (f64, String, String) = serde_json::from_str(line).expect("an event");
        assert!(kind == "o" && at >= last, "{line}");
        last = at;
        parser.process(text.as_bytes());
    }
    parser.screen().contents()
}

#[test]
fn the_recording_shows_the_tour() {
    let mut terminal = Terminal::lockscope(&["demo", "--play", "--utc"], SIZE.0, SIZE.1);
    terminal.shows_all(&["SANDBOX", "1/8"]);
    let file = std::env::var_os("LOCKSCOPE_RECORDING");
    let most = if file.is_some() { PATIENCE } else { Duration::from_secs(4) };
    let cast = record(&terminal, most, |seen| seen.contains("8/8"));
    let shown = replay(&cast);
    match file {
        Some(file) => {
            assert!(shown.contains("8/8 What it comes to"), "{shown}");
            std::fs::write(file, cast).expect("a recording can be written");
        }
        None => assert!(shown.contains("1/8 A herd beside a chain"), "{shown}"),
    }
    terminal.press("qy");
    assert!(terminal.ends().success());
}

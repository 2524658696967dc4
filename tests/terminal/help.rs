//! Long help in a pager, and the screen without colours.

use crate::harness::terminal::{Terminal, with_usual_environment};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockscope");

/// Starts the program's help with this pager, on a terminal with so many rows.
fn help(pager: &str, arguments: &[&str], rows: u16) -> Terminal {
    let mut command = with_usual_environment(PROGRAM, arguments);
    command.env("PAGER", pager);
    command.env_remove("LESS");
    Terminal::start(command, 100, rows)
}

#[test]
fn help_that_is_longer_than_the_terminal_goes_through_the_pager() {
    // Split into words as a shell does, and no shell runs: `;` and `$` are the pager's.
    let paged = help("sed -n 's/^Usage: \\(lockscope.*\\)/paged \\1 ; $HOME/p'", &["check", "--help"], 24);
    paged.shows("paged lockscope check [OPTIONS] ; $HOME");
    let less = &mut help("less", &["--help"], 24);
    less.shows(":");
    less.hides("ZOOKEEPER_CONNECT");
    less.press("G");
    less.shows("130 for ^C");
    less.press("q");
    assert!(less.ends().success());
}

#[test]
fn help_is_printed_where_it_fits_or_where_there_is_no_pager() {
    let end = "Exits with";
    for (pager, rows) in [("", 24), ("cat", 24), ("/nonexistent/pager", 24), ("'", 24), ("sed s/./x/g", 400)] {
        let mut terminal = help(pager, &["recipes", "--help"], rows);
        assert!(terminal.ends().success(), "{pager:?}");
        let sent = String::from_utf8_lossy(&terminal.sent()).into_owned();
        assert!(sent.contains(end) && sent.contains("--try"), "{pager:?}: {sent}");
    }
}

/// Returns whether the program sends colours, other than those that a terminal begins with.
fn has_colours(variable: Option<&str>, arguments: &[&str]) -> bool {
    let arguments = [&["--connect", "127.0.0.1:1", "--theme", "dark"], arguments].concat();
    let mut command = with_usual_environment(PROGRAM, &arguments);
    if let Some(name) = variable {
        command.env(name, "1");
    }
    let terminal = Terminal::start(command, 80, 24);
    terminal.shows("no connection");
    let sent = String::from_utf8_lossy(&terminal.sent()).into_owned();
    ["[38;", ";38;", "[48;", ";48;"].iter().any(|colour| sent.contains(colour))
}

#[test]
fn the_screen_follows_the_option_and_then_the_environment() {
    assert!(has_colours(None, &[]));
    assert!(!has_colours(None, &["--color", "never"]));
    assert!(!has_colours(Some("NO_COLOR"), &[]));
    assert!(has_colours(Some("NO_COLOR"), &["--color=always"]));
}

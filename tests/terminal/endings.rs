//! The terminal is restored, however the program ends.

use crate::harness::server::Server;
use crate::harness::terminal::{Terminal, modes};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockscope");

/// Checks that the terminal is as before, and returns the output after the end of the program.
fn is_as_it_was(terminal: &mut Terminal) -> String {
    terminal.ends();
    let screen = terminal.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    let modes = modes(&terminal.sent());
    assert_eq!(modes.len(), 2, "{}", screen.contents());
    assert_eq!(modes[0], modes[1], "the terminal's modes");
    screen.contents()
}

fn live(arguments: &[&str]) -> Terminal {
    let connect = Server::shared().connect_string();
    let terminal =
        Terminal::in_shell(PROGRAM, &[&["--connect", &connect, "--root", "/endings"], arguments].concat(), 80, 24);
    terminal.shows_all(&["lockscope", "● live"]);
    terminal
}

#[test]
fn quitting_restores_the_terminal() {
    let mut terminal = live(&["--mouse"]);
    terminal.press("q");
    assert!(is_as_it_was(&mut terminal).contains("exit code 0"));
}

#[test]
fn a_signal_restores_the_terminal() {
    for signal in ["TERM", "HUP", "INT"] {
        let mut terminal = live(&["--mouse"]);
        terminal.signal(signal);
        is_as_it_was(&mut terminal);
    }
}

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    let myself = std::env::current_exe().expect("this test's program");
    let arguments = ["--exact", "terminal::endings::panicking_child", "--ignored", "--nocapture"];
    let mut terminal = Terminal::in_shell(&myself.display().to_string(), &arguments, 100, 30);
    let left = is_as_it_was(&mut terminal);
    assert!(left.contains("a panic on purpose"), "{left}");
}

#[test]
#[ignore = "it is no test: it is the child process of the one above, and panics with the terminal in its hands"]
fn panicking_child() {
    let taken = lockscope::tui::terminal::TerminalGuard::take_over(true).expect("a terminal");
    let mut surface = taken.surface().expect("a surface");
    surface.draw(|frame| frame.render_widget("drawn", frame.area())).expect("a frame");
    panic!("a panic on purpose");
}

#[test]
fn an_unreachable_ensemble_is_reported_and_the_keys_still_work() {
    let mut terminal = Terminal::in_shell(PROGRAM, &["--connect", "127.0.0.1:1"], 100, 24);
    terminal.shows_all(&["no connection", "refused the connection", "try "]);
    terminal.press("?");
    terminal.shows("All locks");
    terminal.press("q");
    is_as_it_was(&mut terminal);
}

//! ^Z hands the terminal to the shell, and `fg` takes it back.

use portable_pty::CommandBuilder;

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;

#[test]
fn a_user_goes_to_the_shell_and_returns_to_the_same_screen() {
    let connect = Server::shared().connect_string();
    let mut shell = CommandBuilder::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]);
    shell.env("PS1", "ready> ");
    shell.env("TERM", "xterm-256color");
    shell.env("LANG", "C.UTF-8");
    shell.env("XDG_CONFIG_HOME", "/nonexistent");
    let mut terminal = Terminal::start(shell, 100, 30);
    terminal.shows("ready>");
    let program = env!("CARGO_BIN_EXE_lockscope");
    terminal.press(&format!("{program} --connect {connect} --root /suspended\r"));
    terminal.shows_all(&["● live", "There is no lock in what can be read."]);
    terminal.press("?");
    terminal.shows("Keys of");
    terminal.press("\x1a");
    terminal.shows("Stopped");
    assert!(!terminal.screen().alternate_screen() && !terminal.screen().hide_cursor());
    terminal.press("echo $((6 * 7))\r");
    terminal.shows("42");
    terminal.press("fg\r");
    terminal.shows_all(&["● live", "Keys of"]);
    assert!(terminal.screen().alternate_screen());
    terminal.press("q");
    terminal.hides("Keys of");
    terminal.press("exit\r");
    assert!(terminal.ends().success());
}

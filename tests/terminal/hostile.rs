//! Names and data are shown, and never interpreted by the terminal.

use zookeeper_client::CreateMode;

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn escape_sequences_in_names_and_data_never_reach_the_terminal() {
    let at = zk::own_root("hostile").await;
    let client = zk::connect(&at).await;
    // Every server accepts names with the right-to-left override and with wide characters.
    let parent = "/倉庫\u{202e}kcol".to_owned();
    zk::make(&client, [parent.clone()]).await;
    let data = b"\x1b]0;owned\x07\x1b[2J\x9b31m\xff\xfe\r\nx".to_vec();
    zk::create_all(&client, CreateMode::EphemeralSequential, [(format!("{parent}/lock-"), data)]).await;
    let mut terminal = Terminal::lockscope(&["--connect", &at], 160, 45);
    terminal.shows_all(&["● live", "倉庫", "\\u{202e}kcol"]);
    terminal.press("\r");
    terminal.shows_all(&["● holds", "\\u{1b}]0;owned"]);
    terminal.press("q");
    assert!(terminal.ends().success());
    let sent = terminal.sent();
    for forbidden in [&b"\x1b]0;"[..], b"\x1b[2Jx", b"\xff", "\u{202e}".as_bytes()] {
        assert!(!sent.windows(forbidden.len()).any(|window| window == forbidden), "{forbidden:?} was sent");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_of_twenty_by_five_shows_the_required_size() {
    let connect = Server::shared().connect_string();
    let mut terminal = Terminal::lockscope(&["--connect", &connect, "--root", "/nowhere"], 20, 5);
    terminal.shows("60");
    terminal.press("q");
    assert!(terminal.ends().success());
}

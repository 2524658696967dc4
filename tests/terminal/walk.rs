//! A user walks through the screens.

use zookeeper_client::CreateMode;

use crate::harness::terminal::{Appearance, Terminal};
use crate::harness::wait::eventually_blocking;
use crate::harness::zk;

/// Creates a tree with two locks: `orders` with three contenders, `billing` with one.
async fn two_locks() -> (zookeeper_client::Client, String) {
    let at = zk::own_root("walk").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/orders", "/billing"].map(str::to_owned)).await;
    let contenders = (0..3).map(|_| ("/orders/lock-".to_owned(), b"host-a".to_vec()));
    let alone = [("/billing/lock-".to_owned(), b"host-b".to_vec())];
    zk::create_all(&client, CreateMode::EphemeralSequential, contenders.chain(alone)).await;
    (client, at)
}

fn console(at: &str, columns: u16, rows: u16) -> Terminal {
    Terminal::lockscope(&["--connect", at], columns, rows)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_opens_a_queue_looks_at_a_contender_and_returns() {
    let (client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "2 locks, 4 contenders", "orders", "billing"]);
    terminal.press("/orders\r");
    terminal.hides("billing");
    terminal.press("\r");
    terminal.shows_all(&["● holds", "╰─▶ 0", "╰─▶ 1", "host-a"]);
    terminal.press("j");
    terminal.shows("lock-0000000001");
    terminal.press("\x1b");
    terminal.shows("2 locks");
    terminal.press("6");
    terminal.shows_all(&["Timeline", "lock-found"]);
    terminal.press("?");
    terminal.shows_all(&["Help", "Keys of", "All locks"]);
    terminal.press("q");
    assert!(terminal.ends().success());
    drop(client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_on_the_server_show_by_themselves() {
    let (client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    // The servers know whether the session is alive.
    terminal.shows_all(&["● live 1/1", "4 contenders"]);
    zk::delete_all(&client, ["/orders/lock-0000000000".to_owned()]).await;
    terminal.shows("3 contenders");
    terminal.press("6");
    terminal.shows_all(&["- gone", "acquired"]);
    zk::make(&client, ["/new".to_owned()]).await;
    zk::create_all(&client, CreateMode::EphemeralSequential, [("/new/lock-".to_owned(), Vec::new())]).await;
    terminal.press("1");
    terminal.shows_all(&["3 locks", "/new"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_terminal_may_be_resized_at_any_time() {
    let (_client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders"]);
    terminal.resize(160, 45);
    terminal.shows_all(&["OLDEST", "waiting · held"]);
    terminal.resize(20, 5);
    terminal.hides("contenders");
    terminal.resize(100, 30);
    terminal.shows_all(&["● live", "4 contenders"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_shrinks_for_a_moment_gets_its_lost_cells_back() {
    let (_client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders", "/billing"]);
    terminal.resize(20, 5);
    terminal.resize(80, 24);
    terminal.shows_all(&["● live", "4 contenders", "/billing"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_screen_stays_unchanged_until_it_resumes() {
    let (client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders"]);
    terminal.press("p");
    terminal.shows("PAUSED");
    zk::delete_all(&client, ["/billing/lock-0000000000".to_owned()]).await;
    terminal.shows("1 change since");
    assert!(terminal.text().contains("4 contenders"), "{}", terminal.text());
    terminal.press("p");
    terminal.shows("3 contenders");
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// Keys that lead from screen to screen, and a text that shows once each screen is drawn.
const WALK: [(&str, &str); 11] = [
    ("2", "○ waits"),
    ("3", "Sessions ─"),
    ("4", "Waits ─"),
    ("5", "Contend ─"),
    ("6", "Timeline ─"),
    ("7", "Nothing was changed yet"),
    ("?", "Help ─"),
    ("\x1b", "Nothing was changed yet"),
    ("v", "Servers ─"),
    ("1", "Locks ─"),
    ("i", "History"),
];

/// Returns each cell of the screen except those of the header, whose clock runs on while the screen
/// is paused; `None` in the middle of a frame.
///
/// Bold is left out: for a cell that is bold and dim, the emulator keeps only the last of the two.
fn cells_of_a_whole_frame(terminal: &Terminal, columns: u16) -> Option<Vec<Appearance>> {
    let sent = terminal.sent();
    let cells = terminal.cells().into_iter().enumerate();
    let is_header = |place: &usize| (11..usize::from(columns)).contains(place);
    let cells = cells.filter(|(place, _)| !is_header(place)).map(|(_, cell)| cell.without_weight()).collect();
    // Each frame ends by hiding the cursor.
    (sent.ends_with(b"\x1b[?25l") && sent.len() == terminal.sent().len()).then_some(cells)
}

/// Makes the program draw its screen anew, and checks that no cell changes.
fn is_as_drawn_anew(terminal: &mut Terminal, columns: u16, key: &str) {
    let before = eventually_blocking("a whole frame", || {
        cells_of_a_whole_frame(terminal, columns).ok_or_else(|| terminal.text())
    });
    let (text, sent) = (terminal.text(), terminal.sent().len());
    terminal.press("\x0c");
    eventually_blocking("a full redraw", || {
        let sent = String::from_utf8_lossy(&terminal.sent()[sent..]).into_owned();
        if sent.contains("\x1b[2J") { Ok(()) } else { Err(sent) }
    });
    eventually_blocking("the same cells after a full redraw", || {
        let same = cells_of_a_whole_frame(terminal, columns).as_ref() == Some(&before);
        if same { Ok(()) } else { Err(format!("after {key:?}\n{text}\n---\n{}", terminal.text())) }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_screen_keeps_a_cell_of_another_at_any_size() {
    let (folder, (_client, at)) = (tempfile::tempdir().expect("a folder"), two_locks().await);
    for (columns, rows) in [(60, 18), (80, 24), (100, 20), (120, 35), (160, 45)] {
        let audit = folder.path().join("audit.jsonl");
        let audit = audit.to_str().expect("a plain path");
        let mut terminal = Terminal::lockscope(&["--connect", &at, "--audit-log", audit], columns, rows);
        terminal.shows_all(&["● live", "4 contenders"]);
        // While paused, ages do not grow.
        terminal.press("p");
        terminal.shows("PAUSED");
        for (key, shown) in WALK {
            terminal.press(key);
            terminal.shows(shown);
            is_as_drawn_anew(&mut terminal, columns, key);
        }
        terminal.press("q");
        assert!(terminal.ends().success());
    }
}

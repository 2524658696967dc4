//! The guided tour in a terminal, from the first step to the last; nothing remains afterwards.

use std::time::{Duration, Instant};

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;

/// Starts the tour on its sandbox, at the first step.
fn demo(arguments: &[&str], columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::lockscope(&[&["demo"], arguments].concat(), columns, rows);
    terminal.shows_all(&["SANDBOX", "1/8 A herd beside a chain", "may write"]);
    terminal
}

/// Goes through every step of the tour and checks its screen. The first step must already show.
fn goes_through_all(terminal: &mut Terminal) {
    terminal.shows_all(&[
        "herd ── 8 clients",
        "chain ── 8 clients",
        "slow motion",
        "in vain",
        "next step:",
        "is woken",
    ]);
    terminal.press("n");
    terminal.shows_all(&["2 of 4", "slow motion", "sleeps on"]);
    terminal.press("n");
    terminal.shows_all(&["3 of 4", "full speed", "a turn", "woken, 0 in vain"]);
    terminal.press("n");
    terminal.shows_all(&["1/8", "4 of 4", "herd ", "chain ", "STYLE"]);
    terminal.press("n");
    terminal.shows_all(&["2/8 A herd of a hundred", "herd ── 100 clients", "chain ── 100 clients", "● holds"]);
    terminal.press("n");
    terminal.shows_all(&["3/8 A holder crashes", "/orders", "4 waiting", "╰─▶"]);
    // How long a session lives is known once the servers have listed its connection.
    eventually_blocking("a holder that the servers list", || {
        let seen = terminal.text();
        if seen.lines().any(|row| row.contains("● holds") && row.contains(" live ")) { Ok(()) } else { Err(seen) }
    });
    terminal.press("n");
    // One of five clients is gone, and the servers wait for its session to expire.
    terminal.shows_all(&["3/8", "2 of 4", "4 test"]);
    terminal.shows_all(&["● holds", "expiring", "Diagnosis"]);
    terminal.press("n");
    terminal.shows_all(&["3 of 4", "Timeline", "orders", "expired"]);
    terminal.press("n");
    // The screen shows the time at which the holder was found to be gone, while the other clients
    // take turns.
    terminal.shows_all(&["4 of 4", "REWOUND", "● holds", "F goes back"]);
    terminal.press("n");
    terminal.shows_all(&["4/8 A frozen holder", "chain ── 4 clients", "resource ─", ": taken"]);
    terminal.press("n");
    terminal.shows_all(&["2 of 3", "thinks it holds, frozen"]);
    // The new holder has written, so the late write of the frozen one is refused.
    eventually_blocking("another holder with a higher token", || {
        let seen = terminal.text();
        if seen.contains("● ") && seen.contains("holds, token") { Ok(()) } else { Err(seen) }
    });
    terminal.press("n");
    terminal.shows_all(&["3 of 3", "1 refused", "refused: below"]);
    terminal.hides("thinks it holds");
    terminal.press("n");
    terminal.shows_all(&["5/8 A forgotten node", "/invoices", "○ waits"]);
    terminal.press("n");
    terminal.shows("2 of 4");
    waits_behind_itself(terminal);
    terminal.press("n");
    terminal.shows("3 of 4");
    terminal.press("n");
    terminal.shows_all(&["4 of 4", "Timeline", "/invoices"]);
    terminal.press("2");
    eventually_blocking("each worker once in the queue", || {
        let seen = terminal.text();
        let mut clients = clients(&seen);
        let all = clients.len();
        clients.sort_unstable();
        clients.dedup();
        if all >= 3 && clients.len() == all { Ok(()) } else { Err(seen) }
    });
    terminal.press("n");
    terminal.shows_all(&["6/8 Readers and writers", "/catalog", " R ", " W "]);
    terminal.press("n");
    terminal.shows_all(&["2 of 2", "shared-chain ── 6 clients", "slow motion"]);
    terminal.press("n");
    terminal.shows_all(&["7/8 A deadlock", "stock ", "payments "]);
    terminal.press("n");
    terminal.shows_all(&["2 of 3", "Waits", "1 cycle", "2 sessions wait for each other"]);
    eventually_blocking("a ring that is drawn once", || {
        let seen = terminal.text();
        if seen.matches("see above").count() == 2 { Ok(()) } else { Err(seen) }
    });
    terminal.press("1");
    terminal.shows("✖ deadlock");
    terminal.press("n");
    terminal.shows_all(&["3 of 3", "Timeline", "agreed"]);
    terminal.press("n");
    terminal.shows_all(&["8/8 What it comes to", "Watch events an acquisition", "50 herd", "b goes back"]);
    terminal.press("n");
    terminal.shows("This is the last step");
}

/// Waits until a worker is in its queue twice, first as the holder, and the console has found this.
fn waits_behind_itself(terminal: &Terminal) {
    eventually_blocking("a worker behind its own forgotten node", || {
        let seen = terminal.text();
        let clients = clients(&seen);
        let head = clients.first().is_some_and(|head| clients[1..].contains(head));
        if head && seen.contains("✖ orphan") { Ok(()) } else { Err(seen) }
    });
}

/// Returns the names of the contenders in the visible queue, from its head on.
fn clients(seen: &str) -> Vec<&str> {
    let rows = seen.lines().filter(|line| line.contains("● holds") || line.contains("○ waits"));
    rows.filter_map(|row| row.split_whitespace().find(|word| word.starts_with("worker-"))).collect()
}

#[test]
fn the_tour_shows_every_scene_from_the_first_to_the_last_on_the_sandbox() {
    for (columns, rows) in [(80, 24), (160, 45)] {
        let mut terminal = demo(&[], columns, rows);
        goes_through_all(&mut terminal);
        terminal.press("q");
        assert!(terminal.ends().success());
    }
}

#[test]
fn the_first_screen_shows_within_five_seconds() {
    let begun = Instant::now();
    let mut terminal = demo(&[], 80, 24);
    // A debug build beside other tests is slower than a release build.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    terminal.press("qy");
    assert!(terminal.ends().success());
}

#[test]
fn the_tour_plays_by_itself_and_stops_on_command() {
    let mut terminal = demo(&["--play"], 80, 24);
    terminal.shows("P stop 1");
    terminal.shows_all(&["1/8", "2 of 4"]);
    terminal.press("P");
    terminal.shows("P play");
    terminal.press("b");
    terminal.shows("1 of 4");
    terminal.press("qy");
    assert!(terminal.ends().success());
}

#[test]
fn all_keys_work_during_the_tour() {
    let mut terminal = demo(&["--ascii"], 80, 24);
    terminal.press("?");
    terminal.shows("All locks");
    terminal.press("1");
    terminal.shows_all(&["/demo/herd", "SANDBOX"]);
    terminal.press("5X");
    terminal.shows("stopped");
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// Returns whether the server has nodes of the tour, and the number of its sessions and ephemeral
/// nodes.
fn left_on(server: &Server) -> (bool, u64, u64) {
    let paths = server.figure("zk_znode_count");
    (paths > 5, server.figure("zk_global_sessions"), server.figure("zk_ephemerals_count"))
}

fn nothing_is_left(server: &Server, why: &str) {
    eventually_blocking(&format!("a server as it was before, after {why}"), || match left_on(server) {
        (false, 0, 0) => Ok(()),
        left => Err((left, server.words("dump"))),
    });
}

#[test]
fn on_a_real_ensemble_the_tour_runs_below_its_own_node_and_removes_it() {
    // One of its scenes shows an expiry.
    let server = Server::with_certain_expiries();
    let mut terminal = Terminal::lockscope(&["demo", "--connect", &server.connect_string()], 100, 30);
    terminal.shows_all(&["DEMO in /lockscope-demo-", "1/8"]);
    goes_through_all(&mut terminal);
    terminal.press("q");
    assert!(terminal.ends().success());
    nothing_is_left(&server, "the whole tour");
}

#[test]
fn scenes_in_any_order_leave_nothing_on_a_real_ensemble() {
    let server = Server::start();
    let mut terminal = Terminal::lockscope(&["demo", "--connect", &server.connect_string()], 80, 24);
    terminal.shows("1/8 ");
    for scene in [7, 2, 5, 1, 8, 4, 6, 3, 8] {
        terminal.press(&format!(":scene {scene}\r"));
        terminal.shows(&format!("{scene}/8 "));
    }
    terminal.shows("herd  ");
    terminal.press("qy");
    assert!(terminal.ends().success());
    nothing_is_left(&server, "scenes in any order");
}

#[test]
fn however_the_tour_ends_nothing_remains_on_a_real_ensemble() {
    let server = Server::start();
    for ending in ["qy", "TERM", "HUP"] {
        let mut terminal = Terminal::lockscope(&["demo", "--connect", &server.connect_string()], 80, 24);
        terminal.shows_all(&[" DEMO ", "herd ── 8 clients"]);
        terminal.press("NN");
        terminal.shows_all(&["3/8", "4 waiting"]);
        if ending == "TERM" {
            // A scene with sessions of its own.
            terminal.press("NN");
            terminal.shows_all(&["5/8", "○ waits"]);
        }
        match ending {
            "qy" => terminal.press("qy"),
            signal => terminal.signal(signal),
        }
        assert!(terminal.ends().success(), "{ending}");
        nothing_is_left(&server, ending);
    }
}

#[test]
fn without_a_terminal_or_a_server_the_tour_says_so_in_one_sentence() {
    let mut terminal = Terminal::in_shell(
        env!("CARGO_BIN_EXE_lockscope"),
        &["demo", "--connect", "127.0.0.1:1", "--session-timeout", "2s"],
        100,
        24,
    );
    terminal.shows_all(&["refused the connection", "exit code 2"]);
    terminal.ends();
}

//! Test clients on the screen, on a real server: their display, the commands on them, and that
//! nothing of them remains.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use zookeeper_client::CreateMode;

use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::terminal::Terminal;
use crate::harness::wait::{eventually, eventually_blocking};
use crate::harness::zk;
use crate::observe::fixture::connection;
use lockscope::tui::app::{Event, FleetSide};
use lockscope::tui::live_parts::FleetTasks;
use lockscope::tui::run::FleetControl;
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::Scenario;
use lockscope_lock::Algorithm;

/// Returns the sessions that a console and its clients must not leave behind: all but the test's
/// own.
fn sessions(server: &Server) -> u64 {
    server.figure("zk_global_sessions")
}

fn console(connect: &str, columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::lockscope(&["--connect", connect, "--write"], columns, rows);
    terminal.shows_all(&["● live", "may write"]);
    terminal
}

/// Starts a herd and a chain with `wanted` clients, side by side.
fn contending(connect: &str, wanted: &str, columns: u16, rows: u16) -> Terminal {
    let mut terminal = console(connect, columns, rows);
    terminal.press("5");
    terminal.shows("c starts a herd");
    terminal.press("c");
    terminal.shows("Two fleets side by side");
    terminal.press(&format!("{wanted}\r"));
    both_acquire(&terminal);
    terminal
}

/// Waits until each of the fleets has acquired its lock more than once.
fn both_acquire(terminal: &Terminal) {
    eventually_blocking("figures of both", || {
        let seen = terminal.text();
        let figures = |name: &str| -> Vec<u64> {
            let line = seen.lines().find(|line| line.contains(name)).unwrap_or_default();
            let after = line.split(name).skip(1).map(str::trim_start);
            // Thousands are separated by one space, figures by two.
            after.filter_map(|rest| rest.split("  ").next()?.replace(' ', "").parse().ok()).collect()
        };
        let (acquired, heard) = (figures("acquisitions"), figures("watch events"));
        let enough = |figures: &[u64]| figures.len() == 2 && figures.iter().all(|figure| *figure > 1);
        if enough(&acquired) && enough(&heard) { Ok(()) } else { Err(seen) }
    });
}

/// Freezes the holder of the chosen side. The screen is a moment old, so the holder may have
/// released meanwhile.
fn freeze_holder(terminal: &mut Terminal) {
    for _ in 0..20 {
        terminal.press("Hz");
        terminal.shows("! frozen");
        if terminal.text().contains("! frozen, holds") {
            return;
        }
        terminal.press("z");
        terminal.hides("! frozen");
    }
    panic!("the holder was never met:\n{}", terminal.text());
}

fn nothing_is_left(server: &Server) {
    eventually_blocking("no session and no node of a test client", || {
        let left = (sessions(server), server.figure("zk_ephemerals_count"));
        if left == (0, 0) { Ok(()) } else { Err((left, server.words("dump"))) }
    });
}

#[test]
fn a_herd_runs_beside_a_chain_and_nothing_remains_after_quitting() {
    let server = Server::start();
    for (columns, rows) in [(80, 24), (160, 45)] {
        let mut terminal = contending(&server.connect_string(), "8", columns, rows);
        terminal.shows_all(&["herd ── 8 clients", "chain ── 8 clients", "child-watch", "delete-watch"]);
        terminal.press("1");
        terminal.shows_all(&["16 test clients", "/lockscope/herd", "/lockscope/chain"]);
        terminal.press("q");
        terminal.shows("16 test clients run: stop them and quit? y/n");
        terminal.press("n");
        terminal.hides("quit? y/n");
        terminal.press("qy");
        assert!(terminal.ends().success());
        nothing_is_left(&server);
    }
}

#[test]
fn servers_and_clients_count_the_same_events_beside_the_consoles_own_watches() {
    let server = Server::start();
    // While a client holds, nothing happens, so the servers' answer of each second covers the last
    // event.
    let mut terminal = contending(&server.connect_string(), "5 2s", 160, 45);
    eventually_blocking("the same figures", || {
        let seen = terminal.text();
        let pairs = |name: &str| -> Option<Vec<String>> {
            let line = seen.lines().find(|line| line.contains(name))?;
            let after = line.split(name).skip(1).map(str::trim_start);
            Some(after.filter_map(|rest| rest.split("  ").next().map(str::to_owned)).collect())
        };
        match (pairs("watch events"), pairs("servers say")) {
            (Some(heard), Some(said)) if heard.len() == 2 && heard == said => Ok(()),
            _ => Err(seen),
        }
    });
    terminal.press("qy");
    assert!(terminal.ends().success());
    nothing_is_left(&server);
}

#[test]
fn a_signal_ends_the_clients_too() {
    let server = Server::start();
    for signal in ["TERM", "HUP", "INT"] {
        let mut terminal = contending(&server.connect_string(), "6 5ms", 80, 24);
        terminal.signal(signal);
        assert!(terminal.ends().success(), "{signal}");
        assert_eq!((sessions(&server), server.figure("zk_ephemerals_count")), (0, 0), "{signal}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_screen_ends_the_clients_too() {
    let server = Server::start();
    let fleets = FleetTasks::new(connection(&server.connect_string()), Vec::new(), true);
    let work = async |fleets: &mut FleetTasks| {
        let path = ZnodePath::new("/panics").expect("a path");
        fleets.start(FleetSide::Left, Scenario::new(Algorithm::Chain, path, 5));
        loop {
            match fleets.next().await {
                Event::Fleet { status, .. } if status.totals.acquisitions > 20 => break,
                Event::Fleet { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(sessions(&server), 6, "five clients, and the fleet's own");
        panic!("a panic on purpose");
    };
    let panicked: Result<(), _> = AssertUnwindSafe(fleets.around(work)).catch_unwind().await;
    let said = *panicked.expect_err("the panic goes on").downcast::<&str>().expect("a text");
    assert_eq!(said, "a panic on purpose");
    assert_eq!((sessions(&server), server.figure("zk_ephemerals_count")), (0, 0));
}

#[test]
fn the_effect_of_a_command_on_a_client_shows() {
    let server = Server::start();
    let mut terminal = contending(&server.connect_string(), "4 50ms", 80, 24);
    terminal.press("d");
    terminal.shows("late 50ms");
    terminal.press(":delay 0s\r");
    terminal.hides("late 50ms");
    terminal.press("-");
    terminal.shows("✖ cut");
    terminal.press("+");
    terminal.hides("✖ cut");
    terminal.press("z");
    terminal.shows("! frozen");
    terminal.press("z");
    terminal.hides("! frozen");
    terminal.press("a");
    terminal.shows("herd ── 5 clients");
    terminal.press("Gr");
    terminal.shows("herd ── 4 clients");
    terminal.press("gK");
    terminal.shows_all(&["✖ crashed", "herd ── 3 clients", "1 out of action", "7 test clients"]);
    terminal.press("\tj");
    terminal.shows("Clients of the chain");
    terminal.press(":crash 2\r");
    terminal.shows_all(&["chain ── 3 clients", "6 test clients"]);
    terminal.press("X");
    terminal.shows("The test clients are gone, and their nodes with them.");
    terminal.hides("6 test clients");
    terminal.press("q");
    assert!(terminal.ends().success());
    nothing_is_left(&server);
}

#[test]
fn a_frozen_holder_past_its_session_shows_beside_the_next_with_both_tokens() {
    let server = Settings::default().line("maxSessionTimeout=2000").start();
    let mut terminal = contending(&server.connect_string(), "3 300ms", 80, 24);
    terminal.press("\t");
    terminal.shows("Clients of the chain");
    freeze_holder(&mut terminal);
    terminal.shows_all(&["froze and outlived its session", "token ", "2 clients think they hold it"]);
    assert!(!terminal.text().contains("violat"), "{}", terminal.text());
    terminal.press("qy");
    assert!(terminal.ends().success());
    nothing_is_left(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_join_the_queue_of_an_application_and_leave_it() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/orders".to_owned()]).await;
    let name = "/orders/_c_5f0c1d2e-0f1e-4a2b-8c3d-112233445566-lock-".to_owned();
    let own = zk::create_all(&client, CreateMode::EphemeralSequential, [(name, b"the application".to_vec())]).await;
    let mut terminal = console(&server.connect_string(), 80, 24);
    terminal.press(":lock /orders\r");
    terminal.shows("the application");
    terminal.press("c");
    terminal.shows_all(&["Join this queue", "/orders", "Applications use this lock"]);
    terminal.press("3 20ms\r");
    terminal.shows_all(&["chain ── 3 clients ── /orders", "○ waits"]);
    terminal.press("2");
    terminal.shows_all(&["the application", "lockscope", "3 waiting"]);
    zk::delete_all(&client, own).await;
    terminal.press("5");
    terminal.shows("● holds");
    let name = "/orders/_c_5f0c1d2e-0f1e-4a2b-8c3d-112233445577-lock-".to_owned();
    zk::create_all(&client, CreateMode::EphemeralSequential, [(name, b"again".to_vec())]).await;
    eventually("the application holds in its turn", async || {
        let seen = terminal.text();
        if seen.contains("● client") { Err(seen) } else { Ok(()) }
    })
    .await;
    terminal.press("X");
    terminal.shows("The test clients are gone");
    assert_eq!(zk::tree(&client, "/orders").await.len(), 1, "the application's node is untouched");
    terminal.press("q");
    assert!(terminal.ends().success());
    eventually("one session: the test's", async || match sessions(&server) {
        1 => Ok(()),
        more => Err(more),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_console_starts_nothing() {
    let at = zk::own_root("read-only").await;
    let client = zk::connect(&at).await;
    let mut terminal = Terminal::lockscope(&["--connect", &at], 80, 24);
    terminal.shows_all(&["● live", "read-only"]);
    terminal.press("5");
    terminal.shows("lockscope --write");
    terminal.press("c");
    terminal.shows("Test clients need `lockscope --write`");
    terminal.press("q");
    assert!(terminal.ends().success());
    assert!(zk::tree(&client, "/").await.is_empty());
}

#[test]
fn fleets_without_a_server_say_why_they_cannot_run() {
    let mut terminal = Terminal::lockscope(&["--connect", "127.0.0.1:1", "--write"], 80, 24);
    terminal.shows("no connection");
    terminal.press("5c2\r");
    eventually_blocking("both fleets have failed", || {
        let seen = terminal.text();
        if seen.matches("failed").count() >= 2 { Ok(()) } else { Err(seen) }
    });
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[test]
fn keys_and_screen_stay_responsive_with_a_thousand_clients() {
    let server = Settings::default().heap_mib(1024).start();
    let mut terminal = contending(&server.connect_string(), "500", 160, 45);
    for keys in ["G", "g", "\t", "1", "5", "?", "5"] {
        terminal.press(keys);
    }
    let pressed = std::time::Instant::now();
    terminal.press("1");
    terminal.shows("Locks ──");
    assert!(pressed.elapsed() < Duration::from_secs(3), "{:?}", pressed.elapsed());
    terminal.press("qy");
    assert!(terminal.ends().success());
    nothing_is_left(&server);
}

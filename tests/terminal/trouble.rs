//! The screens of an operator whose lock is stuck.

use std::time::Duration;

use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;
use crate::harness::zk;

/// Starts a server for this test alone: clients of other tests would be counted among its
/// connections.
fn server() -> Server {
    Server::with_certain_expiries()
}

fn console(server: &Server, columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::lockscope(&["--connect", &server.connect_string(), "--utc"], columns, rows);
    terminal.shows_all(&["● live 1/1"]);
    terminal
}

/// Returns the seconds of `expiring 7s` on the screen.
fn countdown(terminal: &Terminal) -> Option<u64> {
    let text = terminal.text();
    let (_, rest) = text.split_once("expiring ")?;
    rest.split('s').next()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_countdown_of_a_killed_holder_shows_until_the_next_one_holds() {
    let server = server();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/job".to_owned()]).await;
    let (mut holder, mut waiter) = (Foreign::kazoo(&server.connect_string()), Foreign::kazoo(&server.connect_string()));
    holder.connect_within("doomed", Duration::from_secs(24)).await;
    holder.start("doomed", "first", "lock", "/locks/job").await;
    holder.held("first").await;
    waiter.connect("heir").await;
    waiter.start("heir", "second", "lock", "/locks/job").await;

    let mut terminal = console(&server, 80, 24);
    terminal.shows("2 contenders");
    terminal.press("\r");
    terminal.shows_all(&["● holds", "○ waits", "live", "╰─▶ 0 ✓"]);
    drop(holder);
    terminal.shows_all(&["expiring ", "expiring-holder", "what to do: wait"]);
    let first = eventually_blocking("a countdown", || countdown(&terminal).ok_or("none yet"));
    eventually_blocking("a lower number", || match countdown(&terminal) {
        Some(left) if left < first => Ok(()),
        seen => Err(format!("{seen:?} after {first}\n{}", terminal.text())),
    });
    terminal.hides("expiring ");
    terminal.shows("● holds");
    waiter.held("second").await;
    terminal.press("6");
    terminal.shows_all(&["! raised", "! expired", "● acquired", "✓ cleared"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_that_wait_for_each_other_are_shown_as_a_cycle() {
    let server = server();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/billing", "/locks/orders"].map(str::to_owned)).await;
    let mut kazoo = Foreign::kazoo(&server.connect_string());
    for (name, path) in [("one", "/locks/billing"), ("other", "/locks/orders")] {
        kazoo.connect(name).await;
        kazoo.start(name, &format!("{name}-holds"), "lock", path).await;
        kazoo.held(&format!("{name}-holds")).await;
    }
    let mut terminal = console(&server, 80, 24);
    terminal.shows_all(&["/locks/billing", "/locks/orders"]);
    terminal.press("4");
    terminal.shows("No session waits");
    kazoo.start("one", "one-waits", "lock", "/locks/orders").await;
    kazoo.start("other", "other-waits", "lock", "/locks/billing").await;

    terminal.shows_all(&["1 cycle", "╭▶", "holds …/billing, waits for", "in a cycle"]);
    terminal.press("1");
    terminal.shows("✖ deadlock");
    terminal.press("\r");
    terminal.shows_all(&["Diagnosis", "deadlock: ", "what to do: "]);
    terminal.press("3");
    terminal.shows_all(&["2 sessions hold or wait", "127.0.0.1:"]);
    // One of the two gives up.
    kazoo.close("other").await;
    terminal.press("4");
    terminal.hides("cycle");
    terminal.press("6");
    terminal.shows("✓ cleared");
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_is_named_with_the_setting_to_change() {
    let server = Settings::default().line("4lw.commands.whitelist=srvr,conf").start();
    let mut terminal = Terminal::lockscope(&["--connect", &server.connect_string()], 80, 24);
    terminal.shows("● live !0/1");
    terminal.press("w");
    terminal.shows("not reported (v: why)");
    terminal.press("v");
    terminal.shows_all(&["0 of 1 server", "4lw.commands.whitelist="]);
    terminal.press("q");
    assert!(terminal.ends().success());

    let at = server.connect_string();
    let mut terminal = Terminal::lockscope(&["--connect", &at, "--server-view", "off"], 80, 24);
    terminal.shows("● live");
    terminal.press("w");
    terminal.shows("not asked");
    terminal.press("v");
    terminal.shows("watches are not known");
    terminal.press("q");
    assert!(terminal.ends().success());
}

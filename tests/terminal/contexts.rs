//! Several ensembles in one console, one of them production, on real servers.

use std::fs;
use std::path::{Path, PathBuf};

use zookeeper_client::CreateMode;

use crate::harness::server::Server;
use crate::harness::terminal::{Appearance, Terminal, moments};
use crate::harness::wait::{eventually, eventually_blocking};
use crate::harness::zk;

/// Writes a config file with two ensembles, one on each server; the second is production.
fn config(folder: &Path, first: &str, second: &str) -> PathBuf {
    let text = format!(
        "audit-log = 'audit.jsonl'\n[context.test]\nconnect = '{first}'\n[context.prod]\nconnect = '{second}'\n\
         production = true\nwrite = true\n"
    );
    let path = folder.join("config.toml");
    fs::write(&path, text).expect("it is written");
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_leads_to_another_ensemble_where_a_deletion_asks_for_its_name() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), Server::start());
    let first = zk::own_root("contexts").await;
    let (here, there) = (zk::connect(&first).await, zk::connect(&other.connect_string()).await);
    zk::make(&here, ["/tests".to_owned()]).await;
    zk::make(&there, ["/orders".to_owned()]).await;
    zk::create_all(&here, CreateMode::EphemeralSequential, [("/tests/lock-".to_owned(), b"host-t".to_vec())]).await;
    let node = ("/orders/lock-".to_owned(), b"host-p".to_vec());
    let left = zk::create_all(&there, CreateMode::PersistentSequential, [node]).await;
    let config = config(folder.path(), &first, &other.connect_string());
    let arguments = ["--config", config.to_str().expect("a plain path"), "--context", "test"];
    let mut terminal = Terminal::lockscope(&arguments, 120, 30);
    terminal.shows_all(&["● live", " test ", "/tests", "read-only"]);
    terminal.hides("PRODUCTION");
    terminal.press(":context\r");
    terminal.shows("Contexts: prod (production), test (here).");
    terminal.press(":context nowhere\r");
    terminal.shows("There is no context `nowhere`.");
    terminal.press(":context prod\r");
    terminal.shows_all(&["● live", "PRODUCTION prod", "/orders", "may write"]);
    terminal.hides("/tests");
    terminal.press("\r");
    terminal.shows("ownerless");
    terminal.press("x");
    terminal.shows_all(&["Delete /orders/", "type prod and Enter"]);
    terminal.press("y\r");
    terminal.shows("people depend on this ensemble; type prod to confirm");
    assert!(there.check_stat(&left[0]).await.expect("an answer").is_some());
    terminal.press("prod\r");
    terminal.shows("is deleted.");
    eventually("the end of the node", async || match there.check_stat(&left[0]).await {
        Ok(None) => Ok(()),
        seen => Err(format!("{seen:?}")),
    })
    .await;
    terminal.press(":context test\r");
    terminal.shows_all(&["● live", "/tests", "read-only"]);
    terminal.hides("PRODUCTION");
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_config_file_takes_effect_and_an_error_in_it_is_named() {
    let (folder, first) = (tempfile::tempdir().expect("a folder"), zk::own_root("reload").await);
    let path = config(folder.path(), &first, "localhost:1");
    let arguments = ["--config", path.to_str().expect("a plain path"), "--context", "test"];
    let mut terminal = Terminal::lockscope(&arguments, 160, 30);
    terminal.shows("● live");
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, format!("theme = 5\nstuck-after = '5s'\n{text}[context.third]\nconnect = 'third'\n"))
        .expect("it is written");
    terminal.shows_all(&["is wrong in line 1: theme", "the value of before stays", "stuck-after"]);
    terminal.press(":context\r");
    terminal.shows("Contexts: prod (production), test (here), third.");
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// Creates locks on an ensemble, each with one holder that lives as long as the client.
async fn held_locks(connect: &str, locks: &[&str]) -> zookeeper_client::Client {
    let client = zk::connect(connect).await;
    zk::make(&client, locks.iter().map(|lock| (*lock).to_owned())).await;
    let holders = locks.iter().map(|lock| (format!("{lock}/lock-"), b"somebody-with-a-long-name".to_vec()));
    zk::create_all(&client, CreateMode::EphemeralSequential, holders).await;
    client
}

/// Returns the cells that two consoles of one ensemble show alike at 80x24: all but the clock and
/// the graph of the server's events. Bold is left out: for a cell that is bold and dim, the
/// emulator keeps only the last of the two.
fn comparable(terminal: &Terminal) -> Vec<Appearance> {
    let (clock, trace) = (72..80, 21 * 80..22 * 80);
    let is_comparable = |place: &usize| !clock.contains(place) && !trace.contains(place);
    let cells = terminal.cells().into_iter().enumerate();
    cells.filter(|(place, _)| is_comparable(place)).map(|(_, cell)| cell.without_weight()).collect()
}

/// Waits until two terminals show the same in every cell. Ages keep growing meanwhile.
fn show_the_same(one: &Terminal, other: &Terminal) {
    eventually_blocking("the same on both screens", || {
        let (here, there) = (comparable(one), comparable(other));
        let mut pairs = here.iter().zip(&there).enumerate().filter(|(_, (one, other))| one != other);
        match pairs.next() {
            None => Ok(()),
            Some((place, differs)) => {
                Err(format!("\n{}\n---\n{}\ncell {place}: {differs:?}", one.text(), other.text()))
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_previous_ensemble_stays_on_the_screen() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), Server::start());
    let first = zk::own_root("leftovers").await;
    let stage = held_locks(&first, &["/billing"]).await;
    let orders = ["/orders/A", "/orders/B", "/orders/C", "/orders/D", "/orders/E"];
    let prod = held_locks(&other.connect_string(), &orders).await;
    let config = config(folder.path(), &first, &other.connect_string());
    let config = config.to_str().expect("a plain path");
    let mut terminal = Terminal::lockscope(&["--config", config, "--context", "prod"], 80, 24);
    terminal.shows_all(&["● live", "PRODUCTION prod", "/orders/E"]);
    terminal.press(":context test\r");
    terminal.shows_all(&["● live", "/billing"]);

    let mut fresh = Terminal::lockscope(&["--config", config, "--context", "test"], 80, 24);
    fresh.shows_all(&["● live", "/billing"]);
    // The recent events differ, since the consoles started at different times.
    for console in [&mut terminal, &mut fresh] {
        console.press("w");
        console.shows("Watch events, all locks");
    }
    show_the_same(&terminal, &fresh);
    let mixed = moments(&terminal.sent(), 80, 24).find(|seen| seen.contains("/billing") && seen.contains("/orders"));
    assert_eq!(mixed, None, "both ensembles at once");
    let before = terminal.sent().len();
    terminal.press("\x0c");
    eventually_blocking("a full redraw", || {
        let sent = String::from_utf8_lossy(&terminal.sent()[before..]).into_owned();
        if sent.contains("\x1b[2J") { Ok(()) } else { Err(sent) }
    });
    show_the_same(&terminal, &fresh);
    terminal.press("q");
    fresh.press("q");
    assert!(terminal.ends().success() && fresh.ends().success());
    drop((stage, prod));
}

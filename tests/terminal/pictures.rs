//! The pictures of the README: the running program, watching locks that real libraries made, and on its tour.
//!
//! The scene is played in every test run; the pictures are written where `LOCKSCOPE_PICTURES` names a directory.

use std::path::Path;

use crate::harness::foreign::Foreign;
use crate::harness::picture::svg;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;
use crate::harness::{words, zk};

/// Draws what the terminal shows into `name`.svg, when pictures are asked for.
fn draw(terminal: &Terminal, name: &str) {
    if let Some(folder) = std::env::var_os("LOCKSCOPE_PICTURES") {
        std::fs::write(Path::new(&folder).join(name), svg(&terminal.screen())).expect("a picture can be written");
    }
}

/// Sessions of a library that contend for one lock.
async fn contend(foreign: &mut Foreign, recipes: &[&str], path: &str, tag: &str) {
    for (number, recipe) in recipes.iter().enumerate() {
        let client = format!("{tag}{number}");
        foreign.connect(&client).await;
        foreign.start(&client, &client, recipe, path).await;
        if number == 0 {
            foreign.held(&client).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pictures_show_the_locks_of_real_libraries() {
    let server = Server::start();
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    zk::make(&client, ["/app", "/app/locks", "/app/limits"].map(str::to_owned)).await;
    let (mut java, mut kazoo) = (Foreign::java(&connect), Foreign::kazoo(&connect));
    contend(&mut java, &["mutex"; 9], "/app/locks/billing", "billing").await;
    contend(&mut java, &["read", "read", "write", "read", "read", "write", "read"], "/app/locks/catalog", "catalog")
        .await;
    contend(&mut java, &["write-lock"; 3], "/app/locks/ledger", "ledger").await;
    contend(&mut java, &["semaphore"; 5], "/app/limits/uploads 2", "uploads").await;
    contend(&mut kazoo, &["lock"; 4], "/app/locks/orders", "orders").await;
    kazoo.churn("report", "lock", "/app/locks/report", 6, 2_000).await;

    let mut terminal = Terminal::lockscope(&["--connect", &connect, "--root", "/app", "--utc"], 118, 30);
    terminal.shows_all(&["● live", "/app/locks/billing", "Curator r/w", "WriteLock", "kazoo lock"]);
    // The last lock has no finding, so that the watch events show below it.
    terminal.press("G");
    words::figure(&server.words("mntr"), "zk_watch_count").expect("the server counts its watches");
    crate::harness::wait::eventually("a minute's beginning of watch events", async || {
        let seen = terminal.text();
        let lively = seen.matches(['▃', '▄', '▅', '▆', '▇', '█']).count() >= 12;
        if lively { Ok(()) } else { Err(seen) }
    })
    .await;
    draw(&terminal, "locks.svg");

    terminal.press(":lock /app/locks/catalog\r");
    terminal.shows_all(&["/app/locks/catalog", "╰─▶", "waits for"]);
    draw(&terminal, "queue.svg");
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[test]
fn the_pictures_show_the_tour() {
    let mut terminal = Terminal::lockscope(&["demo", "--utc"], 118, 30);
    terminal.shows_all(&["1/6", "herd ── 20 clients", "chain ── 20 clients"]);
    eventually_blocking("some seconds of watch events", || {
        let seen = terminal.text();
        let lively = seen.matches(['▂', '▃', '▄', '▅', '▆', '▇', '█']).count() >= 24;
        if lively { Ok(()) } else { Err(seen) }
    });
    draw(&terminal, "contend.svg");
    terminal.press("nnnnnnnn");
    terminal.shows_all(&["4/6 A forgotten node", "○ waits"]);
    terminal.press("n");
    terminal.shows_all(&["✖ orphan", "● holds"]);
    draw(&terminal, "stuck.svg");
    terminal.press("q");
    assert!(terminal.ends().success());
}

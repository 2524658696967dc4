//! The pictures of the README: the running program, with locks of real libraries and on its tour.
//!
//! Every test run plays the scenes, and each picture must show what the screen shows. The pictures
//! are written anew if `LOCKSCOPE_PICTURES` names a directory.

use std::path::Path;
use std::time::Duration;

use crate::harness::foreign::Foreign;
use crate::harness::picture::{lines, moving, svg};
use crate::harness::recording;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;
use crate::harness::{words, zk};

/// Returns the words of a picture, in order: line breaks depend on the length of the numbers.
fn words_of(picture: &str) -> Vec<String> {
    let mut words: Vec<String> =
        lines(picture).iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
    words.sort();
    words
}

/// Writes a picture if pictures are requested; a light one has a name of its own.
fn write(name: &str, picture: impl FnOnce() -> String) -> bool {
    let Some(folder) = std::env::var_os("LOCKSCOPE_PICTURES") else { return false };
    let is_light = std::env::var_os("LOCKSCOPE_PICTURES_LIGHT").is_some();
    let name = if is_light { name.replace(".svg", "-light.svg") } else { name.to_owned() };
    std::fs::write(Path::new(&folder).join(name), picture()).expect("a picture can be written");
    true
}

/// Compares the terminal with the picture `name`, or draws the picture if pictures are requested.
fn draw(terminal: &Terminal, name: &str) {
    if write(name, || svg(&terminal.screen())) {
        return;
    }
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let drawn = words_of(&std::fs::read_to_string(assets.join(name)).expect("the picture is there"));
    eventually_blocking(&format!("a screen like {name}, or draw it anew with assets/make-pictures"), || {
        let shown = words_of(&svg(&terminal.screen()));
        let missing: Vec<_> = drawn.iter().filter(|word| !shown.contains(word)).collect();
        let new: Vec<_> = shown.iter().filter(|word| !drawn.contains(word)).collect();
        if shown == drawn {
            Ok(())
        } else {
            Err(format!("only in the picture: {missing:#?}\nonly on the screen: {new:#?}"))
        }
    });
}

/// The frames of the moving picture, and how long each stands.
const FRAMES: usize = 30;
const FRAME: Duration = Duration::from_millis(200);

/// Draws the terminal over some seconds, or compares what stays on the screen with the picture.
fn draw_moving(terminal: &Terminal, name: &str) {
    let drawn = write(name, || {
        let mut screens = Vec::new();
        for _ in 0..FRAMES {
            screens.push(terminal.screen());
            std::thread::sleep(FRAME);
        }
        moving(&screens, FRAME)
    });
    if drawn {
        return;
    }
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let picture = std::fs::read_to_string(assets.join(name)).expect("the picture is there");
    let still = picture.lines().filter(|line| line.starts_with("<text ")).collect::<Vec<_>>().join("\n");
    let stays = words_of(&still);
    assert!(stays.len() > 20, "little stays in {name}: {stays:?}");
    eventually_blocking(&format!("a screen like {name}, or draw it anew with assets/make-pictures"), || {
        let shown = words_of(&svg(&terminal.screen()));
        let missing: Vec<_> = stays.iter().filter(|word| !shown.contains(word)).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("only in the picture: {missing:#?}")) }
    });
}

fn knows_what_each_waiter_watches(terminal: &Terminal) {
    eventually_blocking("what each waiter watches", || {
        let seen = terminal.text();
        if seen.contains("not known") { Err(seen) } else { Ok(()) }
    });
}

#[test]
fn every_picture_of_the_documents_is_compared_with_its_screen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compared = include_str!("pictures.rs");
    let pictures = std::fs::read_dir(root.join("assets")).expect("the assets are there");
    let names = pictures.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
    for name in names.filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "svg")) {
        let of = name.replace("-light.svg", ".svg");
        let draws =
            ["draw", "draw_moving"].iter().any(|draw| compared.contains(&format!("{draw}(&terminal, \"{of}\"")));
        assert!(draws, "{name} is not drawn by these tests");
    }
}

/// Opens sessions of a library that contend for one lock.
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

/// A node of kazoo's lock.
const NIGHTLY: &str = "/app/locks/nightly/3f0c1d2e4b5a69788796a5b4c3d2e1f0__lock__0000000000";

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
    // Somebody made this node by hand, so that no session takes it along.
    zk::make(&client, ["/app/locks/nightly", NIGHTLY].map(str::to_owned)).await;
    kazoo.churn("report", "lock", "/app/locks/report", 6, 2_000).await;

    let mut terminal = Terminal::lockscope(&["--connect", &connect, "--root", "/app", "--utc"], 118, 30);
    terminal.shows_all(&["● live", "billing", "catalog", "ledger", "uploads", "orders", "report", "nightly"]);
    terminal.press("gw");
    // All have held for a while, and the churn has ended.
    terminal.shows_all(&["nightly", "what to do", "Last 10 minutes:", " free "]);
    words::figure(&server.words("mntr"), "zk_watch_count").expect("the server counts its watches");
    crate::harness::wait::eventually("a minute's beginning of watch events", async || {
        let seen = terminal.text();
        let lively = seen.matches(['▃', '▄', '▅', '▆', '▇', '█']).count() >= 12;
        if lively { Ok(()) } else { Err(seen) }
    })
    .await;
    draw(&terminal, "locks.svg");

    terminal.press(":lock /app/locks/catalog\r");
    terminal.shows_all(&["/app/locks/catalog", "╰─▶", "waits for", "its predecessor"]);
    knows_what_each_waiter_watches(&terminal);
    draw(&terminal, "queue.svg");
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// The next step of both fleets while they are stopped.
const RELEASES: &str = "releases";
const ASKS: &str = "asks again";

/// Returns the next step of both stopped fleets, once both are the same.
fn next_step(terminal: &Terminal) -> &'static str {
    eventually_blocking("the next step of both fleets", || {
        let seen = terminal.text();
        let is_next = |what: &&str| {
            let steps = seen.split("next step: ").skip(1).map(|rest| rest.chars().take(20).collect::<String>());
            steps.filter(|step| step.contains(*what)).count() == 2
        };
        [RELEASES, ASKS].into_iter().find(is_next).ok_or(seen)
    })
}

/// Lets both fleets take one step, and waits until `next` comes next.
fn step(terminal: &mut Terminal, next: &str) {
    terminal.press("\x1b[C");
    eventually_blocking(&format!("fleets of which a client {next} next"), || {
        let now = next_step(terminal);
        if now == next { Ok(()) } else { Err(now) }
    });
}

#[test]
fn the_pictures_show_the_tour() {
    let mut terminal = Terminal::lockscope(&["demo", "--utc"], 118, 30);
    terminal.shows_all(&["1/8", "herd ── 8 clients", "chain ── 8 clients", "● live", "gets it", "woken in vain"]);
    draw_moving(&terminal, "herd-and-chain.svg");
    // Moving pictures are compared while they are stopped: right after a step in which both holders
    // released.
    terminal.press("s");
    terminal.shows("stopped");
    if next_step(&terminal) == ASKS {
        step(&mut terminal, RELEASES);
    }
    // A full turn: whatever was under way when the fleets stopped has arrived.
    step(&mut terminal, ASKS);
    step(&mut terminal, RELEASES);
    step(&mut terminal, ASKS);
    eventually_blocking("a release that woke a whole herd and one of a chain", || {
        let seen = terminal.text();
        let count = |text| seen.matches(text).count();
        let all = (count("gets it"), count("woken in vain"), count("sleeps on")) == (2, 6, 6);
        if all { Ok(()) } else { Err(seen) }
    });
    draw(&terminal, "contend.svg");
    terminal.press(":scene 5\r");
    terminal.shows_all(&["5/8 A forgotten node", "○ waits"]);
    terminal.press("n");
    terminal.shows_all(&["✖ orphan", "● holds"]);
    // The picture shows a lock that stands still, not one that was taken a moment ago.
    terminal.hides("held 0.");
    knows_what_each_waiter_watches(&terminal);
    // Room for all details: how many of them are seen must not depend on the digits of a czxid.
    terminal.resize(118, 34);
    // What comes last to the details of the holder: what its watches tell, and what others waited.
    terminal.hides("its watches are");
    terminal.shows("others waited");
    draw(&terminal, "stuck.svg");
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[test]
fn the_pictures_show_a_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("locks.db");
    recording::incident(&path);
    let path = path.to_str().expect("a name in UTF-8");
    let mut terminal = Terminal::lockscope(&["replay", path, "--utc", "--at", "02:10:30"], 118, 30);
    terminal.shows_all(&["REPLAY", "02:10:30", "of zk1:2181,zk2:2181,zk3:2181", "/app/locks/billing"]);
    terminal.press(")");
    terminal.shows_all(&["02:14:01", "stuck"]);
    terminal.press("\r");
    terminal.shows_all(&["! stuck ", " wait", "● holds", "billing-worker-1"]);
    draw(&terminal, "replay.svg");
    terminal.press("]");
    terminal.shows("02:14:40");
    terminal.press("x");
    terminal.shows("This is a recording");
    terminal.press(":at 02:11\r");
    terminal.shows("2026-05-01 02:11:00");
    terminal.press("P");
    terminal.shows("02:11:02");
    terminal.press("q");
    assert!(terminal.ends().success());
}

//! Snapshots of the screens of test clients.

use proptest::prelude::*;
use ratatui::buffer::Buffer;

use super::{SIZES, after, drawn, picture, show, show_once};
use crate::tui::app::{App, Event, FleetSide, Phase, Settings};
use crate::tui::testing::fleets::{
    client, clients, deliver, outcome, outlived, run, running, started, status, totals, with, writing,
};
use crate::tui::testing::{NOW, live, press, settings};
use crate::tui::theme::{Theme, ThemeName};
use lockscope_base::znode::Zxid;
use lockscope_lab::contend::{ClientState, FleetTotals, LinkState};

/// Clients in every state.
fn motley(size: (u16, u16)) -> App {
    let mut app = running(size, 50);
    let mut all = clients(50);
    all[1] = client(2, ClientState::Crashed);
    all[1].link = LinkState::Cut;
    (all[2].frozen, all[2].link) = (true, LinkState::Paused);
    (all[3].link, all[3].delay) = (LinkState::Delayed, std::time::Duration::from_millis(250));
    (all[4].link, all[4].expired) = (LinkState::Cut, 2);
    all[4].trouble = Some("it got no session: 127.0.0.1:40123 closed the connection".to_owned());
    all[5] = client(6, ClientState::Connecting);
    all[5].session = None;
    all[6] = client(7, ClientState::Ready);
    all[7] = client(8, ClientState::Failed);
    let scenario = app.fleets().fleet(FleetSide::Left).unwrap().scenario.clone();
    deliver(&mut app, FleetSide::Left, status(&scenario, 12_500, all, totals(412, 50)));
    press(&mut app, "jjjj");
    app
}

fn frozen_holder(size: (u16, u16)) -> App {
    let mut app = running(size, 10);
    let scenario = app.fleets().fleet(FleetSide::Right).unwrap().scenario.clone();
    deliver(&mut app, FleetSide::Right, outlived(&scenario));
    press(&mut app, "\t");
    app
}

fn over(size: (u16, u16)) -> App {
    let mut app = after(running(size, 50), "X");
    let herd = app.fleets().fleet(FleetSide::Left).unwrap().scenario.clone();
    app.update(Event::FleetEnded { side: FleetSide::Left, outcome: Box::new(outcome(&herd, Some(0))) }, NOW);
    let why =
        "no sockets for so many test clients: Too many open files (os error 24); ask for fewer, or raise the limit \
               of open files (ulimit -n)"
            .to_owned();
    app.update(Event::FleetFailed { side: FleetSide::Right, why }, NOW);
    press(&mut app, "j");
    app
}

fn in_queue(size: (u16, u16)) -> App {
    let mut app = writing(size);
    let scenarios = started(&press(&mut app, ":lock /locks/billing\nc5\n"));
    let mut status = status(&scenarios[0], 7_300, clients(5), totals(11, 1));
    (status.server, status.server_silence) = (None, Some("zk1:2181 does not answer mntr: allow it there".to_owned()));
    deliver(&mut app, FleetSide::Left, status);
    app
}

#[test]
fn contend_before_the_start_matches_its_snapshots() {
    show_once("contend-read-only", |size| after(live(size), "5"));
    show_once("contend-nothing", |size| after(writing(size), "5"));
    show("contend-asks", |size| after(writing(size), "5c2"));
    show_once("contend-asks-in-queue", |size| after(writing(size), ":lock /locks/billing\nc"));
}

#[test]
fn contend_with_running_clients_matches_its_snapshots() {
    show("contend", |size| running(size, 50));
    show("contend-motley", motley);
    show("contend-frozen-holder", frozen_holder);
    show_once("contend-in-queue", in_queue);
    show("contend-quit", |size| after(running(size, 50), "q"));
    show_once("contend-connecting", |size| {
        let mut app = writing(size);
        let scenarios = started(&press(&mut app, "5c50\n"));
        let some = (1..=31).map(|id| client(id, ClientState::Ready)).collect();
        deliver(&mut app, FleetSide::Left, status(&scenarios[0], 900, some, FleetTotals::default()));
        app
    });
}

#[test]
fn contend_after_the_end_matches_its_snapshots() {
    show("contend-over", over);
}

#[test]
fn ascii_contend_matches_its_snapshots() {
    let ascii = |size| run(with(Settings { write: true, ascii: true, ..settings() }, size), 50);
    show_once("ascii-contend", ascii);
    assert!(picture(&after(ascii((160, 45)), "q"), (160, 45)).is_ascii());
}

#[test]
fn every_screen_says_that_clients_run() {
    for size in SIZES {
        for keys in ["1", "1\n", "5", "6", "?", "u", "1p", "1:sort", "5p"] {
            let shown = picture(&after(running(size, 50), keys), size);
            assert!(shown.contains("100 test clients"), "{keys:?}: {shown}");
            assert!(!keys.contains('p') || shown.contains("PAUSED"), "{shown}");
        }
        assert!(!picture(&after(over(size), "1"), size).contains("test clients "), "nobody runs any more");
    }
}

#[test]
fn a_read_only_console_says_how_to_enable_test_clients() {
    for size in SIZES {
        let shown = picture(&after(live(size), "5"), size);
        assert!(shown.contains("lockscope --write") && shown.contains("lockscope compare"), "{shown}");
    }
}

#[test]
fn joining_the_lock_of_an_application_shows_a_warning() {
    for size in SIZES {
        let foreign = picture(&after(writing(size), ":lock /locks/billing\nc"), size);
        let words: Vec<_> =
            foreign.split(|c: char| c.is_whitespace() || ['│', '┃'].contains(&c)).filter(|w| !w.is_empty()).collect();
        let words = words.join(" ");
        assert!(words.contains("Applications use this lock"), "{foreign}");
        assert!(words.contains("/locks/billing, as a chain with Curator's names"), "{foreign}");
    }
}

#[test]
fn clients_that_both_think_they_hold_are_told_apart_with_both_tokens_at_eighty_columns() {
    let shown = picture(&frozen_holder((80, 24)), (80, 24));
    for text in ["client-1 froze", "8589934001", "8589934777", "! frozen, held", "2 clients think they hold it"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

fn texts(buffer: &Buffer) -> String {
    buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
}

#[test]
fn both_sparklines_have_the_same_scale() {
    let app = running((160, 45), 50);
    let shown = texts(&drawn(&app, (160, 45), &Theme::new(ThemeName::Terminal, false)));
    assert!(shown.contains("████████"), "the herd's is full: {shown}");
    assert!(shown.contains("▁▁▁▁▁▁▁▁"), "the chain's is low beside it: {shown}");
}

#[test]
fn hostile_or_huge_troubles_and_tokens_shift_no_column() {
    for size in SIZES {
        let mut app = running(size, 3);
        let mut all = clients(3);
        all[0].trouble = Some("\u{1b}[2J\u{202e}".repeat(50));
        all[0].token = Some(Zxid(i64::MAX));
        (all[0].events, all[0].acquisitions, all[0].expired) = (u64::MAX, u64::MAX, u32::MAX);
        let scenario = app.fleets().fleet(FleetSide::Left).unwrap().scenario.clone();
        let huge = FleetTotals { acquisitions: u64::MAX / 2, events: u64::MAX, bytes_down: u64::MAX, ..totals(1, 1) };
        deliver(&mut app, FleetSide::Left, status(&scenario, u64::MAX / 2, all, huge));
        let shown = picture(&app, size);
        assert!(!shown.chars().any(|letter| letter != '\n' && (letter.is_control() || letter == '\u{202e}')));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_size_and_no_keys_bring_contend_down(
        size in (0u16..200, 0u16..60),
        told in (0u16..200, 0u16..60),
        many in 0u32..30,
        keys in prop::collection::vec(
            prop::sample::select("5512q\n\t\u{1b}jkGgKz-+darXHcn:py9 mw,.Ls".chars().collect::<Vec<_>>()), 0..20),
    ) {
        let mut app = running((80, 24), 10);
        app.update(Event::Resize(told.0, told.1), NOW);
        let scenario = app.fleets().fleet(FleetSide::Left).unwrap().scenario.clone();
        deliver(&mut app, FleetSide::Left, status(&scenario, 13_000, clients(many), totals(400, 50)));
        press(&mut app, &String::from_iter(keys));
        picture(&app, size);
        app.update(Event::Resize(size.0, size.1), NOW);
        picture(&app, size);
        prop_assert!(app.fleets().each().all(|(_, crew)| !matches!(crew.phase, Phase::Failed(_))));
    }
}

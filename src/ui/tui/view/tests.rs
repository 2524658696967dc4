//! Every screen in small and large terminals, compared with snapshots, and properties that hold at
//! any size.

mod below_locks;
mod comparison;
mod connection;
mod contend;
mod delete;
mod ensembles;
mod findings;
mod frames;
mod header;
mod identity;
mod keys;
mod picture;
mod replay;
mod servers;
mod snapshots;
mod tour;
mod tree;

use std::time::Duration;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::draw;
use crate::tui::app::{App, Event, Settings};
use crate::tui::contrast::{ColourDepth, TerminalColours, fitted};
use crate::tui::testing::{self, NOW, app, at, connected, curator, deleted, gone, listed, live, path, press, seen};
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::widget::write::record;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::text::width;

const SIZES: [(u16, u16); 4] = [(60, 18), (80, 24), (120, 35), (160, 45)];
/// The sizes of the snapshots of a screen. Between them, each scene is drawn and searched for
/// faults.
const KEPT: [(u16, u16); 2] = [(80, 24), (160, 45)];
/// The size of the snapshots of variants.
const MIDDLE: (u16, u16) = (80, 24);
const TOO_SMALL: [(u16, u16); 4] = [(59, 18), (60, 15), (40, 10), (20, 6)];
/// A wide and low terminal; checked, but without snapshots.
const LOW: (u16, u16) = (100, 20);
/// The sizes at which no sentence has to be scrolled.
const LARGER_SIZES: [(u16, u16); 3] = [(80, 24), (120, 35), (160, 45)];

fn drawn(app: &App, size: (u16, u16), theme: &Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| draw(frame, app, theme)).unwrap();
    terminal.backend().buffer().clone()
}

fn picture(app: &App, size: (u16, u16)) -> String {
    let theme = Theme::new(ThemeName::Terminal, app.settings().ascii);
    let buffer = drawn(app, size, &theme);
    let line = |y| {
        // A wide character also covers the cell to its right.
        let mut behind = 0;
        let shown = (0..size.0).map(|x| buffer[(x, y)].symbol()).filter(|symbol| {
            let hidden = behind > 0;
            behind = if hidden { behind - 1 } else { width(symbol).saturating_sub(1) };
            !hidden
        });
        shown.collect::<String>().trim_end().to_owned()
    };
    (0..size.1).map(line).collect::<Vec<_>>().join("\n")
}

/// Compares a screen, a page or a popup with its snapshots.
fn show(name: &str, scene: impl Fn((u16, u16)) -> App) {
    show_at(&KEPT, name, scene);
}

/// Compares a variant of a screen at one size: the snapshots of `show` cover a larger one.
fn show_once(name: &str, scene: impl Fn((u16, u16)) -> App) {
    show_at(&[MIDDLE], name, scene);
}

/// Compares a scene with its snapshots at the sizes `kept`, and looks for faults at every size.
fn show_at(kept: &[(u16, u16)], name: &str, scene: impl Fn((u16, u16)) -> App) {
    keys::check(name, &scene);
    for size in SIZES.into_iter().chain([LOW]) {
        let app = scene(size);
        record::take();
        let buffer = drawn(&app, size, &Theme::new(ThemeName::Terminal, app.settings().ascii));
        let faults = frames::faults(&app, &buffer, &record::take());
        assert!(faults.is_empty(), "{name} at {size:?}: {faults:#?}\n{}", picture(&app, size));
        if kept.contains(&size) {
            insta::assert_snapshot!(format!("{name}-{}x{}", size.0, size.1), picture(&app, size));
        }
    }
}

#[test]
fn a_history_matches_its_snapshots() {
    show("history", |size| {
        let mut app = live(size);
        for second_number in 1..=70 {
            app.update(Event::Tick, second(second_number));
        }
        app.update(at(second(71), vec![gone("/locks/billing", 4713, 0x1d)]), second(71));
        app.update(at(second(72), vec![gone("/locks/billing", 4711, 0x1b)]), second(72));
        app.update(Event::Tick, second(75));
        app.update(at(second(75), vec![gone("/locks/billing", 4712, 0x1c)]), second(75));
        app.update(Event::Tick, second(78));
        after(app, "/billing\n\ni")
    });
    show_once("history-finding", |size| {
        let mut app = live(size);
        for second_number in 1..=70 {
            app.update(Event::Tick, second(second_number));
        }
        after(app, "\nik")
    });
    show_once("history-filtered", |size| after(live(size), "i/nobody\n"));
}

fn after(mut app: App, keys: &str) -> App {
    press(&mut app, keys);
    app
}

fn second(number: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(number))
}

/// Returns a console in which `/locks/billing` changes hands twice a second for half a minute.
fn busy(size: (u16, u16)) -> App {
    let mut app = live(size);
    for turn in 0..60_i64 {
        let now = NOW.plus(Duration::from_millis(turn.unsigned_abs() * 500));
        let number = i32::try_from(turn).unwrap();
        let mut changes = vec![gone("/locks/billing", 4711 + number, 0x1b + turn)];
        if turn % 3 == 0 {
            changes.push(curator("/locks/billing", 4840 + number, 900 + turn, -turn / 2));
        }
        app.update(at(now, changes), now);
    }
    app.update(Event::Tick, second(30));
    app
}

fn link(change: ConnectionState) -> Event {
    at(second(4), vec![Change::Connection(change)])
}

#[test]
fn locks_match_their_snapshots() {
    show("locks", live);
    show_once("locks-busy", busy);
    show_once("locks-filtered", |size| after(live(size), "/wor"));
    show_once("locks-none-matches", |size| after(live(size), "/nothing like it\n"));
    show_once("locks-none", |size| {
        let mut app = app(size);
        app.update(at(NOW, vec![connected(), Change::Syncing, Change::Synced]), NOW);
        app
    });
}

#[test]
fn the_queue_matches_its_snapshots() {
    show("queue", |size| after(live(size), "\njj"));
    show("queue-read-write", |size| after(live(size), ":lock /apps/catalogue/index-rebuild\njj"));
    show_once("queue-single-node", |size| after(live(size), ":lock /controller\n\t"));
    show_once("queue-gone", |size| {
        let mut app = after(live(size), ":lock /locks/billing\n");
        let gone: Vec<_> = (0..129).map(|at| gone("/locks/billing", 4711 + at, 0x1b + i64::from(at))).collect();
        app.update(at(NOW, gone), NOW);
        app.update(at(NOW, vec![deleted(&path("/locks/billing"))]), NOW);
        app
    });
}

#[test]
fn the_timeline_matches_its_snapshots() {
    show("timeline", |size| after(busy(size), "6"));
}

#[test]
fn help_matches_its_snapshots() {
    show("help", |size| after(live(size), "?"));
    show_once("help-end", |size| after(live(size), "?G"));
    show("unreadable", |size| after(live(size), "u"));
}

#[test]
fn no_sentence_of_help_is_cut_at_eighty_columns() {
    let mut app = after(live((80, 24)), "?");
    for _ in 0..app.pages()[0].page.lines.len() {
        let all = picture(&app, (80, 24));
        assert!(!all.lines().any(|line| line.starts_with('│') && line.contains('…')), "{all}");
        press(&mut app, "j");
    }
}

#[test]
fn a_pause_and_typed_text_match_their_snapshots() {
    show_once("paused", |size| {
        let mut app = after(busy(size), "p");
        app.update(at(second(40), vec![gone("/locks/orders", 1, 1)]), second(40));
        app
    });
    show("command-line", |size| after(live(size), ":sort wai"));
    show_once("notice", |size| after(live(size), ":lock /nowhere\n"));
    show_once("exported", |size| {
        let mut app = after(live(size), "e");
        let path = "/home/ann/lockscope-locks-2024-05-01T144107.json".into();
        app.update(Event::ExportDone(Ok(path)), NOW);
        app
    });
    show_once("filter-line", |size| after(live(size), "\n/10.0.4.3"));
}

#[test]
fn ascii_screens_match_their_snapshots() {
    let ascii = |size| {
        let settings = Settings { connect: "zk1".to_owned(), utc: true, ascii: true, ..Settings::default() };
        let mut app = App::new(settings, size, NOW);
        app.update(at(NOW, testing::ensemble()), NOW);
        app
    };
    show_once("ascii-queue", |size| after(ascii(size), "\n"));
    for keys in ["", "\n", "6", "?G", "/x", "u"] {
        assert!(picture(&after(ascii((160, 45)), keys), (160, 45)).is_ascii(), "{keys:?}");
    }
}

/// Names and data with control characters, or so wide that they would shift the columns.
fn hostile(size: (u16, u16)) -> App {
    let mut app = app(size);
    let mut changes = vec![connected(), Change::Syncing];
    for (at, parent) in [
        "/\u{1b}[2J\u{1b}[31mred",
        "/rtl\u{202e}gnp",
        "/锁/分布式锁/订单",
        "/e\u{301}\u{301}\u{301}\u{301}\u{301}",
        "/a\u{9b}31m",
    ]
    .into_iter()
    .enumerate()
    {
        let number = i32::try_from(at).unwrap();
        changes.push(listed(parent, 3));
        let node = format!("{parent}/_c_{:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{:010}", 1, number);
        changes.push(seen(&node, 5, testing::ago(5), b"\x1b]0;owned\x07\xff\xfe\r\n"));
        let node = format!("{parent}/_c_{:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{:010}", 2, number + 1);
        changes.push(seen(&node, 6, testing::ago(4), "锁的主人".as_bytes()));
    }
    changes.push(Change::Unreadable { path: path("/s\u{1b}[5m"), why: "no\nway".to_owned() });
    changes.push(Change::Synced);
    app.update(at(NOW, changes), NOW);
    app
}

#[test]
fn hostile_text_matches_its_snapshots() {
    show("hostile-locks", hostile);
    show_once("hostile-queue", |size| after(hostile(size), ":sort lock\n\n"));
}

#[test]
fn no_control_character_of_a_znode_reaches_the_terminal() {
    for size in SIZES {
        for keys in ["", "\n", "\n\t", "6", "u", "/\u{1b}", ":lock /\u{1b}[2J\u{1b}[31mred\n"] {
            let shown = picture(&after(hostile(size), keys), size);
            let acts = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
            assert!(!shown.contains(acts), "{keys:?}: {shown}");
        }
    }
}

#[test]
fn too_small_terminals_match_their_snapshots() {
    for size in TOO_SMALL {
        insta::assert_snapshot!(format!("too-small-{}x{}", size.0, size.1), picture(&live(size), size));
    }
}

#[test]
fn a_small_terminal_shows_the_required_size() {
    let shown = picture(&live((39, 15)), (39, 15)).replace('\n', " ");
    assert!(shown.contains("60 columns and 16 lines"), "{shown}");
    assert!(shown.contains("q quits"), "{shown}");
}

#[test]
fn a_small_terminal_says_what_was_not_looked_at() {
    let words = |app: &App| picture(app, (40, 10)).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&live((40, 10)));
    for said in ["No finding at 4 locks.", "2 checks are not decided yet.", "2 places cannot be read."] {
        assert!(shown.contains(said), "{shown}");
    }
    assert!(shown.contains("dead clients may be missed"), "{shown}");
}

#[test]
fn a_small_terminal_shows_what_is_wrong_and_scrolls() {
    let size = (40, 10);
    let mut app = testing::servers::trouble(size);
    let first = picture(&app, size);
    assert!(first.contains("✖ ") && first.contains("60x16 shows all screens"), "{first}");
    press(&mut app, "jjj");
    assert_ne!(picture(&app, size), first);
    press(&mut app, "G");
    assert!(picture(&app, size).contains("what to do"), "{}", picture(&app, size));
}

#[test]
fn the_selection_has_a_sign_and_is_tinted_or_reversed_without_colours() {
    for name in ThemeName::ALL {
        let app = live((80, 24));
        let terminal = TerminalColours { text: (0x83, 0x94, 0x96), ground: (0x00, 0x2b, 0x36) };
        let palette = fitted(name.palette(), Some(terminal), ColourDepth::True);
        let buffer = drawn(&app, (80, 24), &Theme::of(palette, false));
        let row = app.layout().unwrap().rows().0;
        let (selected, other) = (&buffer[(5, row)], &buffer[(5, row + 1)]);
        if name == ThemeName::Mono {
            assert!(selected.modifier.contains(Modifier::REVERSED) && !other.modifier.contains(Modifier::REVERSED));
        } else {
            assert_ne!(selected.bg, other.bg, "{name:?}");
        }
        assert_eq!(buffer[(1, row)].symbol(), "▸", "and by a sign");
    }
}

#[test]
fn the_selected_row_keeps_the_style_of_its_severity() {
    for name in [ThemeName::Terminal, ThemeName::Dark, ThemeName::Light, ThemeName::ColourBlind] {
        let app = testing::servers::trouble((80, 24));
        let terminal = TerminalColours { text: (0x65, 0x7b, 0x83), ground: (0xfd, 0xf6, 0xe3) };
        let theme = Theme::of(fitted(name.palette(), Some(terminal), ColourDepth::True), false);
        let buffer = drawn(&app, (80, 24), &theme);
        let row = app.layout().unwrap().rows().0;
        assert_eq!((buffer[(2, row)].symbol(), buffer[(2, row)].fg), ("✖", theme.bad.fg.unwrap()), "{name:?}");
    }
}

#[test]
fn the_mono_theme_has_no_colour_anywhere() {
    for keys in ["", "\n", "6", "?", "p"] {
        let buffer = drawn(&after(busy((80, 24)), keys), (80, 24), &Theme::new(ThemeName::Mono, false));
        assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset), "{keys:?}");
    }
}

#[test]
fn stale_data_is_dim_and_dated() {
    let mut app = after(live((80, 24)), "\n");
    app.update(link(ConnectionState::Lost { reason: "gone".to_owned() }), second(4));
    let buffer = drawn(&app, (80, 24), &Theme::new(ThemeName::Terminal, false));
    let row = app.layout().unwrap().rows().0 + 1;
    let shown: String = (0..80).map(|x| buffer[(x, row)].symbol()).collect();
    let state = u16::try_from(shown.chars().take_while(|letter| *letter != '○').count()).unwrap();
    assert!(buffer[(state, row)].modifier.contains(Modifier::DIM), "{shown}");
    assert!(picture(&app, (80, 24)).contains("as of 14:41:"), "{shown}");
    let data = u16::try_from(shown.chars().take_while(|letter| *letter != '4').count()).unwrap();
    assert!(buffer[(data, row)].modifier.contains(Modifier::DIM), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_size_and_no_keys_bring_it_down(
        size in (0u16..200, 0u16..60),
        told in (0u16..200, 0u16..60),
        keys in prop::collection::vec(prop::sample::select("126?u\n\t\u{1b}jkGghl/:sSptye ab".chars().collect::<Vec<_>>()), 0..20),
    ) {
        let mut app = hostile(told);
        press(&mut app, &String::from_iter(keys));
        picture(&app, size);
        app.update(Event::Resize(size.0, size.1), NOW);
        picture(&app, size);
    }
}

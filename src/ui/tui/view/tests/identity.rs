//! Locks with long paths and names: what a row is about comes first.

use std::collections::HashSet;

use super::findings::line_with;
use super::{NOW, app, at, connected, drawn, picture, seen};
use crate::tui::app::{App, Event};
use crate::tui::testing::servers::trouble;
use crate::tui::testing::{live, press};
use crate::tui::theme::{Theme, ThemeName};
use lockscope_model::queue::Change;

/// Shows locks at these paths, each with a holder of a long name, and the last one with waiters.
fn locks(size: (u16, u16), paths: impl Iterator<Item = String>) -> App {
    let mut app = app(size);
    let mut changes = vec![connected(), Change::Syncing];
    for (number, path) in paths.enumerate() {
        let node = |at: usize| format!("{path}/{at:032x}__lock__{at:010}");
        let own = i64::try_from(number).unwrap() + 10;
        changes.push(seen(&node(1), own, NOW, format!("prod/eu/report-worker-{number}").as_bytes()));
        changes.extend((0..number % 4).map(|at| seen(&node(at + 2), 9_000, NOW, b"waiter")));
    }
    changes.push(Change::Synced);
    app.update(at(NOW, changes), NOW);
    app
}

/// Returns the rows of the list, without the pane beside it.
fn rows(shown: &str) -> Vec<String> {
    let inside = shown.lines().skip(4).map_while(|line| line.strip_prefix('│'));
    inside.map(|line| line.split('│').next().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn no_two_locks_with_long_paths_look_alike() {
    let path = |number: usize| {
        let mut parts = ["production", "europe-000", "warehouse-000", "locks-0000", "catalog-0000"].map(str::to_owned);
        let part = &mut parts[number % 5];
        *part = format!("{}{number:03}", &part[..part.len() - 3]);
        format!("/{}", parts.join("/"))
    };
    assert_eq!(path(0).len(), 60);
    let mut app = locks((120, 40), (1..=200).map(path));
    for keys in ["", "G", ":sort lock\n", ":sort holder\n"] {
        press(&mut app, keys);
        let shown = picture(&app, (120, 40));
        let rows = rows(&shown);
        let names: HashSet<_> =
            rows.iter().filter_map(|row| row.split_whitespace().find(|text| text.len() > 3)).collect();
        assert!(rows.len() >= 20 && names.len() == rows.len(), "{shown}");
        for row in &rows {
            assert!(row.contains("worker-"), "the end of the holder's name: {row}");
        }
    }
}

#[test]
fn a_title_says_of_no_more_waiters_what_they_watch_than_is_known() {
    let size = (240, 45);
    let mut app = trouble(size);
    press(&mut app, "/locks\n");
    assert!(picture(&app, size).contains("── all chain "), "{}", picture(&app, size));
    let node = |at: usize| format!("/locks/refunds/{at:032x}__lock__{at:010}");
    let two = vec![seen(&node(1), 9_001, NOW, b"a"), seen(&node(2), 9_002, NOW, b"b")];
    app.update(at(NOW, two), NOW);
    assert!(picture(&app, size).contains("── chain where known "), "{}", picture(&app, size));
}

#[test]
fn what_all_rows_share_stands_in_the_title_once() {
    let size = (160, 45);
    let app = locks(size, (0..9).map(|number| format!("/prod/eu/warehouse/locks/catalog-{number:04}")));
    let shown = picture(&app, size);
    let title = line_with(&shown, "Locks ──");
    assert!(title.contains("in /prod/eu/warehouse/locks ──") && title.contains("all kazoo lock"), "{shown}");
    assert!(!shown.contains("RECIPE"), "{shown}");
    for number in 0..9 {
        let row = line_with(&shown, &format!(" catalog-{number:04} "));
        assert!(row.contains(&format!(" prod/eu/report-worker-{number} ")), "{row}");
    }
    // Different recipes have a column of their own, and short paths are whole.
    let size = (200, 45);
    let shown = picture(&live(size), size);
    assert!(shown.contains("RECIPE") && shown.contains(" /locks/billing "), "{shown}");
    assert!(!shown.contains("all kazoo lock"), "{shown}");
}

#[test]
fn a_column_that_was_shown_stays_while_the_list_is_open() {
    let size = (200, 45);
    let path = |number: usize| format!("/locks/{number}");
    let mut app = locks(size, (0..9).map(path));
    assert!(!picture(&app, size).contains("ACQ/s"));
    let release = Change::Deleted {
        path: crate::tui::testing::path(&format!("/locks/1/{:032x}__lock__{:010}", 1, 1)),
        zxid: None,
    };
    app.update(at(NOW, vec![release]), NOW);
    assert!(picture(&app, size).contains("ACQ/s"), "{}", picture(&app, size));
    let later = super::second(900);
    app.update(Event::Tick, later);
    assert!(picture(&app, size).contains("ACQ/s"), "{}", picture(&app, size));
}

#[test]
fn at_80_columns_the_list_keeps_14_rows() {
    let shown = picture(&locks((80, 24), (0..50).map(|number| format!("/locks/{number}"))), (80, 24));
    assert_eq!(rows(&shown).len(), 14, "{shown}");
}

#[test]
fn the_selected_lock_stands_beside_the_list_and_follows_the_cursor() {
    let size = (120, 40);
    let mut app = locks(size, (0..50).map(|number| format!("/locks/{number:02}")));
    press(&mut app, ":sort lock\n");
    for number in 0..7 {
        let shown = picture(&app, size);
        let beside = line_with(&shown, "Locks ──").rsplit('┌').next().unwrap_or_default().to_owned();
        assert!(beside.contains(&format!("/locks/{number:02} ")), "{shown}");
        let lines: Vec<_> = shown.lines().filter_map(|line| line.split("││").nth(1)).collect();
        let waiters = lines.iter().filter(|line| line.contains('○')).count();
        assert_eq!(waiters, number % 4, "{shown}");
        assert!(lines.iter().any(|line| line.contains("No finding at this lock")), "{shown}");
        press(&mut app, "j");
    }
    app.update(Event::Resize(100, 40), NOW);
    assert!(!picture(&app, (100, 40)).contains("││"), "the terminal is too narrow for it");
}

#[test]
fn a_queue_that_is_longer_than_its_pane_says_how_many_more_there_are() {
    let size = (120, 35);
    let shown = picture(&live(size), size);
    let beside = shown.lines().skip(3).map(|line| line.chars().skip(78).collect::<String>());
    let contenders = beside.filter(|line| line.contains(['●', '○'])).count();
    assert!(contenders > 9 && shown.contains(&format!("… and {} more", 129 - contenders)), "{shown}");
}

#[test]
fn lanes_below_few_locks_tell_held_from_free_and_from_unknown_times() {
    let size = (120, 40);
    let mut app = locks(size, (0..3).map(|number| format!("/locks/{number}")));
    let later = |minutes: u64| super::second(60 * minutes);
    app.update(Event::Tick, later(2));
    let release = crate::tui::testing::path(&format!("/locks/0/{:032x}__lock__{:010}", 1, 1));
    app.update(at(later(2), vec![Change::Deleted { path: release, zxid: None }]), later(2));
    app.update(Event::Tick, later(4));
    let shown = picture(&app, size);
    let lane = |lock: &str| {
        let lines = shown.lines().skip_while(|line| !line.contains("Last 10 minutes:"));
        let line = lines.skip(1).find(|line| line.contains(lock)).unwrap_or_default();
        line.split('│').nth(1).unwrap_or_default().trim().to_owned()
    };
    let released = lane("/locks/0");
    assert!(released.contains("░░███") && !released.ends_with('░'), "{shown}");
    let held = released.matches('█').count();
    assert!((10..=13).contains(&held), "held for two of four minutes: {shown}");
    let stuck = lane("/locks/1");
    assert!(stuck.contains("░█") && stuck.contains("█✖✖") && stuck.ends_with('✖'), "{shown}");
    let ascii = Theme::new(ThemeName::Mono, true);
    let buffer = drawn(&app, size, &ascii);
    let row = |y: u16| (0..size.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    assert!((0..size.1).any(|y| row(y).contains("//##") && row(y).contains("#xx")), "{shown}");
}

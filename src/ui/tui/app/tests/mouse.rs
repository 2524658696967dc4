//! The mouse: pressing tabs, titles, keys, rows and panes.

use super::SIZE;
use crate::tui::app::{App, Effect, Event, LockOrder, Mouse, Pane, Screen, Update};
use crate::tui::testing::{NOW, live, press};

fn press_at(app: &mut App, column: u16, line: u16) -> Update {
    app.update(Event::Mouse(Mouse::Press(column, line)), NOW)
}

/// Returns a column inside the text that contains `wanted`, in a line made of `texts`.
fn column_of(texts: &[String], wanted: &str) -> u16 {
    let at = texts.iter().position(|text| text.contains(wanted)).unwrap();
    u16::try_from(texts[..at].iter().map(|text| text.chars().count()).sum::<usize>()).unwrap() + 1
}

#[test]
fn pressing_a_tab_opens_its_screen() {
    let mut app = live((100, 24));
    for (title, screen) in [("Timeline", Screen::Timeline), ("Help", Screen::Help), ("Locks", Screen::Locks)] {
        let tabs: Vec<String> = app.tabs().into_iter().map(|(_, text)| text).collect();
        press_at(&mut app, column_of(&tabs, title), 1);
        assert_eq!(app.screen(), screen);
    }
    assert_eq!(press_at(&mut app, 99, 1), Update::default(), "behind the last tab");
}

#[test]
fn pressing_a_column_title_sorts_by_it_and_a_second_press_reverses() {
    let mut app = live(SIZE);
    let (titles, sorting) = (app.layout().unwrap().main.y + 1, |app: &App| app.world().locks().sorting().first);
    press_at(&mut app, 4, titles);
    assert_eq!((sorting(&app).by, sorting(&app).reversed), (LockOrder::Lock, false));
    press_at(&mut app, 4, titles);
    assert_eq!((sorting(&app).by, sorting(&app).reversed), (LockOrder::Lock, true));
}

#[test]
fn pressing_a_key_in_the_footer_acts_like_the_key() {
    let mut app = live(SIZE);
    let at = |app: &App, word: &str| {
        let texts: Vec<String> = app.hints(80).iter().map(|hint| format!("{} {}  ", hint.key, hint.word)).collect();
        column_of(&texts, word)
    };
    let filter = at(&app, "filter");
    press_at(&mut app, filter, 23);
    assert!(app.prompt().is_some());
    press(&mut app, "\u{1b}");
    let quit = at(&app, "quit");
    assert_eq!(press_at(&mut app, quit, 23).effects, [Effect::Quit]);
}

#[test]
fn pressing_a_row_selects_then_opens_it_and_pressing_a_pane_focuses_it() {
    let mut app = live(SIZE);
    let (first, _) = app.layout().unwrap().rows();
    press_at(&mut app, 10, first + 1);
    assert_eq!((app.screen(), app.cursors.locks.rank()), (Screen::Locks, 1));
    press_at(&mut app, 10, first + 1);
    assert_eq!(app.screen(), Screen::Queue);
    let side = app.layout().unwrap().side;
    press_at(&mut app, 5, side.y + 1);
    assert_ne!(app.pane(), Pane::List);
    let (first, _) = app.layout().unwrap().rows();
    press_at(&mut app, 5, first);
    assert_eq!((app.screen(), app.pane()), (Screen::Queue, Pane::List), "and the list takes them back");
}

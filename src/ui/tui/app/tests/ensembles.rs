//! Several ensembles in one console.

use crate::tui::app::tests::SIZE;
use crate::tui::app::{App, Effect, Event, WatchedEnsembles};
use crate::tui::screen::Screen;
use crate::tui::testing::ensembles::{of_several, orphan, reports, three, unknown};
use crate::tui::testing::{NOW, at, live, press};
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::LockTable;
use lockscope_past::record::LiveState;

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

/// A console in which `prod-eu` is open, with one orphan.
fn in_prod_eu() -> App {
    let mut table = LockTable::new([]);
    crate::testing::reading([orphan("/locks/billing")]).for_each(|change| drop(table.apply(change, NOW)));
    let mut live = LiveState::new(table, Thresholds::default());
    live.diagnose(NOW, None);
    let mut before = three(SIZE);
    let (ensembles, _) = before.take_ensembles().unwrap();
    App::new(of_several(Some("prod-eu")), SIZE, NOW).with_live(live, NOW).with_ensembles(ensembles)
}

#[test]
fn the_list_comes_first_and_enter_goes_into_the_worst_ensemble() {
    let mut app = three(SIZE);
    assert_eq!(app.screen(), Screen::Ensembles);
    assert_eq!(press(&mut app, "\n").effects, [Effect::GoToContext("prod-eu".to_owned())]);
    let mut app = three(SIZE);
    assert_eq!(press(&mut app, "jj\n").effects, [Effect::GoToContext("dev".to_owned())]);
}

#[test]
fn an_ensemble_shows_its_locks_at_once_and_the_next_key_the_diagnosis_of_the_worst() {
    let mut app = in_prod_eu();
    assert_eq!(app.screen(), Screen::Locks);
    assert!(app.is_live(), "nothing is read again");
    press(&mut app, "\n");
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(app.opened().map(ToString::to_string).as_deref(), Some("/locks/billing"));
}

#[test]
fn esc_leads_back_to_the_list_and_the_open_ensemble_stays_open() {
    let mut app = in_prod_eu();
    press(&mut app, "\n\u{1b}\u{1b}");
    assert_eq!(app.screen(), Screen::Ensembles);
    assert_eq!(app.ensembles().and_then(WatchedEnsembles::open).map(|name| &**name), Some("prod-eu"));
    assert_eq!(press(&mut app, "1").effects, []);
    assert_eq!(app.screen(), Screen::Locks);
    assert_eq!(press(&mut app, "0\n").effects, [], "it is open already");
    assert_eq!(app.screen(), Screen::Locks);
    assert_eq!(press(&mut app, "0/dev\n\n").effects, [Effect::GoToContext("dev".to_owned())]);
}

#[test]
fn without_an_open_ensemble_nothing_can_be_done_to_one() {
    let mut app = three(SIZE);
    for keys in ["1", "2", "6", "x", "c", "p", ":lock /a\n", ":at 10:00\n", ":delete\n", ":start 3\n", ":import\n", "["]
    {
        assert_eq!(press(&mut app, keys).effects, [], "{keys}");
        assert_eq!(app.screen(), Screen::Ensembles, "{keys}");
        assert!(!notice(&app).is_empty(), "{keys}");
    }
    press(&mut app, "1");
    assert_eq!(notice(&app), "No ensemble is open: Enter goes into the selected one.");
    press(&mut app, "?");
    assert_eq!(app.screen(), Screen::Help);
    press(&mut app, "\u{1b}\u{1b}");
    assert_eq!(app.screen(), Screen::Ensembles);
}

#[test]
fn an_ensemble_whose_options_are_wrong_is_refused_with_the_reason() {
    let (mut ensembles, _) = unknown(SIZE).take_ensembles().unwrap();
    ensembles.take(reports());
    let rows = ensembles.each().cloned().map(|row| match &*row.name {
        "dev" => crate::tui::app::EnsembleRow { trouble: Some("The auth file is gone.".to_owned()), ..row },
        _ => row,
    });
    let list = Box::new(WatchedEnsembles::new(rows));
    let mut app = App::new(of_several(None), SIZE, NOW).with_ensembles(list);
    assert_eq!(press(&mut app, "/dev\n\n").effects, []);
    assert_eq!(notice(&app), "The auth file is gone.");
}

#[test]
fn the_open_ensemble_reports_its_own_figures() {
    let mut app = in_prod_eu();
    app.update(at(NOW, vec![orphan("/locks/late")]), NOW);
    app.update(Event::Tick, NOW);
    let row = app.ensembles().and_then(|ensembles| ensembles.named("prod-eu")).unwrap();
    assert_eq!(row.summary.as_ref().map(|summary| summary.locks), Some(2));
    assert_eq!(row.news, 0);
}

#[test]
fn a_console_of_one_ensemble_has_no_list_of_ensembles() {
    let mut app = live(SIZE);
    press(&mut app, "0");
    assert_eq!(app.screen(), Screen::Locks);
    assert!(notice(&app).contains("--all-contexts"), "{}", notice(&app));
    assert!(app.tabs().iter().all(|(screen, _)| *screen != Screen::Ensembles));
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
    assert!(app.take_ensembles().is_none());
}

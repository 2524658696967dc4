//! Switching from one ensemble to another.

use crate::tui::app::tests::SIZE;
use crate::tui::app::{App, Bindings, ConfigChange, Effect, Event, KnownContext, ScreenChoices, ScreensChosen};
use crate::tui::keymap::Command;
use crate::tui::keymap::key::Key;
use crate::tui::screen::Screen;
use crate::tui::testing::fleets::running;
use crate::tui::testing::{NOW, live, press};
use lockscope_live::admin::ProductionMark;

fn known() -> Vec<KnownContext> {
    let context = |name: &str, production| KnownContext { name: name.to_owned(), production };
    vec![context("prod", true), context("test", false)]
}

fn with_contexts(mut app: App) -> App {
    app.settings.contexts = known();
    app.settings.context = Some("test".to_owned());
    app
}

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

#[test]
fn the_context_command_switches_by_name_and_lists_the_contexts_without_one() {
    let mut app = with_contexts(live(SIZE));
    assert_eq!(press(&mut app, ":context\n").effects, []);
    assert_eq!(notice(&app), "Contexts: prod (production), test (here).");
    assert_eq!(press(&mut app, ":context nowhere\n").effects, []);
    assert!(notice(&app).starts_with("There is no context `nowhere`. Contexts: "), "{}", notice(&app));
    assert_eq!(press(&mut app, ":context prod\n").effects, [Effect::GoToContext("prod".to_owned())]);
    assert_eq!(app.context_names().collect::<Vec<_>>(), ["prod", "test"]);
    app.update(Event::ContextRefused("The auth file is gone.".to_owned()), NOW);
    assert_eq!(notice(&app), "The auth file is gone.");
    let mut app = live(SIZE);
    press(&mut app, ":context\n");
    assert!(notice(&app).contains("no contexts"), "{}", notice(&app));
}

#[test]
fn switching_asks_first_while_test_clients_run() {
    let mut app = with_contexts(running(SIZE, 2));
    assert_eq!(press(&mut app, ":context prod\n").effects, []);
    assert_eq!(app.quit_question().unwrap(), "4 test clients run: stop them and go to prod? y/n");
    assert_eq!(press(&mut app, "n").effects, []);
    press(&mut app, "q");
    assert_eq!(app.quit_question().unwrap(), "4 test clients run: stop them and quit? y/n");
    press(&mut app, "n:context prod\n");
    assert_eq!(press(&mut app, "y").effects, [Effect::GoToContext("prod".to_owned())]);
    assert!(!app.asks_to_quit());
}

#[test]
fn a_changed_config_file_takes_effect_at_once() {
    let mut app = with_contexts(live(SIZE));
    press(&mut app, "/orders\n");
    app.update(Event::ConfigChanged(Box::new(change(Bindings::default(), ScreensChosen::default()))), NOW);
    assert_eq!((notice(&app), app.context_names().count()), ("The config file was read again.", 1));
    assert_eq!(app.settings().production, Some(ProductionMark::certain("prod")));
    assert_eq!(filter_of_locks(&app), "orders", "what was typed stays");
    let (mut bindings, mut screens) = (Bindings::default(), ScreensChosen::default());
    bindings.bind(Command::Quit, vec![Key::Char('x')]);
    let filter = Some("bill".to_owned());
    screens.choose(Screen::Locks, ScreenChoices { filter, columns: Some(vec!["lock".to_owned()]), sort: None });
    app.update(Event::ConfigChanged(Box::new(change(bindings, screens))), NOW);
    assert_eq!(filter_of_locks(&app), "bill");
    assert_eq!(app.chosen_columns(Screen::Locks), Some(&["lock".to_owned()][..]));
    assert_eq!(app.bindings().chosen(Command::Quit), Some(&[Key::Char('x')][..]));
    app.update(Event::ConfigChanged(Box::new(change(Bindings::default(), ScreensChosen::default()))), NOW);
    assert_eq!((filter_of_locks(&app), app.chosen_columns(Screen::Locks)), ("", None));
}

fn filter_of_locks(app: &App) -> &str {
    Screen::Locks.list().and_then(|list| list.filter(app)).map_or("", |filter| filter.text())
}

fn change(bindings: Bindings, screens: ScreensChosen) -> ConfigChange {
    ConfigChange {
        contexts: known()[..1].to_vec(),
        production: Some(ProductionMark::certain("prod")),
        bindings,
        screens,
        commands: Vec::new(),
        notice: "The config file was read again.".to_owned(),
        wrong: false,
    }
}

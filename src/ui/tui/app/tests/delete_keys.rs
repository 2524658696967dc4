//! The keys of a plan, when the user has bound others.

use super::SIZE;
use crate::tui::app::{App, Bindings, Event, Key, Settings};
use crate::tui::keymap::Command;
use crate::tui::testing::deletions::{may_delete, with};
use crate::tui::testing::press;
use lockscope_live::admin::{Action, ProductionMark};

/// Opens the plan for the holder of `/locks/billing`, with `ask-owner` bound to `key`.
fn plan(key: Key, production: Option<&str>) -> App {
    let mut bindings = Bindings::default();
    bindings.bind(Command::AskOwner, vec![key]);
    let production = production.map(ProductionMark::certain);
    let mut app = with(Settings { production, bindings, ..may_delete() }, SIZE);
    press(&mut app, ":lock /locks/billing\nx");
    app
}

fn action(app: &App) -> Action {
    app.deletion().expect("a plan").plan().action()
}

#[test]
fn only_the_bound_key_switches_the_plan() {
    let mut app = plan(Key::Char('o'), None);
    press(&mut app, "r");
    assert_eq!(action(&app), Action::Delete);
    press(&mut app, "o");
    assert_eq!(action(&app), Action::Revoke);
}

#[test]
fn a_bound_letter_is_typed_into_a_name_and_the_default_key_switches_the_plan() {
    let mut app = plan(Key::Char('o'), Some("prod"));
    press(&mut app, "o");
    assert_eq!((action(&app), app.deletion().unwrap().typed().unwrap().text()), (Action::Delete, "o"));
    app.update(Event::Key(Key::Ctrl('r')), app.clock());
    assert_eq!(action(&app), Action::Revoke);
}

#[test]
fn the_movement_keys_scroll_a_plan() {
    let mut app = plan(Key::F(9), None);
    app.update(Event::Key(Key::F(9)), app.clock());
    assert_eq!(action(&app), Action::Revoke);
    for key in ["j", "k"] {
        assert!(press(&mut app, key).redraw && app.deletion().is_some(), "{key}");
    }
}

//! Quitting asks for confirmation while test clients run.

use crate::tui::app::tests::SIZE;
use crate::tui::app::{App, Effect, Event, FleetSide, Key};
use crate::tui::testing::fleets::{outcome, running, writing};
use crate::tui::testing::{NOW, press};

fn end(app: &mut App, side: FleetSide) {
    let scenario = app.fleets().fleet(side).unwrap().scenario.clone();
    app.update(Event::FleetEnded { side, outcome: Box::new(outcome(&scenario, Some(0))) }, NOW);
}

#[test]
fn quitting_asks_while_clients_run_and_y_quits() {
    for quit in [Key::Char('q'), Key::Ctrl('c')] {
        let mut app = running(SIZE, 25);
        assert_eq!(app.update(Event::Key(quit), NOW).effects, []);
        assert_eq!(app.quit_question().unwrap(), "50 test clients run: stop them and quit? y/n");
        assert_eq!(press(&mut app, "x1?\n").effects, [], "other keys are no answer");
        assert!(app.asks_to_quit());
        assert_eq!(press(&mut app, "y").effects, [Effect::Quit]);
    }
}

#[test]
fn n_and_esc_cancel_quitting() {
    for no in ["n", "\u{1b}"] {
        let mut app = running(SIZE, 2);
        press(&mut app, &format!("q{no}"));
        assert!(!app.asks_to_quit() && app.has_fleets());
        assert_eq!(press(&mut app, "K").effects.len(), 1, "keys work again");
    }
}

#[test]
fn a_second_ctrl_c_quits() {
    let mut app = running(SIZE, 2);
    app.update(Event::Key(Key::Ctrl('c')), NOW);
    assert_eq!(app.update(Event::Key(Key::Ctrl('c')), NOW).effects, [Effect::Quit]);
}

#[test]
fn quitting_asks_on_every_screen_and_in_a_terminal_that_is_too_small() {
    for keys in ["1", "1\n", "6", "?", "u", ":", ":quit\n"] {
        let mut app = running(SIZE, 2);
        press(&mut app, keys);
        assert_eq!(
            app.update(Event::Key(Key::Ctrl('c')), NOW).effects,
            if keys.contains("quit") { vec![Effect::Quit] } else { vec![] }
        );
    }
    let mut app = running(SIZE, 2);
    app.update(Event::Resize(20, 5), NOW);
    assert_eq!(press(&mut app, "q").effects, []);
    assert!(app.asks_to_quit());
}

#[test]
fn quitting_does_not_ask_without_running_clients() {
    assert_eq!(press(&mut writing(SIZE), "q").effects, [Effect::Quit]);
    let mut app = running(SIZE, 2);
    press(&mut app, "q");
    end(&mut app, FleetSide::Left);
    assert!(app.asks_to_quit(), "the chain runs");
    end(&mut app, FleetSide::Right);
    assert!(!app.asks_to_quit(), "nobody is left to ask about");
    assert_eq!(press(&mut app, "q").effects, [Effect::Quit]);
}

#[test]
fn quitting_does_not_ask_while_clients_are_leaving() {
    let mut app = running(SIZE, 2);
    press(&mut app, "X");
    assert_eq!(press(&mut app, "q").effects, [Effect::Quit]);
}

//! Live, stale and paused data.

use super::{SIZE, later, lock_paths, lost, number, selected_contender};
use crate::tui::app::{Event, LockOrder};
use crate::tui::testing::{NOW, app, at, connected, ensemble, gone, live, press};
use lockscope_model::queue::{Change, ConnectionState};

#[test]
fn a_paused_screen_shows_one_state_whatever_happens() {
    let mut app = live(SIZE);
    press(&mut app, "p");
    let update = app.update(at(later(5), vec![gone("/locks/billing", 4711, 0x1b)]), later(5));
    assert!(!update.redraw, "what is not shown is not drawn");
    assert_eq!(app.now(), NOW);
    assert_eq!(app.paused().unwrap().missed, 1);
    assert_eq!(app.world().table().contender_count(), 139);
    press(&mut app, "\n");
    assert_eq!(number(selected_contender(&app)), 4711, "all of that moment can be looked at");
    press(&mut app, "p");
    assert_eq!(number(selected_contender(&app)), 4712);
    assert_eq!(app.world().table().contender_count(), 138);
}

#[test]
fn order_and_filter_chosen_during_a_pause_stay_afterwards() {
    let mut app = live(SIZE);
    press(&mut app, "p:sort lock\n/locks\np");
    assert_eq!(app.world().locks().sorting().first.by, LockOrder::Lock);
    assert_eq!(lock_paths(&app), ["/locks/billing", "/locks/orders"]);
}

#[test]
fn after_the_connection_is_lost_nothing_is_shown_as_current() {
    let mut app = live(SIZE);
    assert!(app.is_live() && app.shows_truth());
    app.update(at(later(3), vec![Change::Heard { at: later(2) }, lost()]), later(3));
    assert!(!app.is_live() && !app.shows_truth());
    assert_eq!(app.now(), later(2), "ages stop at the time as of which all is shown: the last sign of life");
    app.update(Event::Tick, later(9));
    assert_eq!(app.now(), later(2));
    let mut again = vec![connected(), Change::Syncing];
    app.update(at(later(10), again.clone()), later(10));
    assert!(!app.shows_truth(), "not before everything was read again");
    again = ensemble();
    app.update(at(later(11), again), later(11));
    assert!(app.shows_truth());
}

#[test]
fn a_list_that_is_opened_after_the_connection_was_lost_shows_the_last_state() {
    let mut app = live(SIZE);
    app.update(at(later(3), vec![Change::Heard { at: later(2) }, lost()]), later(3));
    press(&mut app, "3");
    let sessions = app.world().sessions().rows().len();
    assert!(sessions > 0, "Sessions was never open before");
    press(&mut app, "4");
    assert!(app.world().waits().row(0).is_some());
    app.update(Event::Tick, later(9));
    press(&mut app, "3");
    assert_eq!(app.world().sessions().rows().len(), sessions);
}

#[test]
fn nothing_is_live_after_the_observer_ended() {
    let mut app = live(SIZE);
    app.update(Event::ObserverEnded, NOW);
    assert!(!app.is_live() && !app.is_observing());
    assert!(!app.ticks());
}

#[test]
fn the_console_ticks_only_while_something_ages() {
    let mut app = app(SIZE);
    assert!(!app.ticks(), "nothing is known yet");
    let next_try = Some(later(3));
    let waiting =
        Change::Connection(ConnectionState::Connecting { attempt: 2, reason: Some("refused".to_owned()), next_try });
    app.update(at(NOW, vec![waiting]), NOW);
    assert!(app.ticks(), "the next try is counted down");
    app.update(at(NOW, vec![connected(), Change::Syncing, Change::Synced]), NOW);
    assert!(!app.ticks(), "no lock, no age");
    app.update(at(NOW, ensemble()), NOW);
    assert!(app.ticks() && app.counts_seconds());
    press(&mut app, "?");
    assert!(!app.counts_seconds(), "Help has no ages");
    assert!(!app.update(Event::Tick, later(1)).redraw, "and is not drawn for nothing");
    assert!(app.ticks(), "but a lock may have been held for too long by now");
}

#[test]
fn a_notice_disappears_after_a_while() {
    let mut app = live(SIZE);
    press(&mut app, "y");
    assert!(app.notice().is_some());
    app.update(Event::Tick, later(60));
    assert!(app.notice().is_none());
}

//! Locks: the order, the filter, the selection.

use super::{SIZE, later, lock_paths, selected_lock};
use crate::tui::app::{App, Effect, Event, Key, ListOrder, LockOrder, Mouse, Rows, Screen};
use crate::tui::testing::{NOW, at, curator, gone, listed, live, path, press, seen};
use lockscope_model::queue::Change;

#[test]
fn without_findings_the_longest_queue_is_first_and_s_cycles_through_the_orders() {
    let mut app = live((240, 24));
    assert_eq!(lock_paths(&app)[0], "/locks/billing");
    let mut seen = vec![app.world().locks().sorting().first.by];
    for _ in 1..LockOrder::all().count() - 4 {
        press(&mut app, "s");
        seen.push(app.world().locks().sorting().first.by);
    }
    // Columns in which all locks are 0 are not shown.
    let folded = [LockOrder::Cost, LockOrder::Acquisitions, LockOrder::Herd, LockOrder::Chain];
    assert_eq!(seen, LockOrder::all().filter(|order| !folded.contains(order)).collect::<Vec<_>>());
    press(&mut app, "s");
    assert_eq!(app.world().locks().sorting().first.by, LockOrder::Severity);
}

#[test]
fn each_column_sorts_in_both_directions() {
    let mut app = live(SIZE);
    for (column, first, last) in [
        ("lock", "/apps/catalogue/index-rebuild", "/locks/orders"),
        ("held", "/controller", "/locks/orders"),
        ("waiting", "/locks/billing", "/controller"),
        ("holder", "/locks/orders", "/controller"),
    ] {
        press(&mut app, &format!(":sort {column}\n"));
        let paths = lock_paths(&app);
        assert_eq!((paths[0].as_str(), paths[3].as_str()), (first, last), "{column}");
        press(&mut app, "R");
        let turned = lock_paths(&app);
        assert_eq!((turned[0].as_str(), turned[3].as_str()), (last, first), "{column} reversed");
    }
    press(&mut app, ":sort colour\n");
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, "a column that does not exist is refused");
}

#[test]
fn locks_without_a_waiter_come_last_in_either_direction() {
    let mut app = live(SIZE);
    press(&mut app, ":sort oldest\n");
    assert_eq!(lock_paths(&app)[3], "/controller");
    press(&mut app, "R");
    assert_eq!(lock_paths(&app)[3], "/controller");
}

#[test]
fn a_selected_lock_keeps_the_selection_when_it_moves() {
    let mut app = live(SIZE);
    press(&mut app, "j");
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
    let crowd = (0..200).map(|at| seen(&format!("/locks/orders/{at:032x}__lock__{:010}", 100 + at), 1, NOW, b""));
    app.update(at(NOW, crowd.collect()), NOW);
    assert_eq!(lock_paths(&app)[0], "/locks/orders");
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
    assert_eq!(app.cursors.locks.rank(), 0);
}

#[test]
fn an_untouched_list_stays_on_its_first_row() {
    let mut app = live(SIZE);
    let crowd = (0..200).map(|at| seen(&format!("/locks/orders/{at:032x}__lock__{:010}", 100 + at), 1, NOW, b""));
    app.update(at(NOW, crowd.collect()), NOW);
    assert_eq!(app.cursors.locks.rank(), 0);
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
}

#[test]
fn the_order_after_single_changes_equals_a_full_sort() {
    for column in LockOrder::all() {
        let mut app = live(SIZE);
        press(&mut app, &format!(":sort {}\n", column.id()));
        let changes = vec![
            gone("/locks/billing", 4711, 0x1b),
            curator("/locks/new", 1, 90, 5),
            curator("/locks/new", 2, 91, 4),
            Change::Deleted { path: path("/controller"), zxid: None },
            seen("/locks/orders/ffffffffffffffffffffffffffffffff__lock__0000000001", 99, later(1), b"x"),
        ];
        app.update(at(later(2), changes), later(2));
        app.update(Event::Tick, later(3));
        let kept = lock_paths(&app);
        press(&mut app, &format!(":sort {}\n", column.id()));
        assert_eq!(kept, lock_paths(&app), "{column:?}");
    }
}

#[test]
fn a_lock_that_quiets_down_sinks_in_an_order_by_rate() {
    let mut app = live(SIZE);
    press(&mut app, ":sort acq/s\n");
    let mut release = Vec::new();
    for number in 0..3 {
        release.push(gone("/locks/billing", 4711 + number, 0x1b + i64::from(number)));
    }
    app.update(at(later(1), release), later(1));
    assert_eq!(lock_paths(&app)[0], "/locks/billing");
    for second in 2..40 {
        app.update(Event::Tick, later(second));
    }
    assert_eq!(lock_paths(&app)[0], "/apps/catalogue/index-rebuild", "all are quiet: by path again");
}

#[test]
fn the_filter_applies_while_it_is_typed_and_esc_clears_it() {
    let mut app = live(SIZE);
    press(&mut app, "/BILL");
    assert_eq!(lock_paths(&app), ["/locks/billing"]);
    app.update(Event::Key(Key::Backspace), NOW);
    press(&mut app, "x");
    assert!(lock_paths(&app).is_empty());
    press(&mut app, "\u{1b}");
    assert!(app.prompt().is_none());
    assert_eq!(lock_paths(&app).len(), 4);
}

#[test]
fn a_kept_filter_applies_to_new_locks() {
    let mut app = live(SIZE);
    press(&mut app, "/worker-7\n");
    assert_eq!(lock_paths(&app), ["/locks/orders"], "by the holder's data");
    let come = vec![seen("/jobs/0123456789abcdef0123456789abcdef__lock__0000000001", 3, NOW, b"worker-77")];
    app.update(at(NOW, come), NOW);
    assert_eq!(lock_paths(&app).len(), 2);
    press(&mut app, "\u{1b}");
    assert_eq!(lock_paths(&app).len(), 5, "Esc clears it after it was kept too");
}

#[test]
fn keys_typed_into_the_filter_are_not_commands() {
    let mut app = live(SIZE);
    let update = press(&mut app, "/q");
    assert!(update.effects.is_empty());
    assert_eq!(app.prompt().unwrap().text(), "q");
    let update = app.update(Event::Key(Key::Ctrl('c')), NOW);
    assert_eq!(update.effects, [Effect::Quit], "but Ctrl-C always is");
}

#[test]
fn a_mouse_press_selects_a_row_and_a_second_one_opens_it() {
    let mut app = live(SIZE);
    let second_row = Mouse::Press(10, app.layout().unwrap().rows().0 + 1);
    app.update(Event::Mouse(second_row), NOW);
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
    app.update(Event::Mouse(second_row), NOW);
    assert_eq!(app.screen(), Screen::Queue);
    app.update(Event::Mouse(Mouse::WheelDown), NOW);
    assert_eq!(app.contender_cursor().rank(), 3);
    let below = Mouse::Press(0, 500);
    assert!(!app.update(Event::Mouse(below), NOW).redraw);
}

/// Returns the deletion of a node of a lock, or of its parent.
fn removed(lock: &str) -> Change {
    Change::Deleted { path: path(lock), zxid: None }
}

#[test]
fn a_vanished_lock_stays_listed_last_while_its_history_is_known_and_is_not_counted() {
    let mut app = live(SIZE);
    let locks = lock_paths(&app);
    app.update(at(later(1), vec![seen("/jobs/lock/lock-0000000001", 90, later(1), b"worker-90")]), later(1));
    press(&mut app, ":sort lock\n");
    app.update(at(later(9), vec![removed("/jobs/lock/lock-0000000001"), removed("/jobs/lock")]), later(9));
    assert_eq!(lock_paths(&app).len(), locks.len(), "it is no lock");
    let rows = app.world().lock_rows();
    assert_eq!(rows.len(), locks.len() + 1);
    let gone = rows.id(locks.len()).and_then(|id| app.world().vanished().get(id)).expect("the vanished lock is last");
    assert_eq!((gone.name.path.as_str(), gone.at), ("/jobs/lock", later(9)));
    press(&mut app, "G\n");
    assert_eq!(app.screen(), Screen::History, "of it there is only the history");
    press(&mut app, "\u{1b}");
    let update = press(&mut app, "e");
    let Some(Effect::Export { text, .. }) = update.effects.first() else { panic!("{update:?}") };
    assert!(!text.contains("/jobs/lock"), "what is exported are locks");
    app.update(at(later(12), vec![seen("/jobs/lock/lock-0000000002", 91, later(12), b"worker-91")]), later(12));
    assert_eq!(app.world().lock_rows().len(), locks.len() + 1, "it is there again, once");
    assert_eq!(app.world().vanished().shown(), 0);
    app.update(at(later(13), vec![removed("/jobs/lock/lock-0000000002"), removed("/jobs/lock")]), later(13));
    app.update(Event::Tick, later(13 + 30 * 60));
    assert_eq!(app.world().lock_rows().len(), locks.len(), "it is forgotten after half an hour");
}

#[test]
fn a_free_lock_reports_since_when_it_is_free() {
    let mut app = live(SIZE);
    let free = |app: &App, lock: &str| {
        let id = app.world().table().find(&path(lock), None).expect("a known lock");
        app.world().free_since(app.world().table().lock(id).expect("a known lock"))
    };
    let first = seen("/jobs/lock/lock-0000000001", 90, later(1), b"worker-90");
    app.update(at(later(1), vec![listed("/jobs/lock", 2), first]), later(1));
    app.update(at(later(9), vec![removed("/jobs/lock/lock-0000000001")]), later(9));
    assert_eq!(free(&app, "/jobs/lock"), Some((later(9), false)));
    app.update(at(later(10), vec![seen("/jobs/lock/lock-0000000002", 91, later(10), b"worker-91")]), later(10));
    app.update(at(later(11), vec![super::lost()]), later(11));
    let mut again = crate::tui::testing::ensemble();
    again.insert(2, listed("/jobs/lock", 3));
    app.update(at(later(30), again), later(30));
    assert_eq!(free(&app, "/jobs/lock"), Some((later(30), true)), "at least since then: it was released unseen");
}

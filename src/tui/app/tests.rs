//! What a user could notice, without a terminal.

use std::time::Duration;

use super::{App, Cursor, Effect, Event, Key, Mouse, Pane, Rows, Screen, SortBy};
use crate::queue::{Change, Event as Kind, Link};
use crate::tui::testing::{NOW, app, at, connected, curator, ensemble, gone, listed, live, path, press, seen};
use crate::znode::{Timestamp, ZnodePath};

const SIZE: (u16, u16) = (80, 24);

fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn lock_paths(app: &App) -> Vec<String> {
    let (world, locks) = (app.world(), app.world().locks());
    let ids = locks.window(0..locks.len());
    ids.filter_map(|id| world.table().lock(id)).map(|lock| lock.path().to_string()).collect()
}

fn selected_lock(app: &App) -> Option<String> {
    let id = app.lock_cursor().selected(app.world().locks())?;
    app.world().table().lock(id).map(|lock| lock.path().to_string())
}

fn selected_contender(app: &App) -> Option<ZnodePath> {
    app.contender_cursor().selected(&app.world().queue_rows())
}

fn number(path: Option<ZnodePath>) -> i32 {
    let path = path.expect("something is selected");
    crate::znode::Sequence::split(path.name()).expect("a number").1.0
}

fn lost() -> Change {
    Change::Link(Link::Lost { reason: "reset by peer".to_owned() })
}

#[test]
fn the_longest_queue_comes_first_and_s_goes_through_the_columns() {
    let mut app = live(SIZE);
    assert_eq!(lock_paths(&app)[0], "/locks/billing");
    let mut seen = vec![app.world().locks().by()];
    for _ in 1..SortBy::ALL.len() {
        press(&mut app, "s");
        seen.push(app.world().locks().by());
    }
    assert_eq!(seen, SortBy::ALL);
    press(&mut app, "s");
    assert_eq!(app.world().locks().by(), SortBy::Waiting);
}

#[test]
fn each_column_sorts_and_turns_around() {
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
        press(&mut app, "S");
        let turned = lock_paths(&app);
        assert_eq!((turned[0].as_str(), turned[3].as_str()), (last, first), "{column} reversed");
    }
    press(&mut app, ":sort colour\n");
    assert!(app.notice().unwrap().failed, "a column that does not exist is refused");
}

#[test]
fn locks_without_a_waiter_come_last_in_either_direction() {
    let mut app = live(SIZE);
    press(&mut app, ":sort oldest\n");
    assert_eq!(lock_paths(&app)[3], "/controller");
    press(&mut app, "S");
    assert_eq!(lock_paths(&app)[3], "/controller");
}

#[test]
fn a_lock_moves_in_the_list_while_it_is_looked_at_and_keeps_the_selection() {
    let mut app = live(SIZE);
    press(&mut app, "j");
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
    let crowd = (0..200).map(|at| seen(&format!("/locks/orders/{at:032x}__lock__{:010}", 100 + at), 1, NOW, b""));
    app.update(at(NOW, crowd.collect()), NOW);
    assert_eq!(lock_paths(&app)[0], "/locks/orders");
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
    assert_eq!(app.lock_cursor().rank(), 0);
}

#[test]
fn an_untouched_list_stays_on_its_first_row() {
    let mut app = live(SIZE);
    let crowd = (0..200).map(|at| seen(&format!("/locks/orders/{at:032x}__lock__{:010}", 100 + at), 1, NOW, b""));
    app.update(at(NOW, crowd.collect()), NOW);
    assert_eq!(app.lock_cursor().rank(), 0);
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
}

#[test]
fn the_order_kept_change_by_change_is_the_one_that_sorting_anew_gives() {
    for column in SortBy::ALL {
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
fn the_filter_works_while_it_is_typed_and_esc_clears_it() {
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
fn a_kept_filter_holds_for_locks_that_come_later() {
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
fn a_key_that_is_typed_into_the_filter_is_no_command() {
    let mut app = live(SIZE);
    let update = press(&mut app, "/q");
    assert!(update.effects.is_empty());
    assert_eq!(app.prompt().unwrap().text(), "q");
    let update = app.update(Event::Key(Key::Ctrl('c')), NOW);
    assert_eq!(update.effects, [Effect::Quit], "but Ctrl-C always is");
}

#[test]
fn enter_opens_the_queue_and_esc_goes_back() {
    let mut app = live(SIZE);
    press(&mut app, "j\n");
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(app.opened().unwrap().path, path("/locks/orders"));
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
    assert_eq!(selected_lock(&app).as_deref(), Some("/locks/orders"));
}

#[test]
fn the_selected_contender_is_followed_as_the_queue_moves_on() {
    let mut app = live(SIZE);
    press(&mut app, "\njjj");
    assert_eq!(number(selected_contender(&app)), 4714);
    app.update(at(NOW, vec![gone("/locks/billing", 4711, 0x1b), gone("/locks/billing", 4712, 0x1c)]), NOW);
    assert_eq!(number(selected_contender(&app)), 4714);
    assert_eq!(app.contender_cursor().rank(), 1);
    app.update(at(NOW, vec![gone("/locks/billing", 4714, 0x1e)]), NOW);
    assert_eq!(number(selected_contender(&app)), 4715, "the one behind takes its place");
}

#[test]
fn the_ends_of_a_list_are_kept_when_they_were_asked_for() {
    let mut app = live(SIZE);
    press(&mut app, "\nG");
    assert_eq!(number(selected_contender(&app)), 4839);
    app.update(at(NOW, vec![curator("/locks/billing", 4840, 500, 0)]), NOW);
    assert_eq!(number(selected_contender(&app)), 4840);
    press(&mut app, "g");
    app.update(at(NOW, vec![gone("/locks/billing", 4711, 0x1b)]), NOW);
    assert_eq!(number(selected_contender(&app)), 4712, "the new holder");
}

#[test]
fn a_filtered_queue_is_kept_up_by_what_comes_and_goes() {
    let mut app = live(SIZE);
    press(&mut app, "\n/10.0.4.3");
    let before = app.world().queue_rows().len();
    assert!(before > 0 && before < 129);
    let changes = vec![
        gone("/locks/billing", 4711 + 3, 0x1b + 3),
        curator("/locks/billing", 4900, 30, 0),
        curator("/locks/billing", 4901, 99, 0),
        Change::SessionExpired { session: crate::tui::testing::session(31) },
        gone("/locks/billing", 4711 + 4, 31),
    ];
    app.update(at(NOW, changes), NOW);
    let kept: Vec<_> = (0..app.world().queue_rows().len()).map(|rank| app.world().queue_rows().id(rank)).collect();
    press(&mut app, "\u{1b}/10.0.4.3");
    let anew: Vec<_> = (0..app.world().queue_rows().len()).map(|rank| app.world().queue_rows().id(rank)).collect();
    assert_eq!(kept, anew);
    assert!(kept.iter().all(Option::is_some));
}

#[test]
fn a_lock_that_is_deleted_while_it_is_shown_says_so_and_comes_back_by_itself() {
    let mut app = live(SIZE);
    press(&mut app, ":lock /controller\n");
    assert!(app.world().open_lock().is_some());
    let mut all: Vec<_> = ensemble();
    all.retain(|change| !matches!(change, Change::Seen { path, .. } if path.as_str().starts_with("/locks/billing")));
    press(&mut app, "1");
    press(&mut app, ":lock /locks/billing\n");
    let gone: Vec<_> = (0..129).map(|at| gone("/locks/billing", 4711 + at, 0x1b + i64::from(at))).collect();
    app.update(at(NOW, gone), NOW);
    app.update(at(NOW, vec![Change::Deleted { path: path("/locks/billing"), zxid: None }]), NOW);
    assert!(app.world().open_lock().is_none());
    assert_eq!(app.screen(), Screen::Queue, "the screen stays and says it");
    app.update(at(NOW, vec![listed("/locks/billing", 4841), curator("/locks/billing", 4840, 77, 0)]), NOW);
    assert_eq!(app.world().open_lock().unwrap().len(), 1);
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn a_pause_shows_one_moment_however_much_happens() {
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
    assert_eq!(app.world().locks().by(), SortBy::Lock);
    assert_eq!(lock_paths(&app), ["/locks/billing", "/locks/orders"]);
}

#[test]
fn what_is_shown_after_the_link_is_lost_is_not_called_true() {
    let mut app = live(SIZE);
    assert!(app.is_live() && app.shows_truth());
    app.update(at(later(3), vec![lost()]), later(3));
    assert!(!app.is_live() && !app.shows_truth());
    assert_eq!(app.now(), later(3), "ages stop at the time as of which all is shown");
    app.update(Event::Tick, later(9));
    assert_eq!(app.now(), later(3));
    let mut again = vec![connected(), Change::Syncing];
    app.update(at(later(10), again.clone()), later(10));
    assert!(!app.shows_truth(), "not before everything was read again");
    again = ensemble();
    app.update(at(later(11), again), later(11));
    assert!(app.shows_truth());
}

#[test]
fn an_observer_that_ended_leaves_nothing_that_is_called_live() {
    let mut app = live(SIZE);
    app.update(Event::ObserverEnded, NOW);
    assert!(!app.is_live() && !app.is_observing());
    assert!(!app.ticks());
}

#[test]
fn seconds_are_counted_only_while_something_ages() {
    let mut app = app(SIZE);
    assert!(!app.ticks(), "nothing is known yet");
    let next_try = Some(later(3));
    let waiting = Change::Link(Link::Connecting { attempt: 2, reason: Some("refused".to_owned()), next_try });
    app.update(at(NOW, vec![waiting]), NOW);
    assert!(app.ticks(), "the next try is counted down");
    app.update(at(NOW, vec![connected(), Change::Syncing, Change::Synced]), NOW);
    assert!(!app.ticks(), "no lock, no age");
    app.update(at(NOW, ensemble()), NOW);
    assert!(app.ticks());
    press(&mut app, "?");
    assert!(!app.ticks(), "Help has no ages");
}

#[test]
fn the_timeline_follows_the_newest_until_one_looks_back() {
    let mut app = live(SIZE);
    press(&mut app, "6");
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    let newest = |app: &App| app.moment_cursor().rank() + 1 == app.world().timeline_rows().len();
    assert!(newest(&app));
    press(&mut app, "k");
    let looked_at = app.moment_cursor().selected(&app.world().timeline_rows());
    app.update(at(later(2), vec![gone("/locks/billing", 4712, 0x1c)]), later(2));
    assert!(!newest(&app));
    assert_eq!(app.moment_cursor().selected(&app.world().timeline_rows()), looked_at);
    press(&mut app, "G");
    app.update(at(later(3), vec![gone("/locks/billing", 4713, 0x1d)]), later(3));
    assert!(newest(&app));
}

#[test]
fn a_filtered_timeline_takes_in_what_matches_later() {
    let mut app = live(SIZE);
    press(&mut app, "6/acquired\n");
    assert_eq!(app.world().timeline_rows().len(), 0);
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    let rows = app.world().timeline_rows();
    assert_eq!(rows.len(), 1);
    let happening = rows.id(0).and_then(|number| app.world().timeline().get(number)).unwrap();
    assert_eq!(happening.event, Kind::Acquired);
    press(&mut app, "\n");
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(number(selected_contender(&app)), 4712, "opened on the contender that it was about");
}

#[test]
fn copying_takes_the_path_and_in_the_details_the_session() {
    let mut app = live(SIZE);
    assert_eq!(press(&mut app, "y").effects, [Effect::Copy("/locks/billing".to_owned())]);
    let update = press(&mut app, "\ny");
    let [Effect::Copy(copied)] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(copied.starts_with("/locks/billing/_c_0000001b") && copied.ends_with("0000004711"), "{copied}");
    assert_eq!(press(&mut app, "\ty").effects, [Effect::Copy("0x1000a2b3c40001b".to_owned())]);
    let mut nothing = app_without_locks();
    assert!(press(&mut nothing, "y").effects.is_empty());
    assert!(nothing.notice().unwrap().failed);
}

fn app_without_locks() -> App {
    let mut app = app(SIZE);
    app.update(at(NOW, vec![connected(), Change::Syncing, Change::Synced]), NOW);
    app
}

#[test]
fn exporting_writes_what_is_listed_under_the_names_of_the_headless_commands() {
    let mut app = live(SIZE);
    press(&mut app, "/locks\n");
    let update = press(&mut app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert_eq!(name, "lockscope-locks-20240501T144107250Z.json");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["locks"].as_array().unwrap().len(), 2);
    assert_eq!(json["locks"][0]["contenders"].as_array().unwrap().len(), 129);
    press(&mut app, "6");
    let update = press(&mut app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(name.starts_with("lockscope-timeline-"));
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert!(json["happenings"].is_array());
}

#[test]
fn the_command_line_takes_the_same_commands_as_the_keys() {
    let mut app = live(SIZE);
    assert_eq!(press(&mut app, ":q\n").effects, [Effect::Quit]);
    press(&mut app, ":filter orders\n");
    assert_eq!(lock_paths(&app), ["/locks/orders"]);
    press(&mut app, ":lock /nowhere\n");
    assert!(app.notice().unwrap().text.contains("/nowhere"));
    press(&mut app, ":lock locks\n");
    assert!(app.notice().unwrap().failed);
    press(&mut app, ":frobnicate\n");
    assert!(app.notice().unwrap().text.contains("frobnicate"));
    press(&mut app, ":help me\n");
    assert!(app.notice().unwrap().failed);
    press(&mut app, ":help\n");
    assert_eq!(app.screen(), Screen::Help);
    press(&mut app, ":sort lock\n");
    assert!(app.notice().unwrap().failed, "there is nothing to sort in Help");
}

#[test]
fn tab_leads_to_the_details_and_back() {
    let mut app = live(SIZE);
    press(&mut app, "\n\t");
    assert_eq!(app.pane(), Pane::Details);
    press(&mut app, "\u{1b}");
    assert_eq!((app.screen(), app.pane()), (Screen::Queue, Pane::List));
}

#[test]
fn going_around_in_circles_does_not_lengthen_the_way_back() {
    let mut app = live(SIZE);
    for _ in 0..50 {
        press(&mut app, "126?");
    }
    assert!(app.before.len() < Screen::ALL.len());
    for _ in 0..Screen::ALL.len() {
        press(&mut app, "\u{1b}");
    }
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn a_press_of_the_mouse_selects_and_another_opens() {
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

#[test]
fn a_notice_goes_by_itself() {
    let mut app = live(SIZE);
    press(&mut app, "y");
    assert!(app.notice().is_some());
    app.update(Event::Tick, later(60));
    assert!(app.notice().is_none());
}

#[test]
fn in_a_terminal_that_is_too_small_one_can_still_quit() {
    let mut app = live((20, 5));
    press(&mut app, "jkG/x");
    assert_eq!(app.update(Event::Key(Key::Ctrl('c')), NOW).effects, [Effect::Quit]);
    assert_eq!(press(&mut live((1, 1)), "q").effects, [Effect::Quit]);
}

#[test]
fn a_cursor_on_a_row_that_never_was_ends_on_the_first() {
    let app = live(SIZE);
    let mut cursor = Cursor::on(path("/nowhere"));
    cursor.settle(&app.world().queue_rows(), 5);
    assert_eq!(cursor.selected(&app.world().queue_rows()), None);
}

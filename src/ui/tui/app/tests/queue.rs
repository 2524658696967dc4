//! Queue: opening, following, leaving.

use super::{SIZE, number, selected_contender, selected_lock};
use crate::tui::app::{Cursor, Pane, Rows, Screen};
use crate::tui::testing::{NOW, at, curator, gone, listed, live, path, press};
use lockscope_model::queue::Change;

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
fn the_selection_follows_its_contender_as_the_queue_moves() {
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
fn a_selection_at_an_end_stays_at_that_end() {
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
fn a_filtered_queue_is_updated_when_contenders_come_and_go() {
    let mut app = live(SIZE);
    press(&mut app, "\n/10.0.4.3");
    let before = app.world().queue_rows().len();
    assert!(before > 0 && before < 129);
    let changes = vec![
        gone("/locks/billing", 4711 + 3, 0x1b + 3),
        curator("/locks/billing", 4900, 30, 0),
        curator("/locks/billing", 4901, 99, 0),
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
fn a_contender_that_is_not_read_yet_passes_a_filter_by_its_name() {
    let mut app = live(SIZE);
    press(&mut app, "\n/4902\n");
    assert_eq!(app.world().queue_rows().len(), 0);
    let Change::Seen { path, .. } = curator("/locks/billing", 4902, 99, 0) else { panic!("a node") };
    app.update(at(NOW, vec![Change::Appeared { path: path.clone() }]), NOW);
    assert_eq!(app.world().queue_rows().len(), 1);
    app.update(at(NOW, vec![curator("/locks/billing", 4902, 99, 0)]), NOW);
    assert_eq!(app.world().queue_rows().len(), 1);
    app.update(at(NOW, vec![Change::Deleted { path, zxid: None }]), NOW);
    assert_eq!(app.world().queue_rows().len(), 0);
}

#[test]
fn the_queue_of_a_deleted_lock_stays_open_and_shows_the_recreated_lock() {
    let mut app = live(SIZE);
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
fn tab_moves_to_the_details_and_esc_back() {
    let mut app = live(SIZE);
    press(&mut app, "\n\t");
    assert_eq!(app.pane(), Pane::Details);
    press(&mut app, "\u{1b}");
    assert_eq!((app.screen(), app.pane()), (Screen::Queue, Pane::List));
}

#[test]
fn a_cursor_on_an_unknown_row_of_an_empty_list_selects_nothing() {
    let app = live(SIZE);
    let mut cursor = Cursor::on(path("/nowhere"));
    cursor.reanchor(&app.world().queue_rows(), 5);
    assert_eq!(cursor.selected(&app.world().queue_rows()), None);
}

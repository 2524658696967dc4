//! The tree: what is read, in which order, and what the keys do.

use super::SIZE;
use crate::tui::app::{App, Effect, Rows, Screen, SearchEnd, TreeAnswer, TreeWish, Update};
use crate::tui::testing::recording::Replayed;
use crate::tui::testing::tree::{answer, child_stat, children, wished};
use crate::tui::testing::{live, path, press};
use lockscope_base::znode::ZnodeStat;

fn names(app: &App) -> Vec<&str> {
    (0..app.tree().len()).filter_map(|rank| app.tree().row(rank)).map(|row| row.name).collect()
}

fn paths(wish: &TreeWish) -> Vec<String> {
    let (TreeWish::Children(paths) | TreeWish::Stats(paths) | TreeWish::Data(paths)) = wish;
    paths.iter().map(ToString::to_string).collect()
}

fn opened(names: &[&str]) -> (App, Update) {
    let mut app = live(SIZE);
    let update = press(&mut app, ":tree /apps\n");
    let update = answer(&mut app, &update, children(names));
    (app, update)
}

#[test]
fn names_come_first_and_then_the_stats_of_the_rows_near_the_top_of_the_screen() {
    let mut app = live(SIZE);
    let update = press(&mut app, "8");
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/")])));
    let many: Vec<String> = (0..1_000).map(|number| format!("n{number:04}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let update = answer(&mut app, &update, children(&many));
    let first = paths(&wished(&update).unwrap());
    assert_eq!((first.len(), first[0].as_str(), first[63].as_str()), (64, "/n0000", "/n0063"));
    assert_eq!(wished(&press(&mut app, "G")), None, "one wish is under way");
    let update = answer(&mut app, &update, TreeAnswer::Stats(vec![Some(child_stat(0, None)); 64]));
    let next = paths(&wished(&update).unwrap());
    assert!(next.contains(&"/n0999".to_owned()) && next.contains(&"/n0064".to_owned()), "{next:?}");
    assert_eq!(app.tree().progress(), (64, 1_000));
}

#[test]
fn leaving_ends_the_reading_and_an_answer_to_an_earlier_wish_is_ignored() {
    let (mut app, update) = opened(&["a", "b"]);
    let left = press(&mut app, "1");
    assert!(left.effects.contains(&Effect::ReadTree(None)), "{left:?}");
    answer(&mut app, &update, TreeAnswer::Stats(vec![Some(child_stat(7, None)); 2]));
    assert_eq!(app.tree().progress(), (0, 2));
    let again = press(&mut app, "8");
    assert_eq!(wished(&again), Some(TreeWish::Children(vec![path("/apps")])), "it is read anew");
    let into = press(&mut app, ":tree /other\n");
    answer(&mut app, &again, children(&["a"]));
    assert!(names(&app).is_empty());
    answer(&mut app, &into, children(&["z"]));
    assert_eq!(names(&app), ["z"]);
}

#[test]
fn a_failure_is_told_and_nothing_more_is_asked_until_the_key_reads_again() {
    let (mut app, update) = opened(&["a"]);
    let update = answer(&mut app, &update, TreeAnswer::Failed("The tree cannot be read: no server.".to_owned()));
    assert_eq!(wished(&update), None);
    assert!(app.tree().trouble.as_deref().unwrap().contains("no server"));
    assert!(wished(&press(&mut app, "8")).is_some());
    let update = press(&mut app, ":tree /none\n");
    answer(&mut app, &update, TreeAnswer::Children(vec![None]));
    assert!(app.tree().trouble.as_deref().unwrap().starts_with("/none is gone"), "{:?}", app.tree().trouble.as_deref());
}

#[test]
fn keys_go_down_and_up_and_a_lock_opens_its_queue() {
    let mut app = live(SIZE);
    let update = press(&mut app, "8");
    answer(&mut app, &update, children(&["apps", "locks"]));
    let update = press(&mut app, "j\n");
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/locks")])));
    answer(&mut app, &update, children(&["billing", "empty", "other"]));
    press(&mut app, "\n");
    assert_eq!((app.screen(), app.opened().unwrap().path.as_str()), (Screen::Queue, "/locks/billing"));
    press(&mut app, "\u{1b}");
    assert_eq!((app.screen(), app.tree().path.as_str()), (Screen::Tree, "/locks"));
    let update = press(&mut app, "l");
    assert_eq!(app.tree().path.as_str(), "/locks/billing", "the other key goes into it");
    answer(&mut app, &update, children(&[]));
    let update = press(&mut app, "\u{1b}");
    answer(&mut app, &update, children(&["billing", "empty", "other"]));
    assert_eq!(app.selected_child().unwrap().name, "billing");
    let update = press(&mut app, "h");
    answer(&mut app, &update, children(&["apps", "locks"]));
    assert_eq!(app.selected_child().unwrap().name, "locks", "where it came from");
    let update = press(&mut app, "d");
    assert!(update.effects.contains(&Effect::ReadNode(path("/locks"))), "{update:?}");
    press(&mut app, "\u{1b}\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn rows_are_filtered_by_name_and_sorted_by_any_column_with_unread_ones_last() {
    let (mut app, update) = opened(&["worker-1", "config", "worker-2", "worker-3"]);
    press(&mut app, "/work\n");
    assert_eq!(names(&app), ["worker-1", "worker-2", "worker-3"]);
    let stats = [Some(child_stat(1, None)), Some(child_stat(5, Some(7))), None, Some(child_stat(3, None))];
    answer(&mut app, &update, TreeAnswer::Stats(stats.to_vec()));
    press(&mut app, ":sort -children\n");
    assert_eq!(names(&app), ["worker-1", "worker-3", "worker-2"], "the one that is gone comes last");
    press(&mut app, "\u{1b}:sort name\n");
    assert_eq!(names(&app), ["config", "worker-1", "worker-2", "worker-3"]);
    let update = press(&mut app, "e");
    let [Effect::Export { text, .. }] = update.effects.as_slice() else { panic!("{update:?}") };
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!((&json["path"], &json["left_out"]), (&"/apps".into(), &1.into()));
    assert_eq!(json["children"][1]["children"], 5);
}

#[test]
fn a_search_goes_through_names_and_data_and_lists_what_it_finds() {
    let (mut app, _) = opened(&["a"]);
    let update = press(&mut app, ":find-node needle\n");
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/apps")])));
    let update = answer(&mut app, &update, children(&["b", "needle-1"]));
    let stats = vec![Some(child_stat(2, None)), Some(child_stat(0, None))];
    let update = answer(&mut app, &update, TreeAnswer::Stats(stats));
    assert_eq!(names(&app), ["needle-1"]);
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/apps/b")])));
    let update = answer(&mut app, &update, children(&["x", "y"]));
    let long = ZnodeStat { data_length: 1 << 20, ..child_stat(0, None) };
    let full = ZnodeStat { data_length: 9, ..child_stat(0, None) };
    let update = answer(&mut app, &update, TreeAnswer::Stats(vec![Some(full), Some(long)]));
    assert_eq!(wished(&update), Some(TreeWish::Data(vec![path("/apps/b/x")])));
    let update = answer(&mut app, &update, TreeAnswer::Data(vec![Some(b"a Needle!".to_vec())]));
    assert_eq!((names(&app), wished(&update)), (vec!["b/x", "needle-1"], None));
    let search = app.tree().search.as_ref().unwrap();
    assert_eq!((search.visited, search.unsearched), (4, 1));
    assert_eq!(press(&mut app, "jy").effects, [Effect::Copy("/apps/needle-1".to_owned())]);
    let update = press(&mut app, "\u{1b}");
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/apps")])), "back to the children");
}

#[test]
fn a_search_looks_below_nodes_with_few_children_before_one_with_very_many() {
    let (mut app, _) = opened(&["a"]);
    let update = press(&mut app, ":find-node needle\n");
    let update = answer(&mut app, &update, children(&["big", "small"]));
    let stats = [300_000, 2].map(|children| Some(child_stat(children, None))).to_vec();
    let update = answer(&mut app, &update, TreeAnswer::Stats(stats));
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/apps/small")])));
    let update = answer(&mut app, &update, children(&[]));
    assert_eq!(wished(&update), Some(TreeWish::Children(vec![path("/apps/big")])));
}

#[test]
fn a_search_can_be_stopped_and_is_bounded() {
    let (mut app, _) = opened(&["a"]);
    let mut update = press(&mut app, ":find-node x\n");
    let many: Vec<String> = (0..250_000).map(|number| format!("x{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    update = answer(&mut app, &update, children(&many));
    while let Some(wish) = wished(&update) {
        update = answer(&mut app, &update, TreeAnswer::Stats(vec![Some(child_stat(0, None)); paths(&wish).len()]));
        if app.tree().search.as_ref().unwrap().visited == 640 && app.tree().search.as_ref().unwrap().end.is_none() {
            press(&mut app, "\u{1b}");
        }
    }
    assert_eq!(app.tree().all(), 640, "what was found stays");
    let mut update = press(&mut app, ":find-node nothing\n");
    update = answer(&mut app, &update, children(&many));
    while let Some(wish) = wished(&update) {
        update = answer(&mut app, &update, TreeAnswer::Stats(vec![None; paths(&wish).len()]));
    }
    let search = app.tree().search.as_ref().unwrap();
    assert_eq!((search.visited, search.end), (200_000, Some(SearchEnd::Visited)));
}

#[test]
fn children_of_an_unknown_lock_offer_a_recipe() {
    let (mut app, update) = opened(&["ticket-0000000001", "ticket-0000000002"]);
    answer(&mut app, &update, TreeAnswer::Stats(vec![Some(child_stat(0, None)); 2]));
    let lines = app.tree().suggestion().unwrap();
    assert!(lines.contains(&"pattern = \"ticket-{sequence}\"".to_owned()), "{lines:?}");
    assert!(lines.contains(&"persistent = true".to_owned()), "{lines:?}");
    let (app, _) = opened(&["config"]);
    assert_eq!(app.tree().suggestion(), None);
}

#[test]
fn a_recording_has_no_tree() {
    let mut app = Replayed::new(SIZE).app;
    let update = press(&mut app, "8");
    assert_eq!((app.screen(), update.effects.len()), (Screen::Tree, 0));
    assert_eq!(wished(&press(&mut app, ":find-node x\n")), None);
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);
    press(&mut app, "\u{1b}");
    assert_ne!(app.screen(), Screen::Tree);
}

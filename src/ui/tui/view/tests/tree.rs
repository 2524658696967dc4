//! The tree of nodes.

use super::{picture, show, show_once};
use crate::tui::app::TreeAnswer;
use crate::tui::testing::recording::Replayed;
use crate::tui::testing::tree::{answer, child_stat, children, in_tree};
use crate::tui::testing::{live, press};

#[test]
fn tree() {
    show("tree", in_tree);
}

#[test]
fn a_tree_with_an_unknown_lock() {
    show_once("tree-recipe", |size| {
        let mut app = live(size);
        let update = press(&mut app, ":tree /apps/tickets\n");
        let update = answer(&mut app, &update, children(&["ticket-0000000007", "ticket-0000000008"]));
        answer(&mut app, &update, TreeAnswer::Stats(vec![Some(child_stat(0, None)); 2]));
        app
    });
}

#[test]
fn a_search_in_the_tree() {
    show_once("tree-find", |size| {
        let mut app = in_tree(size);
        let update = press(&mut app, ":find-node index|zone\n");
        let update = answer(&mut app, &update, children(&["a", "index|zone-0"]));
        answer(&mut app, &update, TreeAnswer::Stats(vec![Some(child_stat(1, None)), Some(child_stat(0, None))]));
        app
    });
}

#[test]
fn a_search_below_a_node_that_is_gone_says_that_it_could_not_search() {
    let mut app = in_tree((80, 24));
    let update = press(&mut app, ":find-node needle\n");
    answer(&mut app, &update, TreeAnswer::Children(vec![None]));
    let shown = picture(&app, (80, 24));
    assert!(shown.contains("Nothing was found in 0 nodes; 1 not searched: gone,"), "{shown}");
}

#[test]
fn a_tree_that_cannot_be_read() {
    show_once("tree-trouble", |size| {
        let mut app = live(size);
        let update = press(&mut app, "8");
        answer(&mut app, &update, TreeAnswer::Failed("The tree cannot be read: no server answers.".to_owned()));
        app
    });
}

#[test]
fn a_recording_has_no_tree() {
    show_once("tree-past", |size| {
        let mut replayed = Replayed::new(size);
        replayed.press("8");
        replayed.app
    });
}

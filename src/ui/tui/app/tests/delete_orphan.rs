//! Deleting a node that its client does not know of.

use super::SIZE;
use crate::tui::testing::deletions::deleting;
use crate::tui::testing::{NOW, ago, at, listed, press, seen};
use lockscope_live::admin::{Action, Confirmation};
use lockscope_model::diagnose::Unaware;

#[test]
fn an_orphan_can_be_deleted_but_its_client_is_not_asked_to_release() {
    let mut app = deleting(SIZE);
    let node = |number| format!("/locks/orphaned/_c_0000001b-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{number:010}");
    let nodes = [0, 1].map(|number| seen(&node(number), 1, ago(20), b""));
    app.update(at(NOW, [vec![listed("/locks/orphaned", 30)], nodes.into()].concat()), NOW);
    press(&mut app, ":lock /locks/orphaned\nx");
    let deletion = app.deletion().unwrap_or_else(|| panic!("{:?}", app.notice()));
    let plan = deletion.plan();
    assert_eq!((plan.nodes()[0].unaware, deletion.can_turn()), (Some(Unaware::OfNode), false));
    assert_eq!(plan.confirmation(), Confirmation::SequenceNumber("0".to_owned()));
    press(&mut app, "r");
    assert_eq!(app.deletion().map(|deletion| deletion.plan().action()), Some(Action::Delete));
}

//! Deleting: the permission, the questions, the keys that confirm, and what cannot be confirmed.

use super::{SIZE, later, lost};
use crate::tui::app::{App, Effect, Event, Key, Screen, Settings, Update};
use crate::tui::testing::deletions::{confirmed, deleting, done, may_delete, told, with};
use crate::tui::testing::{NOW, ago, at, curator, gone, listed, live, path, press, seen};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::{Action, Confirmation, Ending, Permitted, RecreationGuard};
use lockscope_model::queue::Change;

fn key(app: &mut App, key: Key) -> Update {
    app.update(Event::Key(key), app.clock())
}

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

fn second(app: &mut App, now: Timestamp) {
    app.update(Event::Tick, now);
}

/// A console with the plan for the holder of `/locks/billing` open.
fn holders_plan() -> App {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\nx");
    assert!(app.deletion().is_some(), "{}", notice(&app));
    app
}

/// A console with the plan for the ghost that holds `/controller` open. A new node may get the same
/// name.
fn ghosts_plan() -> App {
    let mut app = deleting(SIZE);
    app.update(at(NOW, vec![told(&[1, 2], &[], later(1))]), later(1));
    press(&mut app, ":lock /controller\nx");
    assert!(app.deletion().is_some(), "{}", notice(&app));
    app
}

#[test]
fn without_write_permission_no_plan_opens_and_the_notice_names_the_option() {
    for keys in ["x", "\nx", "\n ", ":delete\n"] {
        let mut app = live(SIZE);
        let update = press(&mut app, keys);
        assert!(update.effects.is_empty() && app.deletion().is_none() && app.tags().is_empty());
        assert!(notice(&app).contains("--write") && notice(&app).contains("lockscope delete"), "{}", notice(&app));
    }
}

#[test]
fn without_an_audit_log_no_plan_opens() {
    let mut app = with(Settings { audit_log: None, ..may_delete() }, SIZE);
    press(&mut app, ":lock /locks/billing\nx");
    assert!(app.deletion().is_none() && notice(&app).contains("--audit-log"), "{}", notice(&app));
}

#[test]
fn only_y_confirms_the_deletion_of_a_ghost() {
    let mut app = ghosts_plan();
    for other in "nYqjk xX1r\n\t:/?7".chars() {
        let update = press(&mut app, &other.to_string());
        assert!(update.effects.is_empty() && app.deletion().is_some(), "{other:?}");
    }
    assert_eq!(app.screen(), Screen::Queue, "the keys did nothing else either");
    let update = press(&mut app, "y");
    let plan = confirmed(&update).expect("a plan");
    assert_eq!((plan.action(), plan.nodes().len()), (Action::Delete, 1));
    assert_eq!(plan.nodes()[0].path, path("/controller"));
    assert!(app.deletion().is_none() && app.working().is_some());
}

/// Reports the guard, and the permission that is missing, of the one node of the open plan.
fn found(app: &mut App, guard: RecreationGuard, lacks: Option<&'static str>) {
    let plan = app.deletion().expect("a plan").plan().guarded([Permitted { guard, lacks }]);
    app.update(Event::GuardsFound(Ok(Box::new(plan))), app.clock());
}

/// A console with the plan for the ghost open, before the guard of its node is known.
fn unknown_plan() -> App {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /controller\n");
    let update = key(&mut app, Key::Char('x'));
    assert!(matches!(&update.effects[..], [Effect::FindGuards(plan)] if plan.nodes().len() == 1), "{update:?}");
    app
}

#[test]
fn a_plan_cannot_be_confirmed_before_the_guard_of_its_node_is_known() {
    let mut app = unknown_plan();
    assert!(press(&mut app, "y\n").effects.is_empty());
    assert!(app.deletion().unwrap().is_finding_out());
    found(&mut app, RecreationGuard::OwnNode { data_length: 7 }, None);
    second(&mut app, later(2));
    assert!(!app.deletion().unwrap().is_finding_out(), "it is still known a second later");
    assert_eq!(
        confirmed(&press(&mut app, "y")).unwrap().nodes()[0].guard,
        Some(RecreationGuard::OwnNode { data_length: 7 })
    );
}

#[test]
fn a_node_without_a_guard_needs_its_name_typed() {
    let mut app = unknown_plan();
    found(&mut app, RecreationGuard::Unguarded, None);
    assert!(press(&mut app, "y\n").effects.is_empty() && app.deletion().is_some());
    assert!(confirmed(&press(&mut app, "controller\n")).is_some());
}

#[test]
fn a_plan_that_lacks_a_permission_says_so_and_cannot_be_confirmed() {
    let mut app = unknown_plan();
    found(&mut app, RecreationGuard::Unguarded, Some("the DELETE permission on its parent"));
    let why = app.deletion().unwrap().obstacle().expect("a missing permission");
    assert!(why.contains("DELETE permission") && why.contains("--auth-file"), "{why}");
    assert!(press(&mut app, "ycontroller\n").effects.is_empty());
    let mut app = unknown_plan();
    app.update(Event::GuardsFound(Err("The possible guards cannot be checked: no answer.".to_owned())), NOW);
    assert!(app.deletion().unwrap().obstacle().is_some_and(|why| why.contains("no answer")));
    assert!(press(&mut app, "y").effects.is_empty());
}

#[test]
fn esc_closes_the_plan_without_deleting() {
    let mut app = ghosts_plan();
    assert!(press(&mut app, "\u{1b}").effects.is_empty());
    assert!(app.deletion().is_none() && app.working().is_none());
    assert_eq!(app.screen(), Screen::Queue);
}

#[test]
fn only_its_number_and_enter_confirm_the_deletion_of_a_live_holder() {
    let mut app = holders_plan();
    for wrong in ["y\n", "\n", "4712\n", "471\n", "47111\n"] {
        assert!(press(&mut app, wrong).effects.is_empty(), "{wrong:?}");
        assert!(app.deletion().is_some(), "{wrong:?}");
        assert!(app.deletion().unwrap().refused().is_some_and(|why| why.contains("4711")), "{wrong:?}");
    }
    press(&mut app, "4712");
    key(&mut app, Key::Backspace);
    let update = press(&mut app, "1\n");
    assert_eq!(confirmed(&update).expect("a plan").nodes()[0].path.name().split('-').next_back(), Some("0000004711"));
}

#[test]
fn y_confirms_the_deletion_of_a_live_waiter() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\njx");
    assert!(app.deletion().unwrap().typed().is_none());
    assert!(confirmed(&press(&mut app, "y")).is_some());
}

#[test]
fn the_owner_of_a_curator_lock_can_be_asked_to_release_instead() {
    let mut app = holders_plan();
    assert!(app.deletion().unwrap().can_turn());
    press(&mut app, "47r");
    assert_eq!(app.deletion().unwrap().plan().action(), Action::Revoke);
    press(&mut app, "r");
    assert_eq!(app.deletion().unwrap().plan().action(), Action::Delete);
    assert_eq!(app.deletion().unwrap().typed().unwrap().text(), "", "what was typed for the other is gone");
    let update = press(&mut app, "ry");
    assert_eq!(confirmed(&update).unwrap().action(), Action::Revoke);
}

#[test]
fn an_expiring_node_counts_down_and_can_be_confirmed() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /apps/catalogue/index-rebuild\njx");
    let evidence = |app: &App| app.deletion().unwrap().plan().nodes()[0].evidence.clone();
    assert!(evidence(&app).contains("in 9s"), "{}", evidence(&app));
    assert!(app.ticks(), "it counts live");
    second(&mut app, later(2));
    assert!(evidence(&app).contains("in 7s"), "{}", evidence(&app));
    assert!(confirmed(&press(&mut app, "y")).is_some());
}

#[test]
fn a_node_that_vanishes_while_its_plan_is_open_cannot_be_confirmed() {
    let mut app = holders_plan();
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    let obstacle = app.deletion().unwrap().obstacle().expect("an obstacle");
    assert!(obstacle.contains("is gone"), "{obstacle}");
    assert!(app.deletion().unwrap().typed().is_none());
    assert!(press(&mut app, "4711\ny").effects.is_empty());
    press(&mut app, "\u{1b}");
    assert!(app.deletion().is_none());
}

#[test]
fn a_recreated_node_cannot_be_confirmed() {
    let mut app = ghosts_plan();
    let again = vec![Change::Deleted { path: path("/controller"), zxid: None }, seen("/controller", 9, NOW, b"")];
    app.update(at(later(1), again), later(1));
    let obstacle = app.deletion().unwrap().obstacle().expect("an obstacle");
    assert!(obstacle.contains("another node"), "{obstacle}");
    assert!(press(&mut app, "y").effects.is_empty());
}

#[test]
fn an_owner_that_comes_back_while_the_plan_is_open_needs_another_answer() {
    let mut app = ghosts_plan();
    app.update(at(later(2), vec![told(&[60], &[], later(2))]), later(2));
    assert!(confirmed(&press(&mut app, "y")).is_none(), "the answer was to an older plan");
    assert!(app.deletion().unwrap().has_changed());
    let typed = app.deletion().unwrap().typed().expect("the name must be typed now");
    assert_eq!(typed.text(), "");
    second(&mut app, later(4));
    assert!(confirmed(&press(&mut app, "controller\n")).is_some());
}

#[test]
fn an_answer_right_after_the_facts_changed_is_refused() {
    let mut app = ghosts_plan();
    app.update(at(later(2), vec![told(&[], &[(60, 20)], later(2))]), later(2));
    second(&mut app, later(2));
    assert!(press(&mut app, "y").effects.is_empty());
    assert!(app.deletion().unwrap().refused().is_some_and(|why| why.contains("look again")));
    second(&mut app, later(4));
    assert!(confirmed(&press(&mut app, "y")).is_some());
}

#[test]
fn nothing_can_be_confirmed_without_a_connection() {
    let mut app = ghosts_plan();
    app.update(at(later(1), vec![lost()]), later(1));
    assert!(app.deletion().unwrap().obstacle().is_some_and(|why| why.contains("connection")));
    assert!(press(&mut app, "y").effects.is_empty());
    let mut cut = deleting(SIZE);
    cut.update(at(later(1), vec![lost()]), later(1));
    press(&mut cut, ":lock /locks/billing\nx");
    assert!(cut.deletion().is_none() && notice(&cut).contains("connection"), "{}", notice(&cut));
}

#[test]
fn nothing_is_deleted_on_a_paused_screen() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\npx");
    assert!(app.deletion().is_none() && notice(&app).contains("Paused data may be stale"), "{}", notice(&app));
}

#[test]
fn y_confirms_the_deletion_of_an_empty_lock_parent_but_not_of_a_full_one() {
    let mut app = deleting(SIZE);
    let used = vec![listed("/locks/empty", 1), curator("/locks/empty", 0, 5, 0), gone("/locks/empty", 0, 5)];
    app.update(at(NOW, used), NOW);
    press(&mut app, "/locks/empty\nx");
    let plan = app.deletion().unwrap_or_else(|| panic!("{}", notice(&app))).plan();
    assert_eq!(plan.nodes()[0].path, path("/locks/empty"));
    app.update(at(later(1), vec![curator("/locks/empty", 1, 5, 0)]), later(1));
    assert!(app.deletion().unwrap().obstacle().is_some_and(|why| why.contains("contenders")));
    assert!(press(&mut app, "y").effects.is_empty());
    app.update(at(later(2), vec![gone("/locks/empty", 1, 5)]), later(2));
    second(&mut app, later(3));
    assert!(confirmed(&press(&mut app, "y")).is_some());
    let mut full = deleting(SIZE);
    press(&mut full, "/billing\nx");
    assert!(full.deletion().is_none() && notice(&full).contains("recursively"), "{}", notice(&full));
}

#[test]
fn one_answer_confirms_all_tagged_contenders() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\njj   ");
    assert_eq!(app.tags().len(), 3);
    press(&mut app, "kk ");
    assert_eq!(app.tags().len(), 2, "a tag is taken away as it was given");
    app.update(at(later(1), vec![gone("/locks/billing", 4713, 0x1d)]), later(1));
    assert_eq!(app.tags().len(), 1, "who is gone has no tag");
    press(&mut app, "jj x");
    assert_eq!(app.deletion().unwrap().plan().nodes().len(), 2);
    assert_eq!(confirmed(&press(&mut app, "y")).unwrap().nodes().len(), 2);
    assert!(app.tags().is_empty());
}

#[test]
fn a_live_holder_among_the_tagged_needs_its_number() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\n  x");
    assert!(press(&mut app, "y").effects.is_empty());
    assert_eq!(confirmed(&press(&mut app, "4711\n")).unwrap().nodes().len(), 2);
}

#[test]
fn opening_another_queue_or_pressing_esc_clears_the_tags() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\n  ");
    press(&mut app, ":lock /locks/orders\n");
    assert!(app.tags().is_empty());
    press(&mut app, " \u{1b}");
    assert!(app.tags().is_empty());
    assert_eq!(app.screen(), Screen::Queue, "esc takes the tags first");
}

#[test]
fn no_plan_opens_during_a_deletion() {
    let mut app = ghosts_plan();
    let update = press(&mut app, "y");
    let plan = confirmed(&update).unwrap().clone();
    press(&mut app, ":lock /locks/billing\nx");
    assert!(app.deletion().is_none() && notice(&app).contains("A deletion is running"), "{}", notice(&app));
    app.update(done(&plan, &Ending::Deleted { window: false }), NOW);
    assert!(app.working().is_none());
    press(&mut app, "x");
    assert!(app.deletion().is_some());
}

#[test]
fn the_footer_and_the_timeline_show_the_outcome() {
    for (ending, event, failed) in [
        (Ending::Deleted { window: false }, "deleted", false),
        (Ending::Gone, "not-deleted", true),
        (Ending::NotKnown { action: Action::Delete, why: "the session ended".to_owned() }, "not-known", true),
    ] {
        let mut app = ghosts_plan();
        let update = press(&mut app, "y");
        let plan = confirmed(&update).unwrap().clone();
        app.update(done(&plan, &ending), later(2));
        let told = app.notice().expect("a notice");
        assert!(
            told.text.starts_with("/controller") && (told.sign != crate::tui::page::Sign::Done) == failed,
            "{told:?}"
        );
        let timeline = app.world().timeline();
        let last = timeline.iter().next_back().expect("a timeline entry");
        assert_eq!(last.event(), event);
        assert_eq!(last.lock().map(|lock| &lock.path), Some(&path("/controller")));
    }
}

#[test]
fn a_deletion_that_was_not_tried_says_why() {
    let mut app = ghosts_plan();
    press(&mut app, "y");
    app.update(Event::DeletionDone(Err("Nothing was done: the audit log cannot be written.".to_owned())), NOW);
    assert!(
        app.notice()
            .is_some_and(|notice| notice.sign != crate::tui::page::Sign::Done && notice.text.contains("audit log"))
    );
    assert!(app.working().is_none());
}

#[test]
fn the_notice_counts_several_deletions_and_names_the_first_that_failed() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\njj  x");
    let update = press(&mut app, "y");
    let plan = confirmed(&update).unwrap().clone();
    let Event::DeletionDone(Ok(mut outcomes)) = done(&plan, &Ending::Deleted { window: false }) else { panic!() };
    outcomes[1].ending = Ending::Gone;
    app.update(Event::DeletionDone(Ok(outcomes)), NOW);
    let said = notice(&app);
    assert!(
        said.starts_with("1 of 2 nodes are deleted. /locks/billing/")
            && said.contains("4714 of 10.0.4.30:51586 was gone"),
        "{said}"
    );
}

#[test]
fn after_a_deletion_the_footer_names_the_node_and_who_holds_the_lock_now() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/billing\nx");
    let plan = confirmed(&press(&mut app, "4711\n")).expect("a plan").clone();
    app.update(done(&plan, &Ending::Deleted { window: false }), later(2));
    assert!(notice(&app).ends_with("4711 of 10.0.4.27:51586 is deleted."), "{}", notice(&app));
    app.update(at(later(2), vec![gone("/locks/billing", 4711, 0x1b)]), later(2));
    let said = notice(&app);
    assert!(said.contains(" is deleted. It is now held by "), "{said}");
    app.update(at(later(3), vec![gone("/locks/billing", 4712, 0x1c)]), later(3));
    assert!(notice(&app).matches("It is now held by").count() == 1, "{}", notice(&app));
}

#[test]
fn in_a_terminal_that_is_too_small_nothing_can_be_confirmed() {
    let mut app = ghosts_plan();
    app.update(Event::Resize(30, 10), NOW);
    assert!(press(&mut app, "y").effects.is_empty());
    app.update(Event::Resize(80, 24), NOW);
    assert!(confirmed(&press(&mut app, "y")).is_some());
    let mut left = ghosts_plan();
    left.update(Event::Resize(30, 10), NOW);
    press(&mut left, "\u{1b}");
    assert!(left.deletion().is_none());
}

#[test]
fn the_mouse_does_nothing_while_a_plan_is_open() {
    use crate::tui::app::Mouse;
    let mut app = ghosts_plan();
    for mouse in [Mouse::Press(3, 3), Mouse::Press(40, 22), Mouse::WheelDown] {
        assert_eq!(app.update(Event::Mouse(mouse), NOW), Update::default());
    }
    assert!(app.deletion().is_some());
}

#[test]
fn y_confirms_the_deletion_of_an_ownerless_contender() {
    let mut app = deleting(SIZE);
    press(&mut app, ":lock /locks/leftover\n");
    press(&mut app, "x");
    assert_eq!(app.deletion().unwrap().plan().nodes()[0].liveness.id(), "ownerless");
    assert!(confirmed(&press(&mut app, "y")).is_some());
}

/// A console with 200 nodes without an owner in three locks, behind a live holder each.
fn littered() -> App {
    let mut app = deleting(SIZE);
    let mut changes = Vec::new();
    for lock in 0..3 {
        let parent = format!("/litter/l{lock}");
        changes.push(listed(&parent, 80));
        for number in 0..67 {
            let owner = i64::from(number == 0);
            let node = seen(&format!("{parent}/lock-{number:010}"), owner, ago(3_600), b"host");
            changes.push(match node {
                Change::Seen { path, mut node } if owner == 0 => {
                    node.stat.ephemeral_owner = None;
                    Change::Seen { path, node }
                }
                holder => holder,
            });
        }
    }
    app.update(at(NOW, changes), NOW);
    app
}

#[test]
fn words_tag_the_contenders_of_all_listed_locks_and_a_number_confirms_so_many() {
    let mut app = littered();
    press(&mut app, "/litter\n:tag ownerless\n");
    assert_eq!(app.tags().len(), 198, "{}", notice(&app));
    assert!(notice(&app).starts_with("198 contenders are tagged"), "{}", notice(&app));
    press(&mut app, ":lock /litter/l1\n");
    assert_eq!(app.tags().len(), 198, "a look at a queue keeps them");
    press(&mut app, "x");
    let plan = app.deletion().unwrap().plan();
    assert_eq!((plan.nodes().len(), plan.confirmation()), (198, Confirmation::NodeCount(198)));
    assert!(press(&mut app, "y\n").effects.is_empty());
    assert_eq!(confirmed(&press(&mut app, "198\n")).unwrap().nodes().len(), 198);
    app.update(Event::DeletionProgressed(37), NOW);
    assert!(app.badges().iter().any(|(_, text)| text == "deleting 198 nodes, 37 done"), "{:?}", app.badges());
}

#[test]
fn words_on_a_queue_tag_only_there_and_names_of_findings_are_words() {
    let mut app = littered();
    press(&mut app, ":lock /litter/l1\n:tag ownerless waits\n");
    assert_eq!(app.tags().len(), 66, "{}", notice(&app));
    press(&mut app, "\u{1b}");
    assert!(app.tags().is_empty());
    press(&mut app, ":tag nothing-like-this\n");
    assert!(app.tags().is_empty() && notice(&app).contains("nothing is tagged"), "{}", notice(&app));
    press(&mut app, "\u{1b}:lock /locks/leftover\n:tag persistent-contender\n");
    assert_eq!(app.tags().len(), 1, "{}", notice(&app));
}

#[test]
fn a_range_tags_all_from_its_beginning_to_the_selected_contender() {
    let mut app = littered();
    press(&mut app, ":lock /litter/l1\njVG ");
    assert_eq!(app.tags().len(), 66, "{}", notice(&app));
    press(&mut app, "\u{1b}GVkkk ");
    assert_eq!(app.tags().len(), 4, "upwards too");
    press(&mut app, "V\u{1b}");
    assert_eq!(app.tags().len(), 4, "the first esc ends the range only");
}

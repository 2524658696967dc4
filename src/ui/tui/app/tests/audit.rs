//! The audit log on the screen.

use super::SIZE;
use crate::tui::app::{App, AuditReading, Effect, Event, Pane, Rows, Screen, Settings, Update};
use crate::tui::testing::deletions::{confirmed, deleting, done, entry, log, may_delete, with};
use crate::tui::testing::{NOW, press};
use lockscope_live::admin::Ending;

fn opened() -> App {
    let mut app = deleting(SIZE);
    assert_eq!(press(&mut app, "7").effects, [Effect::ReadAudit]);
    app.update(
        log(vec![
            entry(1, "/locks/a/lock-0000000001", "ghost", Some(("deleted", "it is deleted"))),
            entry(2, "/locks/b/lock-0000000002", "live", Some(("gone", "it was gone"))),
            entry(3, "/locks/c/lock-0000000003", "ownerless", None),
        ]),
        NOW,
    );
    app
}

fn selected(app: &App) -> &str {
    &app.selected_entry().expect("an entry").subject.path
}

#[test]
fn opening_audit_reads_the_log_and_selects_the_newest_entry() {
    let app = opened();
    assert_eq!((app.screen(), app.audit().len()), (Screen::Audit, 3));
    assert_eq!(selected(&app), "/locks/c/lock-0000000003");
}

#[test]
fn a_log_that_was_opened_is_read_again_after_each_deletion() {
    let mut app = opened();
    press(&mut app, ":lock /locks/billing\njx");
    let update = press(&mut app, "y");
    let plan = confirmed(&update).unwrap().clone();
    let done = done(&plan, &Ending::Deleted { window: false });
    assert_eq!(app.update(done.clone(), NOW).effects, [Effect::ReadAudit]);
    let reads = |update: &Update| update.effects.contains(&Effect::ReadAudit);
    assert!(!reads(&press(&mut app, "7")), "it is being read already");
    assert_eq!(app.update(log(Vec::new()), NOW).effects, [Effect::ReadAudit], "and once more, for what came meanwhile");
    assert_eq!(app.update(log(Vec::new()), NOW).effects, []);
    let mut never = deleting(SIZE);
    press(&mut never, ":lock /locks/billing\njx");
    press(&mut never, "y");
    assert_eq!(never.update(done, NOW).effects, [], "nobody looked at it");
}

#[test]
fn the_selection_stays_with_its_entry_when_new_ones_come() {
    let mut app = opened();
    press(&mut app, "k");
    let mut entries = app.audit().history().entries.clone();
    entries.push(entry(4, "/locks/d/lock-0000000004", "ghost", None));
    entries.remove(0);
    app.update(log(entries), NOW);
    assert_eq!(selected(&app), "/locks/b/lock-0000000002");
    press(&mut app, "G");
    assert_eq!(selected(&app), "/locks/d/lock-0000000004");
}

#[test]
fn entries_are_filtered_by_node_user_ensemble_and_outcome() {
    for (text, left) in [
        ("locks/b", 1),
        ("GHOST", 1),
        ("ops1", 3),
        ("no outcome", 1),
        ("was gone", 1),
        ("zk2:2181/prod", 3),
        ("nobody", 0),
    ] {
        let mut app = opened();
        press(&mut app, &format!("/{text}\n"));
        assert_eq!(app.audit().len(), left, "{text}");
        press(&mut app, "\u{1b}");
        assert_eq!((app.audit().len(), app.screen()), (3, Screen::Audit), "{text}");
    }
}

#[test]
fn copying_takes_the_path_and_in_the_details_the_owner() {
    let mut app = opened();
    assert_eq!(press(&mut app, "y").effects, [Effect::Copy("/locks/c/lock-0000000003".to_owned())]);
    assert_eq!(press(&mut app, "\ny").effects, [Effect::Copy("0x1000a2b3c40001b".to_owned())]);
    assert_eq!(app.pane(), Pane::Details);
    press(&mut app, "\u{1b}");
    assert_eq!((app.screen(), app.pane()), (Screen::Audit, Pane::List));
}

#[test]
fn a_failed_read_keeps_the_entries_of_the_last_one() {
    let mut app = opened();
    let told = AuditReading { history: Err("The audit log cannot be read: no.".to_owned()), unwritable: None };
    app.update(Event::AuditRead(Box::new(told)), NOW);
    assert_eq!((app.audit().len(), app.audit().failed()), (3, Some("The audit log cannot be read: no.")));
}

#[test]
fn nothing_is_read_without_an_audit_log() {
    let mut app = with(Settings { audit_log: None, ..may_delete() }, SIZE);
    assert_eq!(press(&mut app, "7").effects, []);
    assert_eq!(app.screen(), Screen::Audit);
}

//! Snapshots of deletions and of the audit log.

use proptest::prelude::*;

use super::{SIZES, after, picture, second, show, show_once};
use crate::tui::app::{App, AuditReading, Event, Settings};
use crate::tui::testing::deletions::{confirmed, deleting, done, entry, log, may_delete, told, with};
use crate::tui::testing::{NOW, at, deleted, gone, path, press, seen};
use lockscope_live::admin::audit::AuditHistory;
use lockscope_live::admin::{Action, Ending, Permitted, RecreationGuard};

fn holder(size: (u16, u16)) -> App {
    after(deleting(size), ":lock /locks/billing\nx")
}

fn ghost(size: (u16, u16)) -> App {
    after(deleting(size), ":lock /controller\nx")
}

fn tagged(size: (u16, u16)) -> App {
    after(deleting(size), ":lock /locks/billing\nj  j ")
}

/// Returns a console after a deletion with this ending.
fn ended(size: (u16, u16), ending: &Ending) -> App {
    let mut app = ghost(size);
    let update = press(&mut app, "y");
    let plan = confirmed(&update).unwrap().clone();
    app.update(done(&plan, ending), second(2));
    app
}

fn audit(size: (u16, u16)) -> App {
    let mut app = after(deleting(size), "7");
    let node =
        |number: u32| format!("/locks/billing/_c_{number:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-{:010}", 4700 + number);
    let told = |number, sentence: &str| format!("{} {sentence}", node(number));
    let mut asked = entry(3, &node(3), "live", Some(("asked", &told(3, "is marked: its owner is asked to release"))));
    asked.action = "revoke".to_owned();
    app.update(
        log(vec![
            entry(1, &node(1), "ghost", Some(("deleted", &told(1, "is deleted")))),
            entry(
                2,
                "/controller",
                "expiring",
                Some(("changed-hands", "/controller changed hands: nothing was deleted")),
            ),
            asked,
            entry(4, &node(4), "ownerless", Some(("not-known", &told(4, "may be deleted or not")))),
            entry(5, "/locks/\u{1b}[31mred", "ghost", None),
        ]),
        NOW,
    );
    app
}

#[test]
fn the_plan_of_a_deletion_matches_its_snapshots() {
    show("delete-holder", |size| after(holder(size), "47"));
    show_once("delete-holder-refused", |size| after(holder(size), "12\n"));
    show_once("delete-ghost", ghost);
    show_once("delete-expiring", |size| after(deleting(size), ":lock /apps/catalogue/index-rebuild\njx"));
    show_once("delete-revoke", |size| after(holder(size), "r"));
    show_once("delete-parent-locks", |size| {
        let mut app = deleting(size);
        let used = vec![
            crate::tui::testing::listed("/locks/empty", 1),
            crate::tui::testing::curator("/locks/empty", 0, 5, 0),
            gone("/locks/empty", 0, 5),
        ];
        app.update(at(NOW, used), NOW);
        after(app, "/locks/empty\nx")
    });
    show_once("delete-tagged", tagged);
    show("delete-several", |size| after(tagged(size), "x"));
    show_once("delete-several-scrolled", |size| {
        let mut app = after(tagged(size), "   x");
        app.update(Event::Key(crate::tui::app::Key::PageDown), NOW);
        app
    });
}

#[test]
fn an_unguarded_plan_matches_its_snapshots() {
    let found = |size, guard, lacks| {
        let mut app = ghost(size);
        let plan = app.deletion().unwrap().plan().guarded([Permitted { guard, lacks }]);
        app.update(Event::GuardsFound(Ok(plan.into())), NOW);
        app
    };
    show_once("delete-finding-out", |size| {
        let mut app = after(deleting(size), ":lock /controller\n");
        app.update(Event::Key(crate::tui::app::Key::Char('x')), NOW);
        app
    });
    show_once("delete-unguarded", |size| after(found(size, RecreationGuard::Unguarded, None), "cont"));
    show_once("delete-lacks", |size| {
        found(size, RecreationGuard::OwnNode { data_length: 70_000 }, Some("the DELETE permission on its parent"))
    });
}

#[test]
fn an_outdated_plan_matches_its_snapshots() {
    show_once("delete-gone", |size| {
        let mut app = holder(size);
        app.update(at(second(1), vec![gone("/locks/billing", 4711, 0x1b)]), second(1));
        app
    });
    show_once("delete-changed-hands", |size| {
        let mut app = ghost(size);
        let again = vec![deleted(&path("/controller")), seen("/controller", 9, NOW, b"")];
        app.update(at(second(1), again), second(1));
        app
    });
    show_once("delete-came-back", |size| {
        let mut app = ghost(size);
        app.update(at(second(2), vec![told(&[60], &[], second(2))]), second(2));
        app.update(Event::Tick, second(2));
        app
    });
}

#[test]
fn the_outcome_of_a_deletion_matches_its_snapshots() {
    show_once("delete-under-way", |size| after(ghost(size), "y"));
    show_once("delete-done", |size| ended(size, &Ending::Deleted { window: false }));
    show_once("delete-timeline", |size| {
        let why = "the servers gave no answer in time".to_owned();
        after(ended(size, &Ending::NotKnown { action: Action::Delete, why }), "6")
    });
    show_once("delete-failed", |size| {
        let mut app = after(ghost(size), "y");
        let why = "Nothing was done: the audit log /home/ann/.local/state/lockscope/audit.jsonl cannot be written: Permission \
                   denied (os error 13); nothing is changed without it: make it writable, or name another one with --audit-log."
            .to_owned();
        app.update(Event::DeletionDone(Err(why)), second(1));
        app
    });
}

#[test]
fn the_audit_log_matches_its_snapshots() {
    show("audit", audit);
    show("audit-details", |size| after(audit(size), "k\n"));
    show_once("audit-filtered", |size| after(audit(size), "/ghost\n"));
    show_once("audit-empty", |size| {
        let mut app = after(deleting(size), "7");
        app.update(log(Vec::new()), NOW);
        app
    });
    show_once("audit-trouble", |size| {
        let mut app = audit(size);
        let why = "Nothing can be deleted: the audit log /home/ann/.local/state/lockscope/audit.jsonl cannot be written: Permission \
                   denied (os error 13); nothing is changed without it: make it writable, or name another one with --audit-log.";
        let history = AuditHistory { damaged: 1, cut: true, ..app.audit().history().clone() };
        let told = AuditReading { history: Ok(history), unwritable: Some(why.to_owned()) };
        app.update(Event::AuditRead(Box::new(told)), NOW);
        app
    });
    show_once("audit-unreadable", |size| {
        let mut app = after(deleting(size), "7");
        let why = "The audit log cannot be read: Permission denied (os error 13); make it readable, or name another one with \
                   --audit-log.";
        app.update(Event::AuditRead(Box::new(AuditReading { history: Err(why.to_owned()), unwritable: None })), NOW);
        app
    });
}

#[test]
fn ascii_plans_match_their_snapshots() {
    let ascii = |size| with(Settings { ascii: true, connect: "zk1".to_owned(), ..may_delete() }, size);
    show_once("ascii-delete", |size| after(ascii(size), ":lock /locks/billing\n xk47"));
    for size in SIZES {
        for keys in [":lock /locks/billing\nx", ":lock /controller\nx", ":lock /locks/billing\nj  x", "7"] {
            let shown = picture(&after(ascii(size), keys), size);
            assert!(shown.is_ascii(), "{keys:?}: {shown}");
        }
    }
}

#[test]
fn the_possible_answers_are_always_visible() {
    for size in [(60, 16), (80, 24), (100, 18), (160, 45)] {
        for keys in [":lock /locks/billing\nx", ":lock /locks/billing\n     x", ":lock /controller\nx"] {
            let shown = picture(&after(deleting(size), keys), size);
            let asks = ["y deletes it", "type 4711 and Enter"].iter().any(|ask| shown.contains(ask));
            assert!(asks && shown.contains("Esc leave"), "{size:?} {keys:?}:\n{shown}");
        }
    }
}

#[test]
fn no_control_character_reaches_the_terminal_from_a_plan_or_the_log() {
    for size in SIZES {
        let mut hostile = super::hostile(size);
        press(&mut hostile, "7");
        hostile.update(log(vec![entry(1, "/a\u{1b}[2J", "gh\u{9b}ost", Some(("de\rleted", "x\u{202e}y")))]), NOW);
        for keys in ["", "\n"] {
            let shown = picture(&after(audit(size), keys), size);
            assert!(!shown.contains(|letter: char| letter != '\n' && letter.is_control()), "{shown}");
        }
        let shown = picture(&hostile, size);
        assert!(
            !shown.contains(|letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}')),
            "{shown}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_size_and_no_keys_bring_a_plan_or_the_log_down(
        size in (0u16..200, 0u16..60),
        told in (0u16..200, 0u16..60),
        keys in prop::collection::vec(prop::sample::select("12667x xx yr47\n\t\u{1b}jkGghl/sp1".chars().collect::<Vec<_>>()), 0..24),
    ) {
        let mut app = deleting(told);
        for key in keys {
            let update = press(&mut app, &key.to_string());
            if let Some(plan) = confirmed(&update).cloned() {
                app.update(done(&plan, &Ending::Gone), NOW);
            }
            picture(&app, size);
        }
        app.update(log(vec![entry(1, "/a", "ghost", None)]), NOW);
        app.update(Event::Resize(size.0, size.1), NOW);
        picture(&app, size);
    }
}

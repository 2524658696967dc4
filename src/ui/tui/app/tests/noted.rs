//! Mutes of findings, the maintenance of servers, and what is new to the person.

use std::sync::Arc;
use std::time::Duration;

use super::{SIZE, later};
use crate::tui::app::{App, Effect, Event, Update};
use crate::tui::testing::ensembles::{orphan, three};
use crate::tui::testing::recording::Replayed;
use crate::tui::testing::{NOW, at, live, press};
use lockscope_live::admin::notebook::{FollowedNotes, KnownFinding, NoteChange};
use lockscope_model::diagnose::Severity;
use lockscope_model::queue::{Mute, MuteScope, MutedFinding, Mutes};

/// A console with a lock that has one finding, a warning, and another finding.
fn troubled() -> App {
    let mut app = live(SIZE);
    app.update(at(NOW, vec![orphan("/locks/a-first")]), NOW);
    app.update(Event::Tick, later(2));
    app
}

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

/// Returns the note that is to be kept, and for which ensemble.
fn noted(update: Update) -> (String, NoteChange) {
    let note = update.effects.into_iter().find_map(|effect| match effect {
        Effect::Note { connect, change, said: Some(_) } => Some((connect, change)),
        _ => None,
    });
    note.expect("a note")
}

/// Keeps a note as the notebook does, and lets the console follow it.
fn keep(app: &mut App, mutes: Vec<Mute>) {
    let mutes = Mutes::new(mutes.into_iter().map(|mute| Arc::new(Mute { by: "ann@host".into(), ..mute })));
    let notes = FollowedNotes { mutes: Arc::new(mutes), ..FollowedNotes::default() };
    let now = app.clock();
    app.update(Event::NotesFollowed(Box::new(notes)), now);
}

fn mutes(change: NoteChange) -> Vec<Mute> {
    match change {
        NoteChange::Mute(mutes) => mutes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_muted_finding_is_in_no_count_and_stands_on_its_lock() {
    let mut app = troubled();
    let before = app.world().troubled().1;
    press(&mut app, "/a-first\na");
    assert_eq!(app.prompt().map(|prompt| prompt.text().to_owned()).as_deref(), Some("mute 2h "));
    let (connect, change) = noted(press(&mut app, "on it\n"));
    let wished = mutes(change);
    assert_eq!(connect, app.settings().connect);
    assert_eq!((wished.len(), &*wished[0].note), (1, "on it"));
    let until = wished[0].until.expect("a time");
    assert_eq!(until.since(app.clock()), Duration::from_secs(2 * 3_600));
    assert_eq!(app.world().troubled().1, before, "a wish is no mute");

    keep(&mut app, wished);
    assert_eq!(app.world().troubled().1, before - 1);
    let muted: Vec<_> = app.world().diagnosis().findings().filter(|finding| finding.muted.is_some()).collect();
    assert_eq!((muted.len(), muted[0].lock.path.as_str()), (1, "/locks/a-first"));
    assert_eq!(app.world().diagnosis().muted_count(), 1);
    press(&mut app, "a");
    assert_eq!(app.prompt().map(|prompt| prompt.text().to_owned()).as_deref(), Some("unmute"));
    let (_, change) = noted(press(&mut app, "\n"));
    assert!(matches!(change, NoteChange::Unmute(scopes) if scopes.len() == 1));
    keep(&mut app, Vec::new());
    assert_eq!(app.world().troubled().1, before);
}

#[test]
fn a_mute_ends_with_its_time_and_does_not_cover_what_gets_worse() {
    let mut app = troubled();
    press(&mut app, "/a-first\n");
    let (_, change) = noted(press(&mut app, ":mute 30m\n"));
    keep(&mut app, mutes(change.clone()));
    assert_eq!(app.world().diagnosis().muted_count(), 1);
    let minutes = |minutes: u64| later(2 + minutes * 60);
    for (at, expected) in [(29, 1), (30, 0)] {
        app.update(Event::Tick, minutes(at));
        app.update(Event::Tick, minutes(at).plus(Duration::from_secs(1)));
        assert_eq!(app.world().diagnosis().muted_count(), expected, "{at}");
    }
    let mut app = troubled();
    let mut mild = mutes(change);
    let MuteScope::Finding(finding) = &mut mild[0].scope else { panic!("of a finding") };
    finding.severity = Severity::Info.id().into();
    keep(&mut app, mild);
    assert_eq!(app.world().diagnosis().muted_count(), 0);
}

#[test]
fn what_is_no_time_and_what_is_no_finding_is_refused_with_what_to_do() {
    let mut app = troubled();
    press(&mut app, "/a-first\n");
    for (keys, why) in [
        (":mute soon\n", "`soon` is no time: write one as in 30m or 2h, or `cleared`; then a note."),
        (":mute 40d\n", "That is too long: 30 days at most. [[mute]] in the config file plans what is later."),
        (":maintenance cleared\n", "`cleared` is no time: write one as in 30m or 2h, or `off`; then a note."),
        (":unmute\n", "No finding of the selected row is muted."),
    ] {
        assert_eq!(press(&mut app, keys).effects, [], "{keys}");
        assert_eq!(notice(&app), why);
    }
    let (_, change) = noted(press(&mut app, ":mute cleared\n"));
    assert_eq!(mutes(change)[0].until, None);
    let mut past = Replayed::new(SIZE).app;
    assert_eq!(press(&mut past, ":mute 2h\n").effects, [], "the past is what it was");
}

#[test]
fn a_maintenance_of_a_listed_ensemble_is_noted_for_that_one() {
    let mut app = three(SIZE);
    let (connect, change) = noted(press(&mut app, ":maintenance 30m new disks\n"));
    assert_eq!(connect, "zk1,zk2,zk3:2181/prod");
    assert_eq!(mutes(change)[0].scope, MuteScope::Maintenance);
    let (_, change) = noted(press(&mut app, ":maintenance off\n"));
    assert_eq!(change, NoteChange::Unmute(vec![MuteScope::Maintenance]));
}

#[test]
fn what_planned_work_mutes_is_ended_in_the_config_file() {
    let mut app = troubled();
    press(&mut app, "/a-first\n");
    let path = lockscope_base::recipe::PathPattern::new("/locks/*").expect("a pattern");
    let scope = MuteScope::Locks { path, codes: Vec::new() };
    let (since, until, note, by) = (NOW, Some(later(9_999)), "release 42".into(), "".into());
    keep(&mut app, vec![Mute { scope, since, until, note, by }]);
    assert_eq!(press(&mut app, ":unmute\n").effects, []);
    assert_eq!(notice(&app), "It is muted by [[mute]] in the config file (release 42): change it there.");
}

#[test]
fn a_finding_that_the_notes_know_says_since_when() {
    let mut app = troubled();
    press(&mut app, "/a-first\n\n");
    let diagnosis = |app: &App| {
        let lines = app.pages().into_iter().flat_map(|shown| shown.page.lines);
        lines.map(|line| line.text).collect::<Vec<_>>().join("\n")
    };
    assert!(!diagnosis(&app).contains("known since"));
    let finding: MutedFinding = app.world().diagnosis().findings().next().expect("a finding").to_muted();
    let findings = app.world().diagnosis().findings().map(|known| KnownFinding {
        finding: known.to_muted(),
        since: NOW.minus(Duration::from_secs(3_600)),
        seen: true,
    });
    let notes = FollowedNotes { findings: findings.collect(), ..FollowedNotes::default() };
    app.update(Event::NotesFollowed(Box::new(notes)), later(3));
    assert!(diagnosis(&app).contains("known since 2024-"), "{} {finding:?}", diagnosis(&app));
}

//! Several ensembles in one console.

use crate::tui::app::tests::SIZE;
use crate::tui::app::{App, Effect, EnsembleReport, Event, Filter, FoundLocks, WaitKind, WatchedEnsembles};
use crate::tui::screen::Screen;
use crate::tui::testing::ensembles::{of_several, orphan, report, reports, three, unknown};
use crate::tui::testing::{NOW, ago, at, live, press, seen};
use lockscope_model::diagnose::{Code, CrossWaitsByEnsemble, Diagnosis, Severity, Thresholds};
use lockscope_model::queue::{Change, LockTable, SameClient};
use lockscope_past::record::LiveState;

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

/// A console in which `prod-eu` is open, with one orphan.
fn in_prod_eu() -> App {
    opened_from(three(SIZE))
}

/// The next console, in which `prod-eu` is open.
fn opened_from(before: App) -> App {
    opened_with(before, vec![orphan("/locks/billing")])
}

/// The next console, in which `prod-eu` is open with these nodes.
fn opened_with(mut before: App, nodes: Vec<Change>) -> App {
    let mut table = LockTable::new([]);
    crate::testing::reading(nodes).for_each(|change| drop(table.apply(change, NOW)));
    let mut live = LiveState::new(table, Thresholds::default());
    live.diagnose(NOW, None);
    let (ensembles, _) = before.take_ensembles().unwrap();
    App::new(of_several(Some("prod-eu")), SIZE, NOW).with_live(live, NOW).with_ensembles(ensembles)
}

#[test]
fn the_list_comes_first_and_enter_goes_into_the_worst_ensemble() {
    let mut app = three(SIZE);
    assert_eq!(app.screen(), Screen::Ensembles);
    assert_eq!(press(&mut app, "\n").effects, [Effect::GoToContext("prod-eu".to_owned())]);
    let mut app = three(SIZE);
    assert_eq!(press(&mut app, "jj\n").effects, [Effect::GoToContext("dev".to_owned())]);
}

#[test]
fn an_ensemble_shows_its_locks_at_once_and_the_next_key_the_diagnosis_of_the_worst() {
    let mut app = in_prod_eu();
    assert_eq!(app.screen(), Screen::Locks);
    assert!(app.is_live(), "nothing is read again");
    press(&mut app, "\n");
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(app.opened().map(ToString::to_string).as_deref(), Some("/locks/billing"));
}

#[test]
fn esc_leads_back_to_the_list_and_the_open_ensemble_stays_open() {
    let mut app = in_prod_eu();
    press(&mut app, "\n\u{1b}\u{1b}");
    assert_eq!(app.screen(), Screen::Ensembles);
    assert_eq!(app.ensembles().and_then(WatchedEnsembles::open).map(|name| &**name), Some("prod-eu"));
    assert_eq!(press(&mut app, "1").effects, []);
    assert_eq!(app.screen(), Screen::Locks);
    assert_eq!(press(&mut app, "0\n").effects, [], "it is open already");
    assert_eq!(app.screen(), Screen::Locks);
    assert_eq!(press(&mut app, "0/dev\n\n").effects, [Effect::GoToContext("dev".to_owned())]);
}

#[test]
fn without_an_open_ensemble_nothing_can_be_done_to_one() {
    let mut app = three(SIZE);
    for keys in ["1", "2", "6", "x", "c", "p", ":at 10:00\n", ":delete\n", ":start 3\n", ":import\n", "["] {
        assert_eq!(press(&mut app, keys).effects, [], "{keys}");
        assert_eq!(app.screen(), Screen::Ensembles, "{keys}");
        assert!(!notice(&app).is_empty(), "{keys}");
    }
    press(&mut app, "1");
    assert_eq!(notice(&app), "No ensemble is open: Enter goes into the selected one.");
    press(&mut app, "?");
    assert_eq!(app.screen(), Screen::Help);
    press(&mut app, "\u{1b}\u{1b}");
    assert_eq!(app.screen(), Screen::Ensembles);
}

/// The answers of all ensembles to a filter: `prod-eu` has one lock, `dev` another one.
fn answers(filter: &Filter) -> Event {
    let reports = reports().into_iter().map(|report| {
        let locks = if &*report.name == "prod-eu" { [orphan("/locks/billing")] } else { [orphan("/locks/idle")] };
        let (table, diagnosis) = (crate::testing::table(locks, NOW), Diagnosis::new(Thresholds::default()));
        EnsembleReport { found: FoundLocks::of(filter, &table, &diagnosis, NOW), ..report }
    });
    Event::EnsemblesReported(reports.collect())
}

#[test]
fn a_lock_is_named_on_the_list_and_opened_in_the_ensemble_that_has_it() {
    let mut app = three(SIZE);
    let filter = Filter::new("/locks/billing");
    assert_eq!(press(&mut app, ":lock /locks/billing\n").effects, [Effect::FilterEnsembles(filter.clone())]);
    let found = app.update(answers(&filter), NOW).effects;
    assert_eq!(found, [Effect::GoToContext("prod-eu".to_owned())]);
    let app = opened_from(app);
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(app.opened().map(ToString::to_string).as_deref(), Some("/locks/billing"));
    assert_eq!(app.ensembles().map(|ensembles| ensembles.shown().count()), Some(3));
    let mut app = three(SIZE);
    press(&mut app, ":lock /locks/nobody\n");
    assert_eq!(app.update(answers(&Filter::new("/locks/nobody")), NOW).effects, []);
    assert_eq!(notice(&app), "No lock is known at /locks/nobody; 1 ensemble cannot be seen.");
    press(&mut app, ":lock /locks/idle\n");
    assert_eq!(app.update(answers(&Filter::new("/locks/idle")), NOW).effects, []);
    assert_eq!(notice(&app), "2 ensembles have /locks/idle: Enter goes into one.");
    press(&mut app, ":lock nowhere\n");
    assert!(!notice(&app).contains("idle"), "it is no path: {}", notice(&app));
}

#[test]
fn a_filter_that_finds_a_lock_holds_in_the_ensemble_that_is_opened() {
    let mut app = three(SIZE);
    press(&mut app, "/billing\n");
    app.update(answers(&Filter::new("billing")), NOW);
    assert_eq!(press(&mut app, "\n").effects, [Effect::GoToContext("prod-eu".to_owned())]);
    let mut app = opened_from(app);
    assert_eq!((app.screen(), app.filter().text()), (Screen::Locks, "billing"));
    let asked = press(&mut app, "0:filter late\n").effects;
    assert_eq!(asked, [Effect::FilterEnsembles(Filter::new("late"))]);
    app.update(at(NOW, vec![orphan("/locks/late")]), NOW);
    app.update(Event::Tick, NOW);
    press(&mut app, "\n");
    assert_eq!((app.screen(), app.filter().text()), (Screen::Locks, "late"));
}

#[test]
fn what_is_found_is_listed_below_its_ensemble_and_enter_goes_there() {
    let mut app = three(SIZE);
    let filter = Filter::new("eu 0b31");
    assert_eq!(press(&mut app, ":find locks\n").effects, [Effect::FilterEnsembles(Filter::new("locks"))]);
    app.update(answers(&Filter::new("locks")), NOW);
    let listed = |app: &App| app.ensembles().map_or(0, WatchedEnsembles::listed_places);
    assert_eq!((app.screen(), listed(&app)), (Screen::Ensembles, 3), "a lock in each");
    assert_eq!(press(&mut app, "j\n").effects, [Effect::GoToContext("prod-eu".to_owned())]);
    let opened = opened_from(app);
    assert_eq!(opened.screen(), Screen::Queue);
    assert_eq!(opened.opened().map(ToString::to_string).as_deref(), Some("/locks/billing"));

    let mut app = three(SIZE);
    press(&mut app, "/prod\n");
    app.update(answers(&Filter::new("prod")), NOW);
    assert_eq!(listed(&app), 0, "the filter names ensembles");
    press(&mut app, &format!("/\u{15}{}\n", filter.text()));
    app.update(answers(&filter), NOW);
    assert_eq!(listed(&app), 0, "nobody has that");
    let mut one = live(SIZE);
    press(&mut one, ":find billing\n");
    assert_eq!((one.screen(), one.filter().text()), (Screen::Locks, "billing"));
}

#[test]
fn an_ensemble_whose_options_are_wrong_is_refused_with_the_reason() {
    let (mut ensembles, _) = unknown(SIZE).take_ensembles().unwrap();
    ensembles.take(reports());
    let rows = ensembles.each().cloned().map(|row| match &*row.name {
        "dev" => crate::tui::app::EnsembleRow { trouble: Some("The auth file is gone.".to_owned()), ..row },
        _ => row,
    });
    let list = Box::new(WatchedEnsembles::new(rows));
    let mut app = App::new(of_several(None), SIZE, NOW).with_ensembles(list);
    assert_eq!(press(&mut app, "/dev\n\n").effects, []);
    assert_eq!(notice(&app), "The auth file is gone.");
}

#[test]
fn the_open_ensemble_reports_its_own_figures() {
    let mut app = in_prod_eu();
    app.update(at(NOW, vec![orphan("/locks/late")]), NOW);
    app.update(Event::Tick, NOW);
    let row = app.ensembles().and_then(|ensembles| ensembles.named("prod-eu")).unwrap();
    assert_eq!(row.summary.as_ref().map(|summary| summary.locks), Some(2));
    assert_eq!(row.news, 0);
}

#[test]
fn a_console_of_one_ensemble_has_no_list_of_ensembles() {
    let mut app = live(SIZE);
    press(&mut app, "0");
    assert_eq!(app.screen(), Screen::Locks);
    assert!(notice(&app).contains("--all-contexts"), "{}", notice(&app));
    assert!(app.tabs().iter().all(|(screen, _)| *screen != Screen::Ensembles));
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
    assert!(app.take_ensembles().is_none());
}

/// The nodes of two clients of kazoo: the first holds, the other waits.
fn kazoo_queue(lock: &str, names: [&str; 2]) -> [Change; 2] {
    [0, 1].map(|at: usize| {
        let node = format!("{lock}/{:032x}__lock__{at:010}", at + 1);
        let since = ago(60 - i64::try_from(at).unwrap_or_default());
        seen(&node, i64::try_from(at).unwrap_or_default() + 1, since, names[at].as_bytes())
    })
}

#[test]
fn clients_that_wait_for_each_other_across_ensembles_are_named_in_each() {
    let mut app = opened_with(three(SIZE), kazoo_queue("/a", ["worker-1", "worker-2"]).to_vec());
    let other = crate::testing::table(kazoo_queue("/b", ["worker-2", "worker-1"]), NOW);
    app.update(Event::Tick, NOW);
    let effects = app.update(Event::EnsemblesReported(vec![report("dev", &other, NOW)]), NOW).effects;
    let told = effects.iter().find_map(|effect| match effect {
        Effect::TellCrossWaits(told) => Some(told),
        _ => None,
    });
    let told = told.expect("both are told");
    assert_eq!(told.keys().map(|name| &**name).collect::<Vec<_>>(), ["dev", "prod-eu"]);
    let later = ago(-12);
    for now in [NOW, ago(-6), later] {
        app.update(Event::Tick, now);
    }
    let finding = app.world().diagnosis().findings().find(|finding| finding.code == Code::CrossDeadlock).cloned();
    let finding = finding.expect("the finding stands");
    assert_eq!((finding.severity, finding.lock.to_string().as_str()), (Severity::Warning, "/a"));
    press(&mut app, "4");
    app.update(Event::Tick, later);
    let row = app.world().waits().row(0).map(|row| row.kind);
    assert_eq!(row, Some(WaitKind::CrossCycle(2, SameClient::Name)));
    let gone = crate::testing::table([orphan("/locks/idle")], later);
    let effects = app.update(Event::EnsemblesReported(vec![report("dev", &gone, later)]), later).effects;
    assert!(effects.contains(&Effect::TellCrossWaits(CrossWaitsByEnsemble::new())), "{effects:?}");
    app.update(Event::Tick, ago(-14));
    assert!(app.world().diagnosis().findings().all(|finding| finding.code != Code::CrossDeadlock));
}

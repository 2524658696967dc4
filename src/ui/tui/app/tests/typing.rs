//! The command line and the filter while they are typed.

use super::{SIZE, lock_paths, selected_lock};
use crate::tui::app::{App, Event, Key, Screen};
use crate::tui::testing::{NOW, live, press};

fn strike(app: &mut App, keys: &[Key]) {
    for key in keys {
        app.update(Event::Key(*key), NOW);
    }
}

fn typed(app: &App) -> String {
    app.prompt().map(|prompt| prompt.text().to_owned()).unwrap_or_default()
}

fn said(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

#[test]
fn tab_completes_commands_and_their_arguments() {
    let mut app = live(SIZE);
    press(&mut app, ":hist");
    assert_eq!(app.ghost().as_deref(), Some("ory"));
    strike(&mut app, &[Key::Tab]);
    assert_eq!(typed(&app), "history");
    press(&mut app, "\u{1b}:sort wai");
    assert_eq!(app.ghost().as_deref(), Some("ting"));
    strike(&mut app, &[Key::Right, Key::Char(' '), Key::Char('-'), Key::Char('h'), Key::Char('e'), Key::Tab]);
    assert_eq!(typed(&app), "sort waiting -held");
    press(&mut app, "\n");
    let sorting = app.world().locks().sorting();
    assert!(sorting.then.is_some_and(|then| then.reversed), "{sorting:?}");
    press(&mut app, ":lock /locks/o");
    strike(&mut app, &[Key::Tab, Key::Enter]);
    assert_eq!(
        (app.screen(), app.opened().map(|lock| lock.path.to_string())),
        (Screen::Queue, Some("/locks/orders".into()))
    );
}

#[test]
fn tab_cycles_through_completions_and_shift_tab_goes_back() {
    let mut app = live(SIZE);
    press(&mut app, ":se");
    let offered: Vec<String> = (0..4)
        .map(|_| {
            strike(&mut app, &[Key::Tab]);
            typed(&app)
        })
        .collect();
    assert_eq!(offered, ["sessions", "session", "servers", "search"]);
    strike(&mut app, &[Key::BackTab]);
    assert_eq!(typed(&app), "servers");
    press(&mut app, "\u{1b}:frob");
    strike(&mut app, &[Key::Tab]);
    assert_eq!(typed(&app), "frob", "nothing is offered");
}

#[test]
fn commands_and_filters_have_separate_histories() {
    let mut app = live(SIZE);
    press(&mut app, ":sort held\n:sort lock\n/orders\n\u{1b}/billing\n");
    press(&mut app, ":");
    strike(&mut app, &[Key::Up, Key::Up]);
    assert_eq!(typed(&app), "sort held");
    strike(&mut app, &[Key::Esc, Key::Char('/'), Key::Up, Key::Up]);
    assert_eq!((typed(&app).as_str(), lock_paths(&app).len()), ("orders", 1), "and filters at once");
    strike(&mut app, &[Key::Down]);
    assert_eq!(lock_paths(&app), ["/locks/billing"]);
}

#[test]
fn invalid_commands_are_answered_with_valid_ones() {
    let mut app = live(SIZE);
    for (line, part) in [
        ("sesions", "did you mean `sessions`?"),
        ("zzz", "Tab completes"),
        ("sort colour", "`colour` is not a column: Locks can be sorted by severity, waiting"),
        ("sort held waiting lock", "is not a column"),
        ("lock", "`:lock PATH`"),
        ("times now", "takes nothing after it"),
        ("filter /[/", "is not a pattern yet"),
    ] {
        press(&mut app, &format!(":{line}\n"));
        assert!(app.notice().is_some_and(|notice| notice.sign != crate::tui::page::Sign::Done), "{line}");
        assert!(said(&app).contains(part), "{line}: {}", said(&app));
    }
}

#[test]
fn a_filter_takes_words_excluded_words_and_patterns_over_all_columns() {
    let mut app = live(SIZE);
    let all = lock_paths(&app).len();
    for (filter, rows) in [
        ("locks", 2),
        ("locks curator", 1),
        ("!curator", all - 2),
        ("! curator", all - 2),
        ("locks !curator", 1),
        (r"/\/locks\/(billing|nothing)/", 1),
        (r"!/^\/locks/", all - 2),
        ("/unfinished(/", all),
    ] {
        press(&mut app, &format!("/{filter}"));
        assert_eq!(lock_paths(&app).len(), rows, "{filter}");
        press(&mut app, "\u{1b}");
    }
    assert_eq!(lock_paths(&app).len(), all);
}

#[test]
fn n_moves_through_filtered_rows_and_reports_the_end() {
    let mut app = live(SIZE);
    press(&mut app, "n");
    assert!(said(&app).contains("There is no search yet"));
    press(&mut app, "/locks\n");
    let first = selected_lock(&app);
    press(&mut app, "n");
    assert_ne!(selected_lock(&app), first);
    press(&mut app, "n");
    assert!(said(&app).contains("no further match"), "{}", said(&app));
    press(&mut app, "N");
    assert_eq!(selected_lock(&app), first);
}

#[test]
fn n_moves_from_match_to_match_in_a_text() {
    let mut app = live(SIZE);
    press(&mut app, "?/:quit\n");
    let top = |app: &App| app.pages()[0].top;
    let at = top(&app);
    assert!(at > 0 && app.is_narrowed());
    let shown = |app: &App| {
        let page = &app.pages()[0];
        page.page.lines[page.top..page.top + page.shown()].iter().any(|line| format!("{line:?}").contains(":quit"))
    };
    assert!(shown(&app));
    press(&mut app, "g");
    press(&mut app, "n");
    assert!(shown(&app), "from the top again");
    press(&mut app, "\u{1b}");
    assert_eq!((app.screen(), app.is_narrowed()), (Screen::Help, false), "Esc clears the search first");
    press(&mut app, "/no such words\n");
    assert!(said(&app).contains("Nothing here matches"), "{}", said(&app));
}

#[test]
fn half_pages_and_pages_move_in_lists_and_texts() {
    let mut app = live(SIZE);
    press(&mut app, "?");
    let top = |app: &App| app.pages()[0].top;
    strike(&mut app, &[Key::Ctrl('d')]);
    let half = top(&app);
    strike(&mut app, &[Key::Ctrl('u'), Key::Char(' ')]);
    let page = top(&app);
    assert!(half > 1 && page > half && page <= 2 * half, "{half} {page}");
    strike(&mut app, &[Key::Char('b')]);
    assert_eq!(top(&app), 0);
    strike(&mut app, &[Key::Esc, Key::Enter, Key::Ctrl('d')]);
    assert!(app.contender_cursor().rank() > 0);
}

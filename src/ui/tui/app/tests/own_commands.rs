//! The user's own commands: the values of the selected row, the question, and one at a time.

use std::sync::Arc;
use std::time::Duration;

use super::SIZE;
use crate::tui::app::{App, CommandEnd, CommandReport, Effect, Event, Key, Rows, Screen, Update};
use crate::tui::own_command::{CommandOutput, OwnCommand, OwnProgram};
use crate::tui::testing::ensembles::three;
use crate::tui::testing::recording::Replayed;
use crate::tui::testing::servers::{Clients, surveyed};
use crate::tui::testing::{at, live, press, session};
use lockscope_live::observe::Observed;
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::server_view::{Connection, Listing};

fn own(name: &str, key: char, run: &[&str]) -> OwnCommand {
    let words: Vec<String> = run.iter().map(|word| (*word).to_owned()).collect();
    let run = OwnProgram::read(&words, false).unwrap();
    OwnCommand {
        name: name.to_owned(),
        key: Key::Char(key),
        screens: OwnCommand::usual_screens(&run),
        run,
        confirm: false,
        output: CommandOutput::Pane,
        timeout: Duration::from_secs(30),
        names_client: false,
    }
}

fn console(commands: Vec<OwnCommand>) -> App {
    let mut app = live(SIZE);
    app.settings.commands = commands;
    app
}

/// Returns what an update runs, as one would type it.
fn run(update: &Update) -> Option<String> {
    update.effects.iter().find_map(|effect| match effect {
        Effect::RunCommand(command) => Some(command.shown()),
        _ => None,
    })
}

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

fn report(app: &mut App, report: CommandReport) {
    let now = app.clock();
    app.update(Event::Command(Box::new(report)), now);
}

fn text(app: &App) -> String {
    let pages = app.popup().into_iter().chain(app.pages());
    let lines = pages.flat_map(|shown| [shown.page.lines, shown.page.answers].concat());
    lines.map(|line| line.text).collect::<Vec<_>>().join("\n")
}

/// Lets the servers report connections from this address.
fn connected(app: &mut App, address: &str) {
    let now = app.clock();
    let clients = Clients { connected: (1..60).collect(), ..Clients::default() };
    let Change::Surveyed { view } = surveyed(now, &clients) else { panic!("a survey") };
    let mut view = (*view).clone();
    for member in &mut view.members {
        let from = |connection: &Connection| Connection { client: address.to_owned(), ..connection.clone() };
        let listed = member.connections.as_ref().map(|listing| listing.items().iter().map(from).collect::<Vec<_>>());
        member.connections = listed.map(|connections| Listing::new(connections, true, now));
    }
    app.update(at(now, vec![Change::Surveyed { view: Arc::new(view) }]), now);
}

#[test]
fn a_command_is_given_the_selected_row() {
    let mut app = console(vec![own("show", 'T', &["show", "{path}", "{session}"])]);
    assert_eq!(run(&press(&mut app, "T")).unwrap(), "show /locks/billing 0x1000a2b3c40001b");
    assert_eq!(app.screen(), Screen::Output);
    assert!(text(&app).contains("It runs; Esc stops it."), "{}", text(&app));
}

#[test]
fn a_client_that_the_servers_do_not_report_or_that_looks_like_an_option_is_refused() {
    let mut app = console(vec![own("shell", 'T', &["ssh", "--", "{client_host}"])]);
    assert_eq!(run(&press(&mut app, "T")), None);
    assert_eq!(notice(&app), "`shell` was not run: {client_host} is not known here: the servers do not report it.");
    for (address, ran) in [
        ("10.0.4.17:40312", Some("ssh -- 10.0.4.17")),
        ("[fe80::1]:40312", Some("ssh -- fe80::1")),
        (";$(touch x):40312", Some("ssh -- ';$(touch x)'")),
        ("-oProxyCommand=x:40312", None),
        ("a\u{1b}b:40312", None),
    ] {
        connected(&mut app, address);
        assert_eq!(run(&press(&mut app, "T")).as_deref(), ran, "{address}: {}", notice(&app));
        if ran.is_some() {
            report(&mut app, CommandReport::Ended { end: CommandEnd::Exited(0), left_out: 0 });
            press(&mut app, "\u{1b}");
        }
    }
}

#[test]
fn the_question_is_answered_by_yes_only_and_always_asked_about_the_past() {
    let sure = OwnCommand { confirm: true, ..own("sure", 'T', &["touch", "{path}"]) };
    let mut app = console(vec![sure, own("free", 'W', &["touch", "{path}"])]);
    for no in ["n", "\u{1b}"] {
        assert_eq!(run(&press(&mut app, "T")), None);
        assert!(text(&app).contains("touch /locks/billing") && text(&app).contains("y runs it"), "{}", text(&app));
        assert_eq!(run(&press(&mut app, "x\nqW")), None, "other keys do nothing");
        assert!(app.asks_to_run());
        assert_eq!(run(&press(&mut app, no)), None);
        assert!(!app.asks_to_run());
    }
    press(&mut app, "p");
    assert_eq!(run(&press(&mut app, "W")), None);
    assert!(text(&app).contains("The values are of an earlier moment"), "{}", text(&app));
    assert_eq!(run(&press(&mut app, "y")).unwrap(), "touch /locks/billing");
}

#[test]
fn without_a_connection_the_values_may_be_outdated_so_it_is_asked() {
    let mut app = console(vec![own("free", 'W', &["touch", "{path}"])]);
    let (change, at) = (Change::Connection(ConnectionState::Lost { reason: "cut".to_owned() }), app.clock());
    app.update(Event::Changes(vec![Observed { at, change }]), at);
    assert_eq!(run(&press(&mut app, "W")), None);
    assert!(text(&app).contains("The values are of an earlier moment"), "{}", text(&app));
}

#[test]
fn one_command_runs_at_a_time_and_its_page_stops_it() {
    let mut app = console(vec![own("one", 'T', &["one"]), own("two", 'W', &["two"])]);
    assert!(run(&press(&mut app, "T")).is_some());
    assert_eq!(run(&press(&mut app, "1W")), None);
    assert_eq!(notice(&app), "`two` was not run: `one` still runs. ! shows it, and there Esc stops it.");
    report(&mut app, CommandReport::Output(b"a line\n\x1b[31mred\n".to_vec()));
    let stopped = press(&mut app, "!\u{1b}");
    assert_eq!(stopped.effects, [Effect::StopCommand]);
    assert_eq!(app.screen(), Screen::Output);
    assert!(text(&app).contains("a line\n\\u{1b}[31mred"), "{}", text(&app));
    report(&mut app, CommandReport::Ended { end: CommandEnd::Stopped, left_out: 7 });
    assert!(text(&app).contains("7 more bytes were left out") && text(&app).contains("`one` was stopped."));
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
    assert!(run(&press(&mut app, ":two\n")).is_some());
    press(&mut app, "1");
    report(&mut app, CommandReport::Ended { end: CommandEnd::Exited(2), left_out: 0 });
    assert_eq!(notice(&app), "`two` ended with exit status 2. ! shows its output.");
}

#[test]
fn a_command_does_nothing_on_other_screens_and_without_values() {
    let mut app = console(vec![own("show", 'T', &["show", "{path}"]), own("where", 'W', &["where", "{context}"])]);
    assert_eq!(run(&press(&mut app, "4:show\n")), None);
    assert_eq!(notice(&app), "`show` does nothing on this screen.");
    press(&mut app, "T");
    assert!(
        notice(&app).starts_with("T (show) does nothing here; it works in Locks, Queue, Session,"),
        "{}",
        notice(&app)
    );
    assert_eq!(run(&press(&mut app, "W")), None);
    assert!(notice(&app).contains("{context} is not known here: no context of the config file is in force"));
    app.settings.context = Some("prod".to_owned());
    assert_eq!(run(&press(&mut app, "W")).unwrap(), "where prod");
}

#[test]
fn a_recording_gives_its_values_after_a_question() {
    let mut replayed = Replayed::new(SIZE);
    replayed.app.settings.commands = vec![own("show", 'T', &["show", "{path}"])];
    replayed.press("T");
    assert!(replayed.app.asks_to_run() && text(&replayed.app).contains("earlier moment"), "{}", text(&replayed.app));
    let ran = run(&press(&mut replayed.app, "y"));
    assert!(ran.is_some_and(|ran| ran.starts_with("show /locks/")));
}

#[test]
fn in_the_list_of_ensembles_the_context_is_that_of_the_row() {
    let mut app = three(SIZE);
    app.settings.commands = vec![own("where", 'T', &["where", "{context}"])];
    assert_eq!(run(&press(&mut app, "gT")).unwrap(), "where prod-eu");
    assert_eq!(app.screen(), Screen::Output);
    report(&mut app, CommandReport::Ended { end: CommandEnd::Exited(0), left_out: 0 });
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Ensembles);
    press(&mut app, "!");
    assert_eq!(app.screen(), Screen::Output, "it is reachable without an open ensemble");
}

#[test]
fn a_command_names_the_client_of_the_row_in_all_lists_by_its_first_line() {
    let names = OwnCommand { names_client: true, ..own("pod", 'T', &["pod", "{client_host}"]) };
    let mut app = console(vec![names, own("logs", 'U', &["logs", "{name}"])]);
    connected(&mut app, "10.0.3.17:49866");
    assert_eq!(run(&press(&mut app, "U")), None);
    assert!(notice(&app).contains("no command with names-client has named it"), "{}", notice(&app));
    press(&mut app, "T1");
    report(&mut app, CommandReport::Output(b"pod/billing-7c9\nmore\n".to_vec()));
    report(&mut app, CommandReport::Ended { end: CommandEnd::Exited(0), left_out: 0 });
    assert_eq!(notice(&app), "The client of 0x1000a2b3c40001b is *pod/billing-7c9 now.");
    let clients = app.world().table().clients();
    let client = clients.identity(session(0x1b));
    assert_eq!(client.in_sentence(app.clock()), "*pod/billing-7c9 (10.0.3.17:49866)");
    assert_eq!(clients.identity(session(0x1c)).given, None, "another session");
    assert_eq!(run(&press(&mut app, "U")).unwrap(), "logs pod/billing-7c9");
    press(&mut app, "1\n/billing-7c9\n");
    assert_eq!(app.world().queue_rows().len(), 1, "the filter knows it, too");
}

#[test]
fn a_failed_command_or_hidden_characters_name_nobody() {
    let mut app = console(vec![OwnCommand { names_client: true, ..own("pod", 'T', &["pod", "{path}"]) }]);
    for (output, end) in [(b"a\x1b[2J\n" as &[u8], 0), (b"pod/a\n", 1), (b"\n", 0)] {
        press(&mut app, "1T1");
        report(&mut app, CommandReport::Output(output.to_vec()));
        report(&mut app, CommandReport::Ended { end: CommandEnd::Exited(end), left_out: 0 });
        assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, "{output:?}");
        assert_eq!(app.world().table().clients().given_name(session(0x1b)), None);
    }
}

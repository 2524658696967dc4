//! The figures, overlaps and violations that a fleet reports.

use crate::tui::app::tests::{SIZE, later};
use crate::tui::app::{App, Event, FleetSide};
use crate::tui::page::Tone;
use crate::tui::testing::fleets::{clients, deliver, outlived, running, status, totals};
use crate::tui::testing::press;
use lockscope_base::znode::Zxid;
use lockscope_lab::contend::{ClientId, ClientState, Overlap};

fn crew(app: &App, side: FleetSide) -> &crate::tui::app::FleetView {
    app.fleets().fleet(side).expect("a fleet")
}

#[test]
fn rates_cover_the_last_seconds() {
    let mut app = running(SIZE, 5);
    let rate = |app: &App, side| format!("{:.0}", crew(app, side).rates.acquisitions().unwrap());
    assert_eq!((rate(&app, FleetSide::Left), rate(&app, FleetSide::Right)), ("30".to_owned(), "130".to_owned()));
    assert_eq!(format!("{:.0}", crew(&app, FleetSide::Left).rates.events().unwrap()), "1500");
    let scenario = crew(&app, FleetSide::Left).scenario.clone();
    let last = crew(&app, FleetSide::Left).status().unwrap().totals.acquisitions;
    for second in 13..20 {
        deliver(&mut app, FleetSide::Left, status(&scenario, second * 1000, clients(5), totals(last, 50)));
    }
    assert_eq!(rate(&app, FleetSide::Left), "0", "nothing was got for five seconds");
}

#[test]
fn the_rate_history_has_a_value_for_each_second_of_the_last_minute() {
    let mut app = running(SIZE, 5);
    let seconds = crew(&app, FleetSide::Right).rates.seconds();
    assert_eq!(seconds.len(), 13);
    assert_eq!(&seconds[2..12], [130; 10], "an event for each acquisition");
    assert_eq!(crew(&app, FleetSide::Right).rates.highest(), 130);
    let scenario = crew(&app, FleetSide::Right).scenario.clone();
    let all = totals(1_430 + 600, 1);
    deliver(&mut app, FleetSide::Right, status(&scenario, 18_000, clients(5), all));
    let seconds = crew(&app, FleetSide::Right).rates.seconds();
    assert_eq!(&seconds[13..], [100; 6], "what came in six seconds is spread over them");
    deliver(&mut app, FleetSide::Right, status(&scenario, 500_000, clients(5), totals(2_030, 1)));
    assert_eq!(crew(&app, FleetSide::Right).rates.seconds(), [0; 60]);
}

#[test]
fn a_status_redraws_only_the_screens_that_show_it() {
    let mut app = running(SIZE, 5);
    let scenario = crew(&app, FleetSide::Left).scenario.clone();
    let next = |ms, many| status(&scenario, ms, clients(many), totals(900, 50));
    assert!(deliver(&mut app, FleetSide::Left, next(13_000, 5)).redraw);
    press(&mut app, "1");
    assert!(!deliver(&mut app, FleetSide::Left, next(13_100, 5)).redraw);
    assert!(deliver(&mut app, FleetSide::Left, next(13_200, 6)).redraw, "every screen tells how many run");
}

#[test]
fn the_console_ticks_while_clients_run() {
    let mut app = running(SIZE, 5);
    assert!(app.ticks());
    app.update(Event::Tick, later(1));
    press(&mut app, "X");
    assert!(app.ticks());
}

#[test]
fn the_client_with_the_newest_token_is_the_holder() {
    let mut app = running(SIZE, 10);
    let scenario = crew(&app, FleetSide::Right).scenario.clone();
    deliver(&mut app, FleetSide::Right, outlived(&scenario));
    assert_eq!(crew(&app, FleetSide::Right).holder(), Some((ClientId(2), Zxid(8_589_934_777))));
    let mut over = outlived(&scenario);
    over.clients[0].token = Some(Zxid(8_589_934_001));
    (over.clients[1].state, over.clients[1].token) = (ClientState::Crashed, None);
    over.clients[2..].iter_mut().for_each(|client| client.token = None);
    deliver(&mut app, FleetSide::Right, over);
    assert_eq!(crew(&app, FleetSide::Right).holder(), None, "client-1 only thinks that it holds");
}

fn told(app: &App) -> String {
    app.overlap_lines().into_iter().map(|line| line.text).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_frozen_holder_that_outlived_its_session_is_shown_with_both_tokens() {
    let mut app = running(SIZE, 10);
    assert_eq!(told(&app), "");
    let scenario = crew(&app, FleetSide::Right).scenario.clone();
    deliver(&mut app, FleetSide::Right, outlived(&scenario));
    assert_eq!(
        told(&app),
        "chain: client-1 froze and outlived its session: it thinks that it holds with token 8589934001, while \
         client-2 has got the lock with 8589934777: the tokens tell them apart"
    );
    assert!(app.overlap_lines()[0].tone == Tone::Careful);
    let mut over = outlived(&scenario);
    (over.clients[0].frozen, over.clients[0].state, over.clients[0].token) = (false, ClientState::Waiting, None);
    over.age = std::time::Duration::from_secs(20);
    deliver(&mut app, FleetSide::Right, over.clone());
    assert!(told(&app).contains("thought that it held"), "{}", told(&app));
    over.age = std::time::Duration::from_secs(40);
    deliver(&mut app, FleetSide::Right, over);
    assert_eq!(told(&app), "", "it is over");
}

#[test]
fn a_violation_is_shown_as_a_violation() {
    let mut app = running(SIZE, 10);
    let scenario = crew(&app, FleetSide::Left).scenario.clone();
    let mut wrong = status(&scenario, 60_000, clients(10), totals(400, 50));
    wrong.totals.violations = 1;
    wrong.overlaps = vec![Overlap {
        after: std::time::Duration::from_secs(2),
        first: ClientId(3),
        first_token: Zxid(11),
        second: ClientId(4),
        second_token: Zxid(10),
        outlived: false,
    }];
    deliver(&mut app, FleetSide::Left, wrong);
    assert!(told(&app).starts_with("herd: the lock was violated: client-3 with token 11"), "{}", told(&app));
    assert!(app.overlap_lines().iter().all(|line| line.tone == Tone::Bad));
}

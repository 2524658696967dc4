//! Snapshots of the comparison of growing herds and chains.

use super::{after, show, show_once};
use crate::tui::app::{App, Effect, Event, Tour};
use crate::tui::testing::fleets::{outcome, run_tour, writing};
use crate::tui::testing::{NOW, path};
use lockscope_lab::demo::Script;

/// Returns the tour at its comparison, after `fleets` fleets have run.
fn compared(size: (u16, u16), fleets: usize) -> App {
    let script = Script::built_in();
    let scene = 1 + script.scenes.iter().position(|scene| scene.comparison.is_some()).expect("the tour compares");
    let app = run_tour(writing(size), Tour::new(script, path("/demo"), true, false));
    let mut app = after(app, &format!(":scene {scene}\n"));
    let scenarios: Vec<_> = app.comparison().fleets().map(|fleet| fleet.scenario.clone()).collect();
    for scenario in scenarios.iter().cycle().take(fleets) {
        let is_herd = scenario.algorithm.name() == "herd";
        let mut outcome = outcome(scenario, Some(0));
        outcome.acquisitions_per_second = if is_herd { 2_400.0 / f64::from(scenario.clients) } else { 1_204.4 };
        outcome.watch_events.per_acquisition = if is_herd { 2.0 * f64::from(scenario.clients - 1) } else { 1.0 };
        let update = app.update(Event::FleetCompared(Ok(Box::new(outcome))), NOW);
        let again = update.effects.iter().any(|effect| matches!(effect, Effect::CompareFleets(_)));
        assert_eq!(again, app.comparison().running().is_some_and(|(next, _)| next == 1), "each round begins anew");
    }
    app
}

#[test]
fn the_comparison_matches_its_snapshots() {
    show_once("comparison-begins", |size| compared(size, 0));
    show_once("comparison-runs", |size| compared(size, 5));
    show_once("comparison-runs-again", |size| compared(size, 13));
    show("comparison", |size| compared(size, 30));
    show_once("comparison-failed", |size| {
        let mut app = compared(size, 3);
        app.update(Event::FleetCompared(Err("the clients cannot connect: connection refused".to_owned())), NOW);
        app
    });
    show_once("comparison-of-nothing", |size| after(writing(size), ":comparison\n"));
}

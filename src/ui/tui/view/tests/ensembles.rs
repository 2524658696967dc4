//! The list of several ensembles.

use super::{show, show_once};
use crate::testing::{reading, table};
use crate::tui::app::{EnsembleReport, Event, Filter, FoundLocks};
use crate::tui::testing::ensembles::{report, reports, three, unknown};
use crate::tui::testing::{NOW, ago, curator, ensemble, press};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::LockTable;

#[test]
fn ensembles() {
    show("ensembles", three);
}

#[test]
fn places_that_were_found_in_ensembles() {
    show_once("ensembles-found", |size| {
        let mut app = three(size);
        press(&mut app, ":find worker\n");
        let filter = Filter::new("worker");
        let reports = reports().into_iter().map(|report| {
            let (table, diagnosis) = (table(ensemble(), NOW), Diagnosis::new(Thresholds::default()));
            EnsembleReport { found: FoundLocks::of(&filter, &table, &diagnosis, NOW), ..report }
        });
        app.update(Event::EnsemblesReported(reports.collect()), NOW);
        app
    });
}

#[test]
fn ensembles_before_the_first_answer() {
    show_once("ensembles-unknown", unknown);
}

#[test]
fn events_of_all_ensembles() {
    show_once("ensembles-events", |size| {
        let mut app = three(size);
        press(&mut app, "\t\t");
        app
    });
}

#[test]
fn who_made_others_wait_is_shown_for_the_selected_ensemble_and_for_all() {
    show_once("ensembles-cost", |size| {
        let mut app = three(size);
        let nodes = [
            ("/locks/billing", 7),
            ("/locks/billing", 8),
            ("/locks/billing", 9),
            ("/locks/orders", 4),
            ("/locks/orders", 5),
        ];
        let nodes = nodes.map(|(lock, owner)| curator(lock, 1, owner, 900));
        let mut waiting = LockTable::new([]);
        reading(nodes).for_each(|change| drop(waiting.apply(change, ago(300))));
        app.update(Event::EnsemblesReported(vec![report("dev", &waiting, NOW)]), NOW);
        press(&mut app, "jj");
        app
    });
}

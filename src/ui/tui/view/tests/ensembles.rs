//! The list of several ensembles.

use super::{show, show_once};
use crate::testing::table;
use crate::tui::app::{EnsembleReport, Event, Filter, FoundLocks};
use crate::tui::testing::ensembles::{reports, three, unknown};
use crate::tui::testing::{NOW, ensemble, press};
use lockscope_model::diagnose::{Diagnosis, Thresholds};

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

//! The list of several ensembles.

use super::{show, show_once};
use crate::tui::testing::ensembles::{three, unknown};
use crate::tui::testing::press;

#[test]
fn ensembles() {
    show("ensembles", three);
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

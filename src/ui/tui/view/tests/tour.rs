//! Snapshots of the tour.

use super::{LARGER_SIZES, after, picture, show, show_once};
use crate::tui::app::{App, Event, Settings, Tour};
use crate::tui::testing::fleets::{run_tour, with, writing};
use crate::tui::testing::{NOW, path, settings};
use lockscope_lab::demo::Script;

fn touring(app: App, sandbox: bool, plays: bool) -> App {
    let ground = if sandbox { "/demo" } else { "/lockscope-demo-5eed1234" };
    run_tour(app, Tour::new(Script::built_in(), path(ground), sandbox, plays))
}

#[test]
fn the_tour_matches_its_snapshots() {
    show("tour", |size| touring(writing(size), true, false));
    show_once("tour-plays", |size| touring(writing(size), true, true));
    show_once("tour-on-ensemble", |size| after(touring(writing(size), false, false), "n"));
    show_once("tour-trouble", |size| {
        let mut app = after(touring(writing(size), true, false), ":scene 5\n");
        app.update(Event::SceneFailed("127.0.0.1:40123 refused the connection; is it running?".to_owned()), NOW);
        app
    });
    show_once("tour-asks-to-quit", |size| after(touring(writing(size), true, false), "q"));
    show_once("ascii-tour", |size| {
        touring(with(Settings { write: true, ascii: true, ..settings() }, size), true, false)
    });
}

#[test]
fn every_caption_fits_eighty_columns_and_names_the_place_of_the_tour() {
    for size in LARGER_SIZES {
        let mut app = touring(writing(size), true, false);
        for _ in 0..Script::built_in().scenes.iter().map(|scene| scene.steps.len()).sum() {
            let tour = app.tour().expect("a tour");
            let lines = app.caption_lines();
            assert!(lines.len() <= 3, "{lines:?}");
            let shown = picture(&app, size);
            assert!(lines.iter().all(|line| shown.contains(line.text.as_str())), "{shown}");
            assert!(shown.contains("SANDBOX") && shown.contains(&tour.scene().title), "{shown}");
            assert!(shown.contains("n next"), "{shown}");
            app = after(app, "n");
        }
    }
}

#[test]
fn a_small_terminal_drops_the_caption_in_favour_of_the_screen() {
    for size in [(60, 16), (60, 18), (80, 20), (61, 30)] {
        let shown = picture(&touring(writing(size), true, false), size);
        assert!(shown.contains("herd"), "{shown}");
        assert_eq!(shown.contains("SANDBOX"), size.1 > 16, "{shown}");
    }
}

//! The header at every width.

use super::{Theme, ThemeName, drawn, frames, picture, record};
use crate::tui::app::{App, Event, Settings};
use crate::tui::past_writer::PastPlace;
use crate::tui::testing::live_past::LiveConsole;
use crate::tui::testing::servers::{clients, motley};
use crate::tui::testing::{NOW, at, ensemble, settings};
use lockscope_live::admin::ProductionMark;

/// Returns a console with three servers and a past, and one of a production ensemble.
fn consoles() -> Vec<App> {
    let mut console = LiveConsole::new((100, 20), &PastPlace::Memory(64 << 20));
    console.feed(vec![motley(console.now, &clients())]);
    console.pass(61);
    let name = "billing-production";
    let mark = ProductionMark { context: name.to_owned(), doubt: Some("both are at port 2181".to_owned()) };
    let settings = Settings { context: Some(name.to_owned()), production: Some(mark), ..settings() };
    let mut production = App::new(settings, (100, 20), NOW);
    production.update(at(NOW, ensemble()), NOW);
    production.update(at(NOW, vec![motley(NOW, &clients())]), NOW);
    vec![console.app, production]
}

#[test]
fn no_part_collides_or_is_cut_without_a_mark_and_the_important_parts_stay() {
    let theme = Theme::new(ThemeName::Terminal, false);
    for mut app in consoles() {
        let now = app.clock();
        for columns in 60..=170 {
            let size = (columns, 20);
            app.update(Event::Resize(size.0, size.1), now);
            record::take();
            let buffer = drawn(&app, size, &theme);
            let faults = frames::faults(&app, &buffer, &record::take());
            let shown = picture(&app, size);
            assert!(faults.is_empty(), "{columns}: {faults:#?}\n{shown}");
            let header = shown.lines().next().unwrap_or_default();
            assert!(header.contains("● live !1/3"), "{columns}: {header}");
            assert!(header.contains("may write") || header.contains("read-only"), "{columns}: {header}");
            assert!(!app.settings().write || header.contains("past 1m") || columns < 76, "{columns}: {header}");
        }
    }
}

//! The texts below the list of ensembles.

use super::{App, Area, EnsembleEvent, EnsembleNews, WatchedEnsembles};
use crate::tui::page::{Columns, Page, Tone, below_lists};

impl App {
    /// The selected ensemble: its connection, and its findings.
    pub(super) fn ensemble_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNS, area);
        let Some(row) = self.selected_ensemble() else {
            return Page::new("Findings".to_owned(), Columns::SIGNS, page.lines());
        };
        let of = below_lists::OfEnsemble {
            state: row.state(),
            reason: row.reason(),
            summary: row.summary.as_ref(),
            utc: self.settings.utc,
        };
        below_lists::write_findings(&mut page, of);
        let mut page = Page::new(row.name.to_string(), Columns::SIGNS, page.lines());
        page.title.push((row.connect.clone(), Tone::Dim));
        page
    }

    /// What happened in all ensembles, newest first.
    pub(super) fn ensemble_events_page(&self, area: Area) -> Page {
        let mut page = self.writer(below_lists::EVENT_COLUMNS, area);
        let events: Vec<_> = self.ensembles().into_iter().flat_map(WatchedEnsembles::events).collect();
        below_lists::write_events(&mut page, events.iter().rev().copied().map(shown_event), self.settings.utc);
        Page::new("All ensembles, newest first".to_owned(), below_lists::EVENT_COLUMNS, page.lines())
    }
}

fn shown_event(event: &EnsembleEvent) -> below_lists::ShownEvent<'_> {
    let what = match &event.news {
        EnsembleNews::Raised(finding) => below_lists::EnsembleNews::Finding { finding, raised: true },
        EnsembleNews::Renamed(before, finding) => below_lists::EnsembleNews::Renamed(*before, finding),
        EnsembleNews::Cleared(finding) => below_lists::EnsembleNews::Finding { finding, raised: false },
        EnsembleNews::State(state) => below_lists::EnsembleNews::State(*state),
        EnsembleNews::Servers(trouble) => below_lists::EnsembleNews::Servers(trouble.as_ref()),
    };
    below_lists::ShownEvent { at: event.at, ensemble: &event.ensemble, what }
}

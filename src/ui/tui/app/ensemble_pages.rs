//! The texts below the list of ensembles.

use super::{App, Area, EnsembleEvent, EnsembleNews, WatchedEnsembles};
use crate::tui::page::{Columns, Page, Tone, ensembles};

impl App {
    /// The selected ensemble: its connection, and its findings.
    pub(super) fn ensemble_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNS, area);
        let Some(row) = self.selected_ensemble() else {
            return Page::new("Findings".to_owned(), Columns::SIGNS, page.lines());
        };
        let of = ensembles::OfEnsemble {
            state: row.state(),
            reason: row.reason(),
            summary: row.summary.as_ref(),
            utc: self.settings.utc,
        };
        ensembles::write_findings(&mut page, of);
        let mut page = Page::new(row.name.to_string(), Columns::SIGNS, page.lines());
        page.title.push((row.connect.clone(), Tone::Dim));
        page
    }

    /// What happened in all ensembles, newest first.
    pub(super) fn ensemble_events_page(&self, area: Area) -> Page {
        let mut page = self.writer(ensembles::EVENT_COLUMNS, area);
        let events: Vec<_> = self.ensembles().into_iter().flat_map(WatchedEnsembles::events).collect();
        ensembles::write_events(&mut page, events.iter().rev().copied().map(shown_event), self.settings.utc);
        Page::new("All ensembles, newest first".to_owned(), ensembles::EVENT_COLUMNS, page.lines())
    }
}

fn shown_event(event: &EnsembleEvent) -> ensembles::ShownEvent<'_> {
    let what = match &event.news {
        EnsembleNews::Raised(finding) => ensembles::ShownNews::Finding { finding, raised: true },
        EnsembleNews::Renamed(before, finding) => ensembles::ShownNews::Renamed(*before, finding),
        EnsembleNews::Cleared(finding) => ensembles::ShownNews::Finding { finding, raised: false },
        EnsembleNews::State(state) => ensembles::ShownNews::State(*state),
        EnsembleNews::Servers(trouble) => ensembles::ShownNews::Servers(trouble.as_ref()),
    };
    ensembles::ShownEvent { at: event.at, ensemble: &event.ensemble, what }
}

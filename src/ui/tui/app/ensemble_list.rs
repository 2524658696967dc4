//! The console of several ensembles: what it watches, and going into one of them.

use std::sync::Arc;

use super::{
    App, Area, EnsembleEvent, EnsembleNews, EnsembleReport, EnsembleRow, Screen, ScreensChosen, Update,
    WatchedEnsembles, World,
};
use crate::tui::keymap::Command;
use crate::tui::page::{Columns, Page, Tone, ensembles};
use lockscope_base::znode::Timestamp;
use lockscope_model::summary::EnsembleSummary;
use lockscope_past::record::LiveState;

impl App {
    /// Shows several ensembles, of which the settings name the one that is open, if any. Without an
    /// open one, starts on their list.
    #[must_use]
    pub fn with_ensembles(mut self, mut ensembles: Box<WatchedEnsembles>) -> Self {
        ensembles.opened(self.settings.context.as_deref());
        if self.settings.context.is_none() {
            self.navigation.show(Screen::Ensembles);
            self.observing = false;
        }
        self.ensembles = Some(ensembles);
        self.arrange();
        self
    }

    /// Shows the state of an ensemble that was watched before.
    #[must_use]
    pub fn with_live(mut self, live: LiveState, now: Timestamp) -> Self {
        self.live = World::followed(live, now);
        self.arrange_lists(&ScreensChosen::default());
        self.arrange();
        self
    }

    /// The ensembles that the console watches; `None` when it shows one.
    pub fn ensembles(&self) -> Option<&WatchedEnsembles> {
        self.ensembles.as_deref()
    }

    /// Returns the ensembles and the state of the open one, for the console that goes on with
    /// them.
    pub fn take_ensembles(&mut self) -> Option<(Box<WatchedEnsembles>, LiveState)> {
        let ensembles = self.ensembles.take()?;
        let empty = World::new(self.settings.table(), self.settings.thresholds);
        Some((ensembles, std::mem::replace(&mut self.live, empty).into_live()))
    }

    /// Whether several ensembles are watched, and none of them is open.
    pub(super) fn is_outside(&self) -> bool {
        self.ensembles().is_some() && self.settings.context.is_none()
    }

    /// Whether the screen shows all ensembles, and not the one that is open.
    pub fn shows_ensembles(&self) -> bool {
        self.screen() == Screen::Ensembles || self.is_outside()
    }

    /// The selected ensemble.
    pub(super) fn selected_ensemble(&self) -> Option<&EnsembleRow> {
        self.ensembles()?.row(self.cursors.ensembles.rank())
    }

    /// Shows the list of ensembles. The open one stays open.
    pub(super) fn go_to_ensembles(&mut self) -> Update {
        if self.ensembles.is_none() {
            let why =
                "All locks show already: {filter} filters them. lockscope --all-contexts shows several ensembles.";
            return self.refuse(self.settings.bindings.fill(why));
        }
        self.go(Screen::Ensembles);
        Update::redraw()
    }

    /// Takes the latest summaries of the ensembles.
    pub(super) fn ensembles_reported(&mut self, reports: Vec<EnsembleReport>) -> Update {
        let shows = self.screen() == Screen::Ensembles;
        let Some(ensembles) = &mut self.ensembles else { return Update::default() };
        ensembles.take(reports);
        Update { redraw: shows, effects: Vec::new() }
    }

    /// Summarizes the open ensemble, once a second.
    pub(super) fn summarize_open(&mut self) {
        let Some(ensembles) = self.ensembles.as_deref_mut() else { return };
        let Some(name) = ensembles.open().map(Arc::clone) else { return };
        let before = ensembles.named(&name).and_then(|row| row.summary.as_ref());
        let (table, diagnosis) = (self.live.table(), self.live.diagnosis());
        let summary = EnsembleSummary::new(table, diagnosis, ensembles.changes(), before, self.wall);
        ensembles.take(vec![EnsembleReport { name, summary }]);
    }

    /// Counts changes of the open ensemble.
    pub(super) fn count_changes(&mut self, changes: usize) {
        if let Some(ensembles) = self.ensembles.as_deref_mut() {
            ensembles.changes_mut().add(changes, self.wall);
        }
    }

    /// Why a command cannot be carried out on the list of ensembles, with names of commands in
    /// braces; `None` when it can.
    pub(super) fn refusal_outside(&self, command: Command) -> Option<&'static str> {
        let works_everywhere = matches!(
            command,
            Command::Go(Screen::Help | Screen::Ensembles)
                | Command::Context
                | Command::Prompt
                | Command::Redraw
                | Command::Suspend
                | Command::Quit
                | Command::Times
        );
        let is_moving = matches!(
            command,
            Command::Up
                | Command::Down
                | Command::Left
                | Command::Right
                | Command::PageUp
                | Command::PageDown
                | Command::HalfPageUp
                | Command::HalfPageDown
                | Command::First
                | Command::Last
                | Command::Open
                | Command::Back
                | Command::NextPane
                | Command::NextMatch
                | Command::PreviousMatch
        );
        let is_of_screen = self.screen().entry().commands.contains(&command);
        let works = works_everywhere || is_moving || is_of_screen;
        (self.is_outside() && !works).then_some("No ensemble is open: {open} goes into the selected one.")
    }

    /// Goes into the ensemble that the user has chosen.
    pub(super) fn go_into_wanted(&mut self) -> Update {
        let Some(ensembles) = self.ensembles.as_deref_mut() else { return Update::default() };
        let Some(name) = ensembles.take_wanted() else { return Update::default() };
        let trouble = ensembles.named(&name).and_then(|row| row.trouble.clone());
        if let Some(trouble) = trouble {
            return self.refuse(trouble);
        }
        if self.settings.context.as_deref() == Some(&*name) {
            self.go(Screen::Locks);
            return Update::redraw();
        }
        self.go_to_context(Some(&name))
    }

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
        EnsembleNews::Cleared(finding) => ensembles::ShownNews::Finding { finding, raised: false },
        EnsembleNews::State(state) => ensembles::ShownNews::State(*state),
    };
    ensembles::ShownEvent { at: event.at, ensemble: &event.ensemble, what }
}

//! The console of several ensembles: what it watches, and going into one of them.

use std::sync::Arc;

use super::ensembles::{OpenWith, Sought};
use super::{App, Effect, EnsembleReport, Filter, FoundLocks, Screen, ScreensChosen, Update, WatchedEnsembles, World};
use crate::tui::keymap::Command;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::summary::EnsembleSummary;
use lockscope_model::text::human::plural;
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
        if self.settings.context.is_some() {
            self.show_wanted();
        }
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

    /// Returns the ensembles and the state of the open one, for the console that goes on with
    /// them.
    pub fn take_ensembles(&mut self) -> Option<(Box<WatchedEnsembles>, LiveState)> {
        let ensembles = self.ensembles.take()?;
        let empty = World::new(self.settings.table(), self.settings.thresholds);
        Some((ensembles, std::mem::replace(&mut self.live, empty).into_live()))
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
        let found = FoundLocks::of(ensembles.filter(), table, diagnosis, self.wall);
        ensembles.take(vec![EnsembleReport { name, summary, found }]);
    }

    /// Whether a path names a lock of any ensemble, rather than of the open one.
    pub(super) fn looks_in_ensembles(&self) -> bool {
        self.ensembles.is_some() && (self.is_outside() || self.screen() == Screen::Ensembles)
    }

    /// Looks for a lock at a path in all ensembles.
    pub(super) fn seek_in_ensembles(&mut self, path: Option<&str>) {
        match path.map(ZnodePath::new) {
            // Says how a lock is named.
            None => self.open_path(None),
            Some(Err(error)) => self.show_failure(error.to_string()),
            Some(Ok(path)) => {
                if let Some(ensembles) = self.ensembles.as_deref_mut() {
                    ensembles.seek(path.as_str());
                }
                if self.screen() != Screen::Ensembles {
                    self.go(Screen::Ensembles);
                }
            }
        }
    }

    /// Asks all ensembles for locks that pass a new filter. Goes into the one that has the lock that
    /// is looked for, or says where that is.
    pub(super) fn look_in_ensembles(&mut self) -> Update {
        let Some(filter) = self.ensembles.as_deref_mut().map(WatchedEnsembles::take_changed_filter) else {
            return Update::default();
        };
        if filter.is_some() {
            self.summarize_open();
        }
        let mut update = Update { redraw: filter.is_some(), effects: Vec::new() };
        update.effects.extend(filter.map(Effect::FilterEnsembles));
        let Some(ensembles) = self.ensembles.as_deref_mut() else { return update };
        let Some(sought) = ensembles.take_sought() else { return update };
        let path = ensembles.filter().text().to_owned();
        match sought {
            Sought::In(name) => {
                // The filter has done its work, and would hide the other ensembles.
                ensembles.set_filter(Filter::default());
                ensembles.want_with(name, Some(OpenWith::Lock(path)));
            }
            Sought::InSeveral(count) => {
                let way = self.settings.bindings.fill("{open} goes into one.");
                self.show_notice(format!("{count} ensembles have {path}: {way}"));
            }
            Sought::Nowhere(0) => self.show_failure(format!("No ensemble has a lock at {path}.")),
            Sought::Nowhere(unseen) => {
                let unseen = plural(unseen, "ensemble", "ensembles");
                self.show_failure(format!("No lock is known at {path}; {unseen} cannot be seen."));
            }
        }
        update.redraw = true;
        update
    }

    /// Shows what was looked for in the ensemble that was gone into.
    fn show_wanted(&mut self) {
        match self.ensembles.as_deref_mut().and_then(WatchedEnsembles::take_open_with) {
            Some(OpenWith::Lock(path)) => self.open_path(Some(&path)),
            Some(OpenWith::Filter(filter)) => {
                if let Some(locks) = Screen::Locks.list() {
                    locks.set_filter(self, filter);
                }
            }
            None => {}
        }
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
            Command::Go(Screen::Help | Screen::Ensembles | Screen::Output)
                | Command::Context
                | Command::Lock
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
            self.show_wanted();
            return Update::redraw();
        }
        self.go_to_context(Some(&name))
    }
}

//! How the lists look at first, where somebody chose that: their columns, their order and their filter.

use super::App;
use super::filter::Filter;
use super::screens::SCREENS;
use crate::tui::screen::Screen;

/// What was chosen for the list of one screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenChoices {
    /// The names of its columns, in their order; `None`: all of them.
    pub columns: Option<Vec<String>>,
    /// As the command `sort` takes it.
    pub sort: Option<String>,
    /// As it is typed behind `/`.
    pub filter: Option<String>,
}

/// What was chosen for each screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreensChosen(Vec<(Screen, ScreenChoices)>);

impl ScreensChosen {
    pub fn choose(&mut self, screen: Screen, choices: ScreenChoices) {
        self.0.retain(|(known, _)| *known != screen);
        self.0.push((screen, choices));
    }

    pub fn of(&self, screen: Screen) -> Option<&ScreenChoices> {
        self.0.iter().find(|(known, _)| *known == screen).map(|(_, choices)| choices)
    }

    /// The screen of that name, as the command line has it, when it has a list.
    pub fn screen(name: &str) -> Option<Screen> {
        let lists = SCREENS.iter().filter(|entry| entry.screen.list().is_some());
        lists.map(|entry| (entry.go().name, entry.screen)).find(|(known, _)| *known == name).map(|(_, screen)| screen)
    }

    /// The names of the screens that have a list.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SCREENS.iter().filter(|entry| entry.screen.list().is_some()).map(|entry| entry.go().name)
    }
}

impl ScreenChoices {
    /// Why these columns cannot be those of a screen, as a sentence.
    pub fn refuse_columns(screen: Screen, columns: &[String]) -> Option<String> {
        let (title, known) = (screen.entry().title, screen.list()?.column_names());
        if known.is_empty() {
            return Some(format!("{title} has no columns: its rows are lines of text."));
        }
        if columns.is_empty() {
            return Some(format!("{title} needs a column: it has {}.", known.join(", ")));
        }
        let unknown = columns.iter().find(|column| !known.contains(column))?;
        Some(format!("{title} has no column `{unknown}`: it has {}.", known.join(", ")))
    }

    /// Why a list cannot be sorted so.
    pub fn refuse_sort(screen: Screen, sort: &str) -> Option<String> {
        let (title, list) = (screen.entry().title, screen.list()?);
        let names = list.sort_names();
        if names.is_empty() {
            return Some(format!("{title} has one order only."));
        }
        let word = list.refuses_sorting(sort)?;
        Some(format!("{title} cannot be sorted by `{word}`: it can by {}, or two of them.", names.join(", ")))
    }

    /// Why a list cannot be filtered so.
    pub fn refuse_filter(screen: Screen, filter: &str) -> Option<String> {
        if !screen.entry().commands.contains(&crate::tui::keymap::Command::Filter) {
            return Some(format!("{} has no filter.", screen.entry().title));
        }
        Filter::new(filter).wrong().map(str::to_owned)
    }
}

impl App {
    /// Gives the lists the order and the filter that were chosen, where others were chosen `before`: what was typed since stays. An
    /// order that is no longer chosen stays too.
    pub(super) fn arrange_lists(&mut self, before: &ScreensChosen) {
        for entry in &SCREENS {
            let Some(list) = entry.screen.list() else { continue };
            let chosen = |of: &ScreensChosen| of.of(entry.screen).cloned().unwrap_or_default();
            let (before, now) = (chosen(before), chosen(&self.settings.screens));
            if let Some(sort) = now.sort.filter(|sort| before.sort.as_ref() != Some(sort)) {
                // It was looked at when it was chosen.
                let _ = list.sort_by(self, Some(&sort), self.size.0);
            }
            if now.filter != before.filter {
                list.set_filter(self, now.filter.as_deref().map(Filter::new).unwrap_or_default());
            }
        }
    }
}

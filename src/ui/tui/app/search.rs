//! Searching on screens without a filter: in texts, and in lists whose rows depend on their
//! neighbours.

use super::list::{Find, places_from};
use super::{App, Filter};
use crate::tui::page::Line;

/// The search on this screen, and the line of a text where it was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    filter: Filter,
    line: Option<usize>,
}

impl App {
    /// The filter of the screen; empty when there is none.
    pub fn filter(&self) -> &Filter {
        static NO_FILTER: Filter = Filter::none();
        self.navigation.screen.list().and_then(|list| list.filter(self)).unwrap_or(&NO_FILTER)
    }

    pub(super) fn set_filter(&mut self, text: &str) {
        if let Some(list) = self.navigation.screen.list() {
            list.set_filter(self, Filter::new(text));
        }
    }

    /// The filter or the search whose matches are highlighted.
    pub fn highlighted(&self) -> &Filter {
        if self.is_searched() { &self.navigation.search.filter } else { self.filter() }
    }

    /// Whether this pane is searched instead of filtered: all rows stay, and `n` goes from match to
    /// match.
    pub fn is_searched(&self) -> bool {
        self.focused_list().is_none_or(|list| list.filter(self).is_none())
    }

    /// Whether a filter or a search is active here.
    pub fn is_narrowed(&self) -> bool {
        !self.highlighted().is_empty()
    }

    /// Filters or searches for a text that is being typed.
    pub(super) fn look_for(&mut self, text: &str) {
        if !self.is_searched() {
            return self.set_filter(text);
        }
        self.navigation.search = Search { filter: Filter::new(text), line: None };
        if self.is_narrowed() {
            self.find(Find::Here);
        }
    }

    /// Reports the result of a filter or search after its text was entered.
    pub(super) fn looked_for(&mut self, text: &str) {
        let filter = Filter::new(text);
        if let Some(wrong) = filter.wrong() {
            self.show_failure(wrong.to_owned());
            self.look_for("");
        } else if self.is_searched() && self.is_narrowed() && self.find(Find::Here).is_none() {
            self.show_failure(format!("Nothing here matches {text}."));
        }
    }

    /// Goes to the next or the previous match, wrapping around.
    pub(super) fn go_to_match(&mut self, step: Find) {
        if !self.is_narrowed() {
            return self.show_failure(
                self.settings
                    .bindings
                    .fill("There is no search yet: {filter} takes a text, and {next-match} goes to the next match."),
            );
        }
        if !self.is_searched() {
            // Every visible row matches the filter.
            let at = self.focused_list().and_then(|list| list.at(self));
            self.step(if step == Find::Next { 1 } else { -1 });
            if at == self.focused_list().and_then(|list| list.at(self)) {
                self.show_notice("There is no further match in this direction.".to_owned());
            }
            return;
        }
        match self.find(step) {
            None => self.show_failure(format!("Nothing here matches {}.", self.highlighted().text())),
            Some(true) => self.show_notice("The search continued at the other end.".to_owned()),
            Some(false) => {}
        }
    }

    /// Goes to a match. Returns whether the search wrapped around; `None` when nothing matches.
    fn find(&mut self, step: Find) -> Option<bool> {
        let filter = self.navigation.search.filter.clone();
        if let Some(list) = self.focused_list() {
            let height = self.layout().map_or(1, |layout| layout.rows().1);
            return list.find(self, &filter, step, height);
        }
        let page = self.focused_page()?;
        let shown = page.top..page.top + page.shown().max(1);
        let known = self.navigation.search.line.filter(|line| shown.contains(line));
        // Without an earlier match in view, the search includes the top line.
        let (at, step) = match (known, step) {
            (Some(line), step) => (line, step),
            (None, Find::Next) => (page.top, Find::Here),
            (None, step) => (page.top, step),
        };
        let lines = &page.page.lines;
        let found = places_from(at, lines.len(), step).find(|line| filter.takes(&said(&lines[*line])))?;
        self.navigation.search.line = Some(found);
        if !shown.contains(&found) {
            self.navigation.scroll.go(found, page.end());
        }
        Some(match step {
            Find::Here | Find::Next => found < at,
            Find::Previous => found > at,
        })
    }
}

/// The whole text of a line.
fn said(line: &Line) -> String {
    let rest = line.rest.as_ref().map_or("", |(text, _)| text);
    format!("{} {}{rest}", line.label.as_deref().unwrap_or_default(), line.text)
}

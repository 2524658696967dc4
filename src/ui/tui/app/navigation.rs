//! The user's place: the screen, its pane, and what is open on it.

use super::OpenNode;
use super::arrange::SideOf;
use super::attention::Attention;
use super::search::Search;
use super::way_back::WayBack;
use crate::tui::page::Scroll;
use crate::tui::screen::{Pane, Screen};
use lockscope_model::queue::LockName;

/// The user's place: the screen, its pane, and what is open on it.
#[derive(Debug)]
pub(super) struct Navigation {
    pub screen: Screen,
    pub way_back: WayBack,
    /// The lock whose queue was opened last.
    pub open: Option<LockName>,
    /// The node whose page was opened last.
    pub node: Option<OpenNode>,
    pub pane: Pane,
    /// The scroll position of the text page that has the keys.
    pub scroll: Scroll,
    pub search: Search,
    /// The last height of the box below the list, and what this height belongs to.
    pub side: Option<(SideOf, u16)>,
    pub attention: Attention,
    /// Whether the user asked for the graph of watch events below Locks.
    pub shows_graph: bool,
}

impl Navigation {
    /// Shows a screen with the keys on its list.
    pub fn show(&mut self, screen: Screen) {
        self.go_to_pane(Pane::List);
        self.screen = screen;
    }

    /// Gives a pane the keys, and ends the search.
    pub fn go_to_pane(&mut self, pane: Pane) {
        (self.pane, self.scroll, self.search) = (pane, Scroll::default(), Search::default());
    }

    /// The pane after the one that has the keys, or the one before it, wrapping around.
    pub fn pane_beside(&self, forward: bool) -> Pane {
        let panes: Vec<_> = self.screen.panes().collect();
        let at = panes.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        panes[(at + if forward { 1 } else { panes.len() - 1 }) % panes.len()]
    }

    pub fn turn_pane(&mut self, forward: bool) {
        self.go_to_pane(self.pane_beside(forward));
    }

    /// Shows or hides the graph of watch events below Locks.
    pub fn turn_graph(&mut self) {
        self.shows_graph = !self.shows_graph;
        // The graph and the text have different heights.
        self.side = None;
    }
}

impl Default for Navigation {
    fn default() -> Self {
        Self {
            screen: Screen::Locks,
            way_back: WayBack::default(),
            open: None,
            node: None,
            pane: Pane::List,
            scroll: Scroll::default(),
            search: Search::default(),
            side: None,
            attention: Attention::default(),
            shows_graph: false,
        }
    }
}

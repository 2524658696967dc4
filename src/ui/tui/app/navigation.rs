//! Where on the screens the user is.

use super::OpenNode;
use super::arrange::SideOf;
use super::attention::Attention;
use super::search::Search;
use super::way_back::WayBack;
use crate::tui::page::Scroll;
use crate::tui::screen::{Pane, Screen};
use lockscope_model::queue::LockName;

/// Where on the screens the user is.
#[derive(Debug)]
pub(super) struct Navigation {
    pub screen: Screen,
    pub way_back: WayBack,
    /// The lock whose queue was opened last.
    pub open: Option<LockName>,
    /// The node whose page was opened last.
    pub node: Option<OpenNode>,
    pub pane: Pane,
    /// How far the text page that has the keys is scrolled.
    pub scroll: Scroll,
    pub search: Search,
    /// How high the box below the list was, and what that holds for.
    pub side: Option<(SideOf, u16)>,
    pub attention: Attention,
    /// Whether the graph of watch events was asked for below Locks.
    pub shows_graph: bool,
}

impl Navigation {
    /// Shows the graph of watch events below Locks, or what stands there without it.
    pub fn turn_graph(&mut self) {
        self.shows_graph = !self.shows_graph;
        // Each of them is as high as it needs to be.
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

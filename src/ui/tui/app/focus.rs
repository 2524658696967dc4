//! Questions about the user's place: the screen, what is open on it, which pane has the keys, and
//! which prompt is open.

use super::list::List;
use super::{App, Cursor, Deletion, Layout, Notice, Pane, Prompt, Screen, Tags, Working};
use lockscope_base::znode::ZnodePath;
use lockscope_model::queue::LockName;

impl App {
    pub fn screen(&self) -> Screen {
        self.navigation.screen
    }

    /// The lock whose queue was opened last, even if the lock is gone.
    pub fn opened(&self) -> Option<&LockName> {
        self.navigation.open.as_ref()
    }

    /// The pane of Queue that has the keys.
    pub fn pane(&self) -> Pane {
        self.navigation.pane
    }

    pub fn contender_cursor(&self) -> &Cursor<ZnodePath> {
        &self.cursors.contenders
    }

    pub fn prompt(&self) -> Option<&Prompt> {
        self.footer.prompt.as_ref()
    }

    pub fn notice(&self) -> Option<&Notice> {
        self.footer.notice.as_ref()
    }

    /// The layout; `None` when the terminal is too small.
    pub fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// The list that has the keys; `None` when a text has them.
    pub(super) fn focused_list(&self) -> Option<&'static dyn List<App>> {
        self.navigation.screen.list().filter(|_| self.navigation.pane == Pane::List)
    }

    /// The next pane; after the last one, the first.
    pub fn next_pane(&self) -> Pane {
        self.navigation.pane_beside(true)
    }

    /// The index of the only page below the list when there is no room for two. A page that has the
    /// keys is the one shown. While the list has the keys, Queue shows the diagnosis if the lock
    /// has a finding, else the details. `None` when all pages are visible.
    pub(super) fn only_pane(&self, width: u16) -> Option<usize> {
        let panes = self.screen().entry().panes;
        if panes.len() < 2 || Layout::pane_width(width, panes.len()) < width {
            return None;
        }
        let wrong = || self.world().open_lock().is_some_and(|lock| self.world().diagnosis().worst(lock.id()).is_some());
        let shown = match self.navigation.pane {
            Pane::List if self.screen() == Screen::Queue && wrong() => Pane::Findings,
            Pane::List if self.screen() == Screen::Ensembles => Pane::Findings,
            Pane::List => Pane::Details,
            pane => pane,
        };
        panes.iter().position(|(pane, _)| *pane == shown)
    }

    /// Whether the user asked for the graph below Locks. The graph then also replaces the findings.
    pub fn shows_graph(&self) -> bool {
        self.screen() == Screen::Locks && self.navigation.shows_graph
    }

    pub fn deletion(&self) -> Option<&Deletion> {
        self.deletions.open.as_ref()
    }

    pub fn working(&self) -> Option<&Working> {
        self.deletions.working()
    }

    pub fn tags(&self) -> &Tags {
        &self.deletions.tags
    }
}

//! Moving in lists and texts, and going from screen to screen.

use super::list::List;
use super::{App, Cursor, Filter, Pane, Rows, Screen, TimelineEntry};
use crate::tui::page::Scroll;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::queue::{LockId, LockName, LockQueue};

impl App {
    /// The list that has the keys; `None` where a text has them.
    pub(super) fn focused_list(&self) -> Option<&'static dyn List<App>> {
        self.navigation.screen.list().filter(|_| self.navigation.pane == Pane::List)
    }

    pub(super) fn page(&self) -> isize {
        let rows = match self.navigation.screen.list() {
            Some(_) => self.layout().map_or(1, |layout| layout.rows().1),
            None => self.focused_page().map_or(1, |page| page.shown()),
        };
        isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub(super) fn half_page(&self) -> isize {
        ((self.page() + 1) / 2).max(1)
    }

    pub(super) fn step(&mut self, by: isize) {
        match self.focused_list() {
            Some(list) => {
                let height = self.layout().map_or(1, |layout| layout.rows().1);
                list.step(self, by, height);
            }
            None => self.scroll_page(by),
        }
    }

    pub(super) fn go_to_end(&mut self, to_last: bool) {
        match self.focused_list() {
            Some(list) => list.go_to_end(self, to_last),
            None => self.scroll_page(if to_last { isize::MAX } else { isize::MIN }),
        }
    }

    pub(super) fn left(&mut self) {
        match self.focused_list() {
            Some(list) if list.go_beside(self, false) || self.navigation.screen == Screen::Locks => {}
            None if self.navigation.pane != Pane::List => self.turn_pane(false),
            _ => self.leave(),
        }
    }

    pub(super) fn right(&mut self) {
        match self.focused_list() {
            Some(list) if !list.go_beside(self, true) => list.open(self),
            None if self.navigation.screen.panes().last() != Some(self.navigation.pane) => self.turn_pane(true),
            _ => {}
        }
    }

    /// To the list beside, or to the next pane; from the last one back to the first.
    pub(super) fn go_to_next_pane(&mut self) {
        let beside = |list: &dyn List<Self>, app: &mut Self| list.go_beside(app, true) || list.go_beside(app, false);
        if !self.focused_list().is_some_and(|list| beside(list, self)) {
            self.turn_pane(true);
        }
    }

    /// The pane that follows; behind the last one the first.
    pub fn next_pane(&self) -> Pane {
        self.pane_beside(true)
    }

    fn turn_pane(&mut self, forward: bool) {
        self.go_to_pane(self.pane_beside(forward));
    }

    fn pane_beside(&self, forward: bool) -> Pane {
        let panes: Vec<_> = self.navigation.screen.panes().collect();
        let at = panes.iter().position(|pane| *pane == self.navigation.pane).unwrap_or(0);
        panes[(at + if forward { 1 } else { panes.len() - 1 }) % panes.len()]
    }

    pub(super) fn go_to_pane(&mut self, pane: Pane) {
        self.navigation.scroll = Scroll::default();
        self.end_search();
        self.navigation.pane = pane;
    }

    pub(super) fn open_selected(&mut self) {
        if let Some(list) = self.focused_list() {
            list.open(self);
        }
    }

    /// Opens a lock, on a session's node when it stands there.
    pub(super) fn open_for(&mut self, lock: Option<LockId>, session: Option<SessionId>) {
        let Some(lock) = lock.filter(|lock| self.world().table().lock(*lock).is_some()) else {
            return self.show_failure("That lock is gone.".to_owned());
        };
        self.open_lock(lock);
        let node = self.world().open_lock().and_then(|queue| {
            let own = queue.rows(0..queue.len()).find(|row| session.is_some() && row.contender.session() == session)?;
            Some(queue.path_of(own.contender))
        });
        if let Some(node) = node {
            self.select_contender(node);
        }
    }

    /// Selects a contender of the open lock. A filter that hides it is cleared.
    pub(super) fn select_contender(&mut self, node: ZnodePath) {
        let world = self.world();
        let is_hidden = world.queue_rows().rank(&node).is_none();
        if is_hidden && world.table().position(&node).map(|(lock, _)| lock) == world.open_lock().map(LockQueue::id) {
            self.each_world(|world| world.filter_queue(Filter::default()));
        }
        self.cursors.contenders = Cursor::on(node);
    }

    /// The lock of that name: the same one, or one that came in its place.
    pub(super) fn known_lock(&self, name: &LockName) -> Option<LockId> {
        let table = self.world().table();
        table.lock(name.id).map(LockQueue::id).or_else(|| table.find(&name.path, name.name.as_deref()))
    }

    /// The node by which the contender of a timeline entry stands in its lock now: a semaphore's contender comes by one node and
    /// holds by another. Work follows the length of the queue.
    pub(super) fn standing_node(&self, entry: &TimelineEntry) -> Option<ZnodePath> {
        let queue = self.world().table().lock(self.known_lock(entry.lock()?)?)?;
        let rows = || queue.rows(0..queue.len()).map(|row| row.contender);
        let same = entry.contender().and_then(|id| rows().find(|contender| contender.id() == *id));
        let found = match entry.contender() {
            Some(_) => same,
            None => rows().find(|contender| Some(&contender.node) == entry.node()),
        };
        found.map(|contender| queue.path_of(contender))
    }

    pub(super) fn open_path(&mut self, path: Option<&str>) {
        let Some(text) = path else {
            self.show_failure("Name the lock: `:lock PATH`; Tab offers those that there are.".to_owned());
            return;
        };
        let (text, name) = text.split_once(' ').map_or((text, None), |(path, name)| (path, Some(name.trim())));
        match ZnodePath::new(text) {
            Err(error) => self.show_failure(error.to_string()),
            Ok(path) => match self.world().table().find(&path, name) {
                Some(id) => self.open_lock(id),
                None => self.show_failure(format!("No lock is known at {path}.")),
            },
        }
    }

    pub(super) fn open_lock(&mut self, id: LockId) {
        let Some(name) = self.world().table().lock(id).map(LockQueue::lock_name) else { return };
        let left = self.place();
        let usual = self.usual_filter(Screen::Queue);
        if self.navigation.open.as_ref() != Some(&name) {
            self.cursors.contenders = Cursor::first();
            self.deletions.tags.clear();
            self.each_world(|world| {
                world.filter_queue(usual.clone());
                world.open(Some(id));
            });
        }
        self.navigation.open = Some(name);
        self.go_from(left, Screen::Queue);
    }

    /// Opens the history of a lock that is gone.
    pub(super) fn open_vanished(&mut self, id: LockId) {
        let Some(name) = self.world().vanished().get(id).map(|gone| gone.name.clone()) else { return };
        let left = self.place();
        self.cursors.contenders = Cursor::first();
        self.deletions.tags.clear();
        self.each_world(|world| world.open(Some(id)));
        self.navigation.open = Some(name);
        self.cursors.history = Cursor::last();
        self.go_from(left, Screen::History);
    }

    pub(super) fn go_to_queue(&mut self) {
        match self.navigation.screen {
            Screen::Locks => self.open_selected(),
            _ if self.navigation.open.is_some() => self.go(Screen::Queue),
            _ => self.show_failure("Select a lock in Locks first.".to_owned()),
        }
    }

    pub(super) fn toggle(&mut self, screen: Screen) {
        if self.navigation.screen == screen { self.leave() } else { self.go(screen) }
    }

    pub(super) fn back(&mut self) {
        if self.navigation.pane != Pane::List && !self.is_narrowed() {
            self.go_to_pane(Pane::List);
        } else if self.navigation.screen == Screen::Queue && !self.deletions.tags.is_empty() {
            self.deletions.tags.clear();
        } else if self.is_narrowed() {
            self.look_for("");
        } else {
            self.leave();
        }
    }
}

//! Moving in lists and texts, and going from screen to screen.

use super::{App, Cursor, Filter, FleetSide, Pane, Rows, Screen};
use crate::queue::LockId;
use crate::tui::page::Scroll;
use crate::znode::{SessionId, ZnodePath};

/// Rows further than any list is long.
const FAR: isize = isize::MAX / 2;

impl App {
    pub(super) fn page(&self) -> isize {
        let rows = self.layout().map_or(1, |layout| match self.screen {
            Screen::Help | Screen::Unreadable | Screen::Servers => self.focused_page().map_or(1, |page| page.shown()),
            _ => layout.rows().1,
        });
        isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub(super) fn step(&mut self, by: isize) {
        let height = self.layout().map_or(1, |layout| layout.rows().1);
        let world = self.paused.as_ref().map_or(&self.live, |paused| &paused.world);
        match (self.screen, self.pane) {
            (Screen::Locks, _) => {
                self.locks.step(by, world.locks());
                self.locks.reveal(world.locks(), height);
            }
            (Screen::Queue, Pane::List) => {
                self.contenders.step(by, &world.queue_rows());
                self.contenders.reveal(&world.queue_rows(), height);
                self.scroll = Scroll::default();
            }
            (Screen::Timeline, _) => {
                self.timeline.step(by, &world.timeline_rows());
                self.timeline.reveal(&world.timeline_rows(), height);
            }
            (Screen::Sessions, _) => {
                self.sessions.step(by, world.sessions());
                self.sessions.reveal(world.sessions(), height);
            }
            (Screen::Waits, _) => {
                self.waits.step(by, world.waits());
                self.waits.reveal(world.waits(), height);
            }
            (Screen::Contend, _) => self.with_clients(|cursor, clients| {
                cursor.step(by, &clients);
                cursor.reveal(&clients, height);
            }),
            (Screen::Audit, Pane::List) => {
                self.entries.step(by, &self.audit);
                self.entries.reveal(&self.audit, height);
                self.scroll = Scroll::default();
            }
            (Screen::Queue | Screen::Audit | Screen::Help | Screen::Unreadable | Screen::Servers, _) => {
                self.scroll_page(by);
            }
        }
    }

    pub(super) fn go_to_end(&mut self, last: bool) {
        match (self.screen, self.pane) {
            (Screen::Locks, _) => self.locks = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Queue, Pane::List) => self.contenders = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Timeline, _) => self.timeline = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Sessions, _) => self.sessions = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Waits, _) => self.waits = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Contend, _) => {
                self.with_clients(|cursor, _| *cursor = if last { Cursor::last() } else { Cursor::first() });
            }
            (Screen::Audit, Pane::List) => self.entries = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Queue | Screen::Audit | Screen::Help | Screen::Unreadable | Screen::Servers, _) => {
                self.step(if last { FAR } else { -FAR });
            }
        }
    }

    pub(super) fn left(&mut self) {
        match (self.screen, self.pane) {
            (Screen::Queue, Pane::Findings) => self.go_to_pane(Pane::Details),
            (Screen::Queue | Screen::Audit, Pane::Details) => self.go_to_pane(Pane::List),
            (Screen::Contend, _) if self.side == FleetSide::Right => self.turn_side(),
            (Screen::Locks, _) => {}
            _ => self.leave(),
        }
    }

    pub(super) fn right(&mut self) {
        match (self.screen, self.pane) {
            (Screen::Locks | Screen::Timeline | Screen::Sessions | Screen::Waits, _)
            | (Screen::Queue | Screen::Audit, Pane::List) => self.open_selected(),
            (Screen::Queue, Pane::Details) => self.go_to_pane(Pane::Findings),
            (Screen::Contend, _) if self.side == FleetSide::Left => self.turn_side(),
            _ => {}
        }
    }

    pub(super) fn next_pane(&mut self) {
        if self.screen == Screen::Contend { self.turn_side() } else { self.turn_pane() }
    }

    pub(super) fn turn_pane(&mut self) {
        self.go_to_pane(match self.pane {
            Pane::List => Pane::Details,
            Pane::Details if self.screen == Screen::Audit => Pane::List,
            Pane::Details => Pane::Findings,
            Pane::Findings => Pane::List,
        });
    }

    fn go_to_pane(&mut self, pane: Pane) {
        self.scroll = Scroll::default();
        self.pane = pane;
    }

    pub(super) fn open_selected(&mut self) {
        match self.screen {
            Screen::Locks => match self.locks.selected(self.world().locks()) {
                Some(id) => self.open_lock(id),
                None => self.show_failure("There is no lock to open.".to_owned()),
            },
            Screen::Queue | Screen::Audit if self.pane == Pane::List => self.go_to_pane(Pane::Details),
            Screen::Timeline => self.open_happening(),
            Screen::Sessions => self.open_lock_of_session(),
            Screen::Waits => self.open_lock_of_wait(),
            Screen::Queue | Screen::Audit | Screen::Servers | Screen::Contend | Screen::Help | Screen::Unreadable => {}
        }
    }

    /// Opens the lock of the selected happening, on the contender that it was about when that is still there.
    pub(super) fn open_happening(&mut self) {
        let world = self.world();
        let Some(moment) =
            self.timeline.selected(&world.timeline_rows()).and_then(|number| world.timeline().get(number))
        else {
            return;
        };
        let node = moment.node().cloned();
        match moment.lock().map(|lock| (lock.id, world.table().lock(lock.id).is_some(), lock.path.clone())) {
            Some((id, true, path)) => {
                self.open_lock(id);
                let node = node.map(|node| path.child(&node));
                if let Some(node) = node.filter(|node| self.world().queue_rows().rank(node).is_some()) {
                    self.contenders = Cursor::on(node);
                }
            }
            Some((_, false, path)) => self.show_failure(format!("The lock {path} is gone.")),
            None => self.show_failure("This concerns the connection, not a lock.".to_owned()),
        }
    }

    /// Opens the lock that the selected session waits for, else the first that it holds, on its own node.
    fn open_lock_of_session(&mut self) {
        let world = self.world();
        let Some(row) = world.sessions().row(self.sessions.rank()) else {
            return self.show_failure("There is no session to open.".to_owned());
        };
        let (session, lock) = (row.session, row.awaits.first().map(|(lock, _)| *lock).or(row.holds.first().copied()));
        self.open_for(lock, Some(session));
    }

    fn open_lock_of_wait(&mut self) {
        let Some(row) = self.world().waits().row(self.waits.rank()) else {
            return self.show_failure("There is no lock to open.".to_owned());
        };
        let (session, lock) = (row.session, row.lock);
        self.open_for(lock, session);
    }

    /// Opens a lock, on a session's node when it stands there.
    fn open_for(&mut self, lock: Option<LockId>, session: Option<SessionId>) {
        let Some(lock) = lock.filter(|lock| self.world().table().lock(*lock).is_some()) else {
            return self.show_failure("That lock is gone.".to_owned());
        };
        self.open_lock(lock);
        let node = self.world().open_lock().and_then(|queue| {
            let own = queue.rows(0..queue.len()).find(|row| session.is_some() && row.contender.session == session)?;
            Some(queue.path_of(own.contender))
        });
        if let Some(node) = node.filter(|node| self.world().queue_rows().rank(node).is_some()) {
            self.contenders = Cursor::on(node);
        }
    }

    pub(super) fn open_path(&mut self, path: Option<&str>) {
        let Some(text) = path else {
            self.show_failure("Name the lock: `:lock /path`.".to_owned());
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
        let Some(name) = self.world().table().lock(id).map(crate::queue::LockQueue::lock_name) else { return };
        if self.open.as_ref() != Some(&name) {
            self.contenders = Cursor::first();
            self.tags.clear();
            self.each_world(|world| {
                world.filter_queue(Filter::default());
                world.open(Some(id));
            });
        }
        self.open = Some(name);
        self.go(Screen::Queue);
    }

    pub(super) fn go_to_queue(&mut self) {
        match self.screen {
            Screen::Locks => self.open_selected(),
            _ if self.open.is_some() => self.go(Screen::Queue),
            _ => self.show_failure("Select a lock in Locks first.".to_owned()),
        }
    }

    pub(super) fn go(&mut self, screen: Screen) {
        self.pane = Pane::List;
        self.scroll = Scroll::default();
        if screen == self.screen {
            return;
        }
        // Going where one has been goes back there, so the way back never grows beyond the number of screens.
        if let Some(at) = self.before.iter().position(|before| *before == screen) {
            self.before.truncate(at);
        } else {
            self.before.push(self.screen);
        }
        self.screen = screen;
    }

    pub(super) fn toggle(&mut self, screen: Screen) {
        if self.screen == screen { self.leave() } else { self.go(screen) }
    }

    pub(super) fn back(&mut self) {
        if matches!(self.screen, Screen::Queue | Screen::Audit) && self.pane != Pane::List {
            self.go_to_pane(Pane::List);
        } else if self.screen == Screen::Queue && !self.tags.is_empty() {
            self.tags.clear();
        } else if !self.filter().is_empty() {
            self.set_filter("");
        } else {
            self.leave();
        }
    }

    pub(super) fn leave(&mut self) {
        let screen = self.before.pop().unwrap_or(Screen::Locks);
        self.pane = Pane::List;
        self.scroll = Scroll::default();
        self.screen = screen;
    }
}

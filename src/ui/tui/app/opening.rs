//! Opening a lock, one of its contenders, the page of a session or the page of a node.

use super::{App, Cursor, Effect, Filter, OpenNode, Rows, Screen, TimelineEntry, Update};
use crate::tui::keymap::FixedKey;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::queue::{LockId, LockQueue};

impl App {
    /// Opens a lock, and selects the session's node in it if there is one.
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

    /// The current node of a timeline entry's contender in its lock: a semaphore's contender waits
    /// with one node and holds with another. Linear in the length of the queue.
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
            let complete = FixedKey::Complete.name();
            self.show_failure(format!("Name the lock: `:lock PATH`; {complete} completes the path."));
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

    /// Opens the page of the session with the typed id, or else of the selected row's session.
    pub(super) fn open_session_of_row(&mut self, typed: Option<&str>) {
        let found = match typed {
            Some(text) => {
                session_id(text).ok_or_else(|| format!("`{text}` is not a session id: type 0x and hex digits."))
            }
            None => self
                .navigation
                .screen
                .list()
                .and_then(|list| list.session(self))
                .ok_or_else(|| "No session belongs to this row.".to_owned()),
        };
        match found {
            Ok(session) => self.open_session(session),
            Err(why) => self.show_failure(why),
        }
    }

    pub(super) fn open_session(&mut self, session: SessionId) {
        let left = self.place();
        if self.world().session_detail().session() != Some(session) {
            self.cursors.session_places = Cursor::first();
        }
        let now = self.now();
        self.each_world(|world| world.read_session(session, now));
        self.go_from(left, Screen::Session);
    }

    /// Opens the page of the node with the typed path, or else of the selected row's node, and
    /// reads the node. On the page itself, reads the node again.
    pub(super) fn open_node_of_row(&mut self, typed: Option<&str>) -> Update {
        let of_row = || match (&self.navigation.node, self.navigation.screen) {
            (Some(open), Screen::Node) => Some(open.path().clone()),
            (_, screen) => screen.list().and_then(|list| list.node(self)),
        };
        let found = match typed {
            Some(text) => ZnodePath::new(text).map_err(|error| error.to_string()),
            None => of_row().ok_or_else(|| "This row has no node.".to_owned()),
        };
        match found {
            Ok(path) => {
                let left = self.place();
                self.navigation.node = Some(OpenNode::new(path.clone()));
                self.go_from(left, Screen::Node);
                Update::effect(Effect::ReadNode(path))
            }
            Err(why) => {
                self.show_failure(why);
                Update::redraw()
            }
        }
    }
}

/// Parses a session id as the screen shows it, with or without its `0x`.
fn session_id(text: &str) -> Option<SessionId> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).ok().map(|id| SessionId(id.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_parses_as_the_screen_shows_it() {
        for id in [0x0100_0a2b_3c40_001b, -2, 1] {
            assert_eq!(session_id(&SessionId(id).to_string()), Some(SessionId(id)));
        }
        assert_eq!(session_id("1b"), Some(SessionId(0x1b)));
        assert_eq!(session_id("worker-7"), None);
    }
}

//! The way back: the screens that the user left, with what was open and selected on them.

use std::collections::VecDeque;

use super::node_page::OpenNode;
use super::{App, Cursors, Filter, Screen};
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::queue::LockName;

/// Maximum number of places. Further places replace the oldest.
const MAX_PLACES: usize = 32;

/// A screen, and the lock, session or node that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    screen: Screen,
    lock: Option<LockName>,
    session: Option<SessionId>,
    node: Option<ZnodePath>,
}

/// A screen as it was left.
#[derive(Clone, Debug)]
pub(super) struct Place {
    subject: Subject,
    open_node: Option<OpenNode>,
    cursors: Cursors,
    filter: Filter,
}

/// The places to go back to, the latest last, without duplicates.
#[derive(Debug, Default)]
pub(super) struct WayBack(VecDeque<Place>);

impl WayBack {
    fn push(&mut self, left: Place, here: &Subject) {
        self.0.retain(|place| place.subject != *here && place.subject != left.subject);
        self.0.push_back(left);
        if self.0.len() > MAX_PLACES {
            self.0.pop_front();
        }
    }
}

impl App {
    fn subject(&self) -> Subject {
        let screen = self.navigation.screen;
        let about_lock = matches!(screen, Screen::Queue | Screen::History);
        Subject {
            screen,
            lock: self.navigation.open.clone().filter(|_| about_lock),
            session: self.world().session_detail().session().filter(|_| screen == Screen::Session),
            node: self.navigation.node.as_ref().filter(|_| screen == Screen::Node).map(|open| open.path().clone()),
        }
    }

    /// The current place, to come back to.
    pub(super) fn place(&self) -> Place {
        Place {
            subject: self.subject(),
            open_node: self.navigation.node.clone(),
            cursors: self.cursors.clone(),
            filter: self.filter().clone(),
        }
    }

    pub(super) fn go(&mut self, screen: Screen) {
        self.go_from(self.place(), screen);
    }

    /// Goes to a screen whose lock, session or node is already open. `left` is the place before
    /// these were opened.
    pub(super) fn go_from(&mut self, left: Place, screen: Screen) {
        self.navigation.show(screen);
        let here = self.subject();
        if matches!(screen, Screen::Locks | Screen::Ensembles) {
            // Every way back ends at Locks, and that of several ensembles at their list.
            self.navigation.way_back.0.clear();
        } else if here != left.subject {
            self.navigation.way_back.push(left, &here);
        }
    }

    /// The screen to which the way back leads after its last place.
    fn last_resort(&self) -> Screen {
        let is_list = self.ensembles().is_some() && self.screen() == Screen::Locks;
        if is_list || self.is_outside() { Screen::Ensembles } else { Screen::Locks }
    }

    /// Returns to the previous place and restores what was open and selected there.
    pub(super) fn leave(&mut self) {
        let Some(Place { subject, open_node, cursors, filter }) = self.navigation.way_back.0.pop_back() else {
            return self.navigation.show(self.last_resort());
        };
        self.navigation.show(subject.screen);
        self.cursors = cursors;
        if let Some(lock) = subject.lock.filter(|lock| self.navigation.open.as_ref() != Some(lock)) {
            let id = self.known_lock(&lock).unwrap_or(lock.id);
            self.deletions.tags.clear();
            self.navigation.open = Some(lock);
            self.each_world(|world| world.open(Some(id)));
            if subject.screen == Screen::Queue {
                self.each_world(|world| world.filter_queue(filter.clone()));
            }
        }
        if let Some(session) = subject.session {
            let now = self.now();
            self.each_world(|world| world.read_session(session, now));
        }
        if subject.node.is_some() {
            self.navigation.node = open_node;
        }
    }
}

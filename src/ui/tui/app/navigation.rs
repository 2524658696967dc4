//! The user's place, and moving: in a list or a text, from screen to screen, and back.
//!
//! [`Navigation`] is the screen, its pane and what is open on it; [`Cursors`] are the selections of
//! all lists; [`Attention`] knows when the user last looked, so that later events are new. Moving
//! in the pane that has the keys is the base: a list or a text scrolls. On screens without a filter
//! the same input searches: in texts, and in lists whose rows depend on their neighbours.
//!
//! Opening a lock, a contender, a session or a node goes to another screen and remembers the place
//! that was left. Every way back ends at Locks, and that of several ensembles at their list.

use std::collections::VecDeque;
use std::time::Duration;

use super::list::{Find, List, places_from};
use super::lists::HistoryId;
use super::lists::sessions::SessionPlace;
use super::lists::waits::WaitId;
use super::measure::{NeedsOf, ShortNames};
use super::pages::SideOf;
use super::{
    App, ColumnNeeds, Cursor, Effect, EnsembleListId, Filter, OpenNode, Pane, PromptPurpose, Rows, Screen,
    TimelineEntry, Update,
};
use crate::tui::keymap::FixedKey;
use crate::tui::page::{Line, Scroll};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_lab::contend::ClientId;
use lockscope_model::queue::{LockId, LockName, LockQueue};

/// The user's place: the screen, its pane, and what is open on it.
#[derive(Debug)]
pub struct Navigation {
    pub screen: Screen,
    pub way_back: WayBack,
    /// The lock whose queue was opened last.
    pub open: Option<LockName>,
    /// The node whose page was opened last.
    pub node: Option<OpenNode>,
    pub pane: Pane,
    /// The scroll position of the text page that has the keys.
    pub scroll: Scroll,
    pub search: TextSearch,
    /// The last height of the box below the list, and what this height belongs to.
    pub side: Option<(SideOf, u16)>,
    /// What the visible rows need of the list's columns, and what this belongs to.
    pub needs: ColumnNeeds,
    pub needs_of: Option<NeedsOf>,
    /// The names of the visible locks, if some are too long for their column.
    pub short_names: ShortNames,
    /// The number of waiters in the longest visible queue.
    pub longest_queue: usize,
    pub attention: Attention,
    /// Whether the user asked for the graph of watch events below Locks.
    pub shows_graph: bool,
}

impl Navigation {
    /// The screen to which the key for back returns.
    pub fn screen_before(&self) -> Option<Screen> {
        self.way_back.0.back().map(|place| place.subject.screen)
    }

    /// Shows a screen with the keys on its list.
    pub fn show(&mut self, screen: Screen) {
        self.go_to_pane(Pane::List);
        self.screen = screen;
    }

    /// Gives a pane the keys, and ends the search.
    pub fn go_to_pane(&mut self, pane: Pane) {
        (self.pane, self.scroll, self.search) = (pane, Scroll::default(), TextSearch::default());
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
            search: TextSearch::default(),
            side: None,
            needs: ColumnNeeds::default(),
            needs_of: None,
            short_names: ShortNames::default(),
            longest_queue: 0,
            attention: Attention::default(),
            shows_graph: false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Cursors {
    pub ensembles: Cursor<EnsembleListId>,
    pub locks: Cursor<LockId>,
    pub contenders: Cursor<ZnodePath>,
    pub sessions: Cursor<SessionId>,
    pub session_places: Cursor<SessionPlace>,
    pub waits: Cursor<WaitId>,
    /// The selected test client on each side of Contend.
    pub clients: [Cursor<ClientId>; 2],
    pub timeline: Cursor<u64>,
    pub audit: Cursor<String>,
    pub history: Cursor<HistoryId>,
    /// The selected row of the tree, by its number in the listing.
    pub tree: Cursor<u32>,
}

impl Default for Cursors {
    fn default() -> Self {
        Self {
            ensembles: Cursor::first(),
            locks: Cursor::first(),
            contenders: Cursor::first(),
            sessions: Cursor::first(),
            session_places: Cursor::first(),
            waits: Cursor::first(),
            clients: [Cursor::first(), Cursor::first()],
            timeline: Cursor::last(),
            audit: Cursor::last(),
            history: Cursor::last(),
            tree: Cursor::first(),
        }
    }
}

/// After this long without a key, the user counts as away.
const AWAY_AFTER: Duration = Duration::from_secs(60);

/// The times of the keys that decide since when the user was away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    last: Option<Timestamp>,
    /// The last key before the latest absence.
    left: Option<Timestamp>,
}

impl Attention {
    /// Records a key press.
    pub fn attend(&mut self, now: Timestamp) {
        self.left = self.looked_until(now);
        self.last = Some(now);
    }

    /// The end of the user's last visit: the last key before the latest absence. `None` when the
    /// user was never away.
    pub fn looked_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.last.filter(|last| now.since(*last) >= AWAY_AFTER).or(self.left)
    }
}

impl App {
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

    fn scroll_page(&mut self, by: isize) {
        let end = self.focused_page().map_or(0, |shown| shown.end());
        self.navigation.scroll.step(by, end);
    }
}

/// The search on this screen, and the line of a text where it was found.
#[derive(Clone, Debug, Default)]
pub struct TextSearch {
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
        self.navigation.search = TextSearch { filter: Filter::new(text), line: None };
        if self.is_narrowed() {
            self.find(Find::Here);
        }
    }

    /// Reports the result of a filter or search after its text was entered.
    pub(super) fn looked_for(&mut self, text: &str) {
        let filter = Filter::new(text);
        if let Some(wrong) = filter.wrong() {
            self.show_hint(wrong.to_owned());
            self.look_for("");
        } else if self.is_searched() && self.is_narrowed() && self.find(Find::Here).is_none() {
            self.show_hint(format!("Nothing here matches {text}."));
        }
    }

    /// Goes to the next or the previous match, wrapping around.
    pub(super) fn go_to_match(&mut self, step: Find) {
        if !self.is_narrowed() {
            return self.show_hint(
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
                self.show_hint("There is no further match in this direction.".to_owned());
            }
            return;
        }
        match self.find(step) {
            None => self.show_hint(format!("Nothing here matches {}.", self.highlighted().text())),
            Some(true) => self.show_hint("The search continued at the other end.".to_owned()),
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

/// Maximum number of places. Further places replace the oldest.
const MAX_PLACES: usize = 32;

/// A screen, and the lock, session or node that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScreenSubject {
    screen: Screen,
    lock: Option<LockName>,
    session: Option<SessionId>,
    node: Option<ZnodePath>,
}

/// A screen as it was left.
#[derive(Clone, Debug)]
struct Place {
    subject: ScreenSubject,
    open_node: Option<OpenNode>,
    cursors: Cursors,
    filter: Filter,
}

/// The places to go back to, the latest last, without duplicates.
#[derive(Debug, Default)]
pub struct WayBack(VecDeque<Place>);

impl WayBack {
    fn push(&mut self, left: Place, here: &ScreenSubject) {
        self.0.retain(|place| place.subject != *here && place.subject != left.subject);
        self.0.push_back(left);
        if self.0.len() > MAX_PLACES {
            self.0.pop_front();
        }
    }
}

impl App {
    fn subject(&self) -> ScreenSubject {
        let screen = self.navigation.screen;
        let about_lock = matches!(screen, Screen::Queue | Screen::History);
        ScreenSubject {
            screen,
            lock: self.navigation.open.clone().filter(|_| about_lock),
            session: self.world().session_detail().session.filter(|_| screen == Screen::Session),
            node: self.navigation.node.as_ref().filter(|_| screen == Screen::Node).map(|open| open.path().clone()),
        }
    }

    /// The current place, to come back to.
    fn place(&self) -> Place {
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
    fn go_from(&mut self, left: Place, screen: Screen) {
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
    fn leave(&mut self) {
        let Some(Place { subject, open_node, cursors, filter }) = self.navigation.way_back.0.pop_back() else {
            return self.navigation.show(self.last_resort());
        };
        self.navigation.show(subject.screen);
        self.cursors = cursors;
        if let Some(lock) = subject.lock.filter(|lock| self.navigation.open.as_ref() != Some(lock)) {
            let id = self.known_lock(&lock).unwrap_or(lock.id);
            self.deletions.tags.leave_lock();
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

    /// Opens a lock, and selects the session's node in it if there is one.
    pub(super) fn open_for(&mut self, lock: Option<LockId>, session: Option<SessionId>) {
        let Some(lock) = lock.filter(|lock| self.world().table().lock(*lock).is_some()) else {
            return self.show_hint("That lock is gone.".to_owned());
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
            self.show_hint(format!("Name the lock: `:lock PATH`; {complete} completes the path."));
            return;
        };
        let (text, name) = text.split_once(' ').map_or((text, None), |(path, name)| (path, Some(name.trim())));
        match ZnodePath::new(text) {
            Err(error) => self.show_failure(error.to_string()),
            Ok(path) => match self.world().table().find(&path, name) {
                Some(id) => self.open_lock(id),
                None => self.show_hint(format!("No lock is known at {path}.")),
            },
        }
    }

    pub(super) fn open_lock(&mut self, id: LockId) {
        let Some(name) = self.world().table().lock(id).map(LockQueue::lock_name) else { return };
        let left = self.place();
        let usual = self.usual_filter(Screen::Queue);
        if self.navigation.open.as_ref() != Some(&name) {
            self.cursors.contenders = Cursor::first();
            self.deletions.tags.leave_lock();
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
        self.deletions.tags.leave_lock();
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
        if self.world().session_detail().session != Some(session) {
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

impl App {
    /// Opens the tree at the typed path, or where it was left. On the tree itself, reads it again.
    pub(super) fn open_tree(&mut self, typed: Option<&str>) {
        match typed.map(ZnodePath::new) {
            Some(Err(error)) => self.show_failure(error.to_string()),
            Some(Ok(path)) => self.open_tree_at(path, None),
            None if self.screen() != Screen::Tree && self.tree.search.is_some() => self.go(Screen::Tree),
            None => {
                let select = self.selected_child().map(|row| row.name.to_owned());
                self.open_tree_at(self.tree.path.clone(), select);
            }
        }
    }

    /// Opens a node of the tree, whose children are read anew.
    pub(super) fn open_tree_at(&mut self, path: ZnodePath, select: Option<String>) {
        let left = self.place();
        self.tree.open(path, select);
        self.cursors.tree = Cursor::first();
        self.go_from(left, Screen::Tree);
    }

    /// Looks for nodes below the open node of the tree.
    pub(super) fn find_node(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.footer.ask(PromptPurpose::Command, "find-node ") };
        let filter = Filter::new(text);
        if let Some(wrong) = filter.wrong() {
            return self.show_failure(wrong.to_owned());
        }
        self.tree.find(filter);
        self.cursors.tree = Cursor::first();
    }

    /// Ends the search in the tree, or goes up. Returns `false` where neither is possible.
    fn go_up_tree(&mut self) -> bool {
        let is_there = self.screen() == Screen::Tree && !self.shown.is_past();
        let is_up = is_there && (self.tree.end_search() || self.tree.go_up());
        if is_up && self.tree.all() == 0 {
            self.cursors.tree = Cursor::first();
        }
        is_up
    }

    /// Goes into the selected node of the tree, also where it is a lock. Returns `false` elsewhere.
    fn go_down_tree(&mut self) -> bool {
        let selected = self.selected_child().filter(|_| self.screen() == Screen::Tree);
        let Some(path) = selected.map(|row| self.tree.path_of(row)) else { return false };
        self.open_tree_at(path, None);
        true
    }
}

/// Parses a session id as the screen shows it, with or without its `0x`.
fn session_id(text: &str) -> Option<SessionId> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).ok().map(|id| SessionId(id.cast_signed()))
}

impl App {
    pub(super) fn left(&mut self) {
        match self.focused_list() {
            Some(list) if self.go_up_tree() || list.move_sideways(self, false) || self.is_at_the_top() => {}
            None if self.navigation.pane != Pane::List => self.navigation.turn_pane(false),
            _ => self.leave(),
        }
    }

    /// Whether no list leads to this one.
    fn is_at_the_top(&self) -> bool {
        let top = if self.ensembles().is_some() { Screen::Ensembles } else { Screen::Locks };
        self.navigation.screen == top
    }

    pub(super) fn right(&mut self) {
        match self.focused_list() {
            Some(list) if !self.go_down_tree() && !list.move_sideways(self, true) => list.open(self),
            None if self.navigation.screen.panes().last() != Some(self.navigation.pane) => {
                self.navigation.turn_pane(true);
            }
            _ => {}
        }
    }

    /// Moves to the other list, or else to the next pane; from the last pane to the first.
    pub(super) fn go_to_next_pane(&mut self) {
        let beside =
            |list: &dyn List<Self>, app: &mut Self| list.move_sideways(app, true) || list.move_sideways(app, false);
        if !self.focused_list().is_some_and(|list| beside(list, self)) {
            self.navigation.turn_pane(true);
        }
    }

    pub(super) fn open_selected(&mut self) {
        if let Some(list) = self.focused_list() {
            list.open(self);
        }
    }

    pub(super) fn go_to_queue(&mut self) {
        match self.navigation.screen {
            Screen::Locks => self.open_selected(),
            _ if self.navigation.open.is_some() => self.go(Screen::Queue),
            _ => self.show_hint("Select a lock in Locks first.".to_owned()),
        }
    }

    pub(super) fn toggle(&mut self, screen: Screen) {
        if self.navigation.screen == screen { self.leave() } else { self.go(screen) }
    }

    pub(super) fn back(&mut self) {
        if self.navigation.pane != Pane::List && !self.is_narrowed() {
            self.navigation.go_to_pane(Pane::List);
        } else if self.shows_tags() && self.deletions.tags.has_range() {
            self.deletions.tags.end_range();
        } else if self.shows_tags() && !self.deletions.tags.is_empty() {
            self.deletions.tags.clear();
        } else if self.is_narrowed() {
            self.look_for("");
        } else if !self.go_up_tree() {
            self.leave();
        }
    }

    /// Shows the history of the lock selected in Locks, or on other screens of the lock opened
    /// last.
    pub(super) fn go_to_history(&mut self) {
        let left = self.place();
        if self.screen() == Screen::Locks {
            self.open_selected();
            if self.screen() == Screen::History {
                return;
            }
        }
        if self.opened().is_none() {
            return self.show_hint("Select a lock in Locks first.".to_owned());
        }
        if self.screen() != Screen::History {
            self.cursors.history = Cursor::last();
            self.go_from(left, Screen::History);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_during_an_absence_stay_new_until_the_next_absence() {
        let at = |seconds: i64| Timestamp(seconds * 1_000);
        let mut attention = Attention::default();
        assert_eq!(attention.looked_until(at(500)), None, "nobody pressed a key yet");
        attention.attend(at(510));
        attention.attend(at(550));
        assert_eq!(attention.looked_until(at(600)), None, "somebody looks");
        assert_eq!(attention.looked_until(at(610)), Some(at(550)), "nobody looks");
        attention.attend(at(3_000));
        attention.attend(at(3_010));
        assert_eq!(attention.looked_until(at(3_020)), Some(at(550)), "somebody reads what is new");
        assert_eq!(attention.looked_until(at(3_100)), Some(at(3_010)));
    }

    #[test]
    fn a_session_id_parses_as_the_screen_shows_it() {
        for id in [0x0100_0a2b_3c40_001b, -2, 1] {
            assert_eq!(session_id(&SessionId(id).to_string()), Some(SessionId(id)));
        }
        assert_eq!(session_id("1b"), Some(SessionId(0x1b)));
        assert_eq!(session_id("worker-7"), None);
    }
}

//! The visible text pages and their areas, and the layout of the screen that follows from them.
//!
//! `App` collects what a page says and passes it to [`page`](crate::tui::page), which writes it. A
//! page knows the width of its box, so the layout asks the page for its height before the page has
//! a place: the text in the box below a list decides how high the box is.
//!
//! The box below Locks is special. It shows the findings of the selected lock, else recent events,
//! else the graph of watch events.

use super::footer::Leaving;
use super::layout::Wishes;
use super::screens::Content;
use super::timeline::{Lately, News, TimelineSpan};
use super::{
    App, Area, Deletion, EnsembleNews, HistoryList, Key, Layout, ListScreen, ListedEvent, NodeRead, Pane,
    PromptPurpose, Rows, Screen, TimelineEntry, TimelineList, Update, WatchedEnsembles,
};
use crate::tui::keymap::{Command, FixedKey};
use crate::tui::page::below_lists::{LatelyNews as ShownNews, ShownLately, ShownLeader, ShownSpan};
use crate::tui::page::node::ReadNode;
use crate::tui::page::session::{OwnedNodes, SessionEvent, ShownSession};
use crate::tui::page::{
    BORDER, Columns, Focus, Line, Page, PageWriter, Tone, banner, below_lists, deletion, details, entries, node,
    servers, session, test_clients,
};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath};
use lockscope_lab::demo::TourStep;
use lockscope_model::diagnose::OwnerState;
use lockscope_model::queue::{ConnectionState, Contender, ContenderState, LockEvent, LockId, LockQueue};
use lockscope_model::text::human::{count, countdown, plural};
use lockscope_model::text::{Keep, cut, fit};

/// Lines of the list that stay visible above a plan, unless the terminal is low.
const MIN_LIST_LINES: u16 = 6;

/// Minimum lines of the body that keep the list visible.
const MIN_BODY_WITH_LIST: u16 = 20;

/// Minimum lines of a plan that are visible.
const MIN_PLAN_LINES: u16 = 4;

/// A text page and its area.
#[derive(Clone, Debug)]
pub struct ShownPage {
    pub page: Page,
    pub area: Area,
    /// The index of the first visible line.
    pub top: usize,
    /// Whether the keys scroll it.
    pub focus: Focus,
}

/// The message while the clients run slowly.
const LEFT_ALONE: &str = "No key for a minute: the clients run slowly. Any key resumes.";

impl ShownPage {
    /// The number of visible lines, of those that scroll.
    pub fn shown(&self) -> usize {
        self.page.shown(self.area.height)
    }

    /// The largest `top` that the page can be scrolled to.
    pub fn end(&self) -> usize {
        self.page.lines.len().saturating_sub(self.shown())
    }
}

/// Lines of the bar below a recording.
pub const PAST_BAR_HEIGHT: u16 = 2;

impl App {
    /// The text pages of the screen, without the popup.
    pub fn pages(&self) -> Vec<ShownPage> {
        let Some(layout) = self.layout() else { return self.small_page().into_iter().collect() };
        let entry = self.navigation.screen.entry();
        if let Content::Text(write) = entry.content {
            return vec![self.scrolled_page(write(self, layout.main), layout.main, Focus::Alone)];
        }
        if self.screen() == Screen::Locks {
            let page = self.below_locks_page(layout.side).filter(|_| layout.side.height > 0);
            return page.into_iter().map(|page| self.scrolled_page(page, layout.side, Focus::Elsewhere)).collect();
        }
        let shown = entry.panes.iter().zip(self.pane_areas(&layout)).filter(|(_, area)| area.height > 0);
        shown.map(|((pane, write), area)| self.in_pane(write(self, area), area, *pane)).collect()
    }

    /// The popup over the lower end of the screen: a deletion plan, an explanation for an open
    /// prompt, or a long notice.
    pub fn popup(&self) -> Option<ShownPage> {
        let layout = self.layout()?;
        let top = layout.tabs.y + layout.tabs.height;
        let body = Area { y: top, height: layout.caption.y - top, ..layout.tabs };
        let page = self.plan(body).or_else(|| self.own_runs.question_page(|| self.writer(Columns::SIGNS, body)));
        let page = page.or_else(|| self.prompt_page(body)).or_else(|| self.notice_page(body))?;
        // The popup covers the whole box below a list, because the box's upper border alone would
        // look broken.
        let mut height = page.height().max(layout.side.height).min(body.height);
        if self.deletions.open.is_some() {
            let answers = u16::try_from(page.answers.len()).unwrap_or(u16::MAX).saturating_add(BORDER);
            let list = if body.height < MIN_BODY_WITH_LIST { 0 } else { MIN_LIST_LINES };
            let most = body.height.saturating_sub(list).max(answers.saturating_add(MIN_PLAN_LINES));
            height = height.min(most).max(layout.side.height).min(body.height);
        }
        let area = Area { y: body.y + body.height - height, height, ..body };
        let mut shown = ShownPage { page, area, top: 0, focus: Focus::Here };
        let asked = self.own_runs.question.as_ref().map(|question| question.scroll);
        let scroll = self.deletions.open.as_ref().map(Deletion::scroll).or(asked);
        shown.top = scroll.map_or(0, |scroll| scroll.top(shown.end()));
        Some(shown)
    }

    /// The page that the keys scroll, popup aside.
    pub(super) fn focused_page(&self) -> Option<ShownPage> {
        self.pages().into_iter().find(|shown| shown.focus != Focus::Elsewhere)
    }

    /// The problems of the connection; no lines when there are none.
    pub fn banner_lines(&self) -> Vec<Line> {
        if self.is_live() || self.shows_ensembles() {
            return Vec::new();
        }
        let table = self.followed().table();
        let (clock, utc, is_default) = (self.moment(), self.settings.utc, self.settings.connect_is_default);
        let attempt = match (self.is_observing(), self.replay()) {
            (false, _) => banner::ConnectAttempts::Ended,
            (true, Some(_)) => banner::ConnectAttempts::Past,
            (true, None) => banner::ConnectAttempts::GoesOn,
        };
        let of = banner::ShownConnection { table, attempt, is_default, clock, utc };
        banner::lines(of, self.size.0, self.charset())
    }

    /// Overlaps: clients that thought they held a lock at the same time. No lines on screens other
    /// than Contend.
    pub fn overlap_lines(&self) -> Vec<Line> {
        let shown = self.fleets().each().filter(|_| self.navigation.screen == Screen::Contend);
        let fleets = shown.filter_map(|(_, fleet)| Some((fleet.scenario.algorithm.name(), fleet.status()?)));
        test_clients::lines(fleets, self.size.0, self.charset())
    }

    /// The caption of the tour's current step; no lines without a tour.
    pub fn caption_lines(&self) -> Vec<Line> {
        let is_left_alone = self.tour_is_left_alone();
        let lines = |tour: &super::Tour| {
            let text = if is_left_alone { LEFT_ALONE } else { &tour.step().caption };
            banner::caption_lines(&self.settings.bindings.fill(text), tour.trouble(), self.size.0, self.charset())
        };
        self.tour().map(lines).unwrap_or_default()
    }

    /// The lines that the bar of a recording and the tour's caption take.
    fn caption_height(&self) -> u16 {
        let bar = if self.replay().is_some() { PAST_BAR_HEIGHT } else { 0 };
        let fill = |step: &TourStep| self.settings.bindings.fill(&step.caption);
        let captions = self.tour().map(|tour| tour.scene().steps.iter().map(fill));
        bar + captions.map_or(0, |captions| banner::caption_height(captions, self.size.0))
    }

    /// The question about running test clients; `None` when it is not open.
    pub fn quit_question(&self) -> Option<String> {
        let then = match self.footer.leaving.as_ref()? {
            Leaving::Quit => "quit".to_owned(),
            Leaving::Context(name) => format!("go to {name}"),
        };
        let clients = self.living_clients();
        let run = if clients == 1 { "runs: stop it" } else { "run: stop them" };
        let (yes, no) = (FixedKey::Yes.name(), FixedKey::No.name());
        Some(format!("{} {run} and {then}? {yes}/{no}", plural(clients, "test client", "test clients")))
    }

    /// The areas of the pages below the list. A hidden page has no lines.
    fn pane_areas(&self, layout: &Layout) -> [Area; 2] {
        let nothing = Area { height: 0, ..layout.side };
        match (self.only_pane(layout.side.width), layout.panes()) {
            (Some(0), _) => [layout.side, nothing],
            (Some(_), _) => [nothing, layout.side],
            (None, Some((left, right))) if self.screen().entry().panes.len() > 1 => [left, right],
            (None, _) => [layout.side, nothing],
        }
    }

    fn in_pane(&self, page: Page, area: Area, focused: Pane) -> ShownPage {
        let focus = if self.navigation.pane == focused { Focus::Here } else { Focus::Elsewhere };
        self.scrolled_page(page, area, focus)
    }

    fn scrolled_page(&self, page: Page, area: Area, focus: Focus) -> ShownPage {
        let mut shown = ShownPage { page, area, top: 0, focus };
        if focus != Focus::Elsewhere {
            shown.top = self.navigation.scroll.top(shown.end());
        }
        shown
    }

    pub(super) fn audit_entry_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::FACTS, area);
        if let Some(entry) = self.selected_entry() {
            entries::write_audit_entry(&mut page, entry, self.settings.utc);
        }
        Page::new("Details", Columns::FACTS, page.lines())
    }

    pub(super) fn timeline_entry_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNED_FACTS, area);
        let utc = self.settings.utc;
        match TimelineList.row(self, self.cursors.timeline.rank()) {
            None => {}
            Some(TimelineEntry::Happening(happening)) => entries::write_happening(&mut page, happening, utc),
            Some(TimelineEntry::Finding { at, finding, raised }) => {
                entries::write_finding(&mut page, *at, finding, *raised, utc);
            }
            Some(TimelineEntry::Deletion { at, node, ending, .. }) => {
                entries::write_deletion(&mut page, *at, node, ending, utc);
            }
        }
        Page::new("Details", Columns::SIGNED_FACTS, page.lines())
    }

    pub(super) fn history_entry_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNED_FACTS, area);
        let row = HistoryList.row(self, self.cursors.history.rank());
        let title = row.as_ref().map_or_else(|| "Details".to_owned(), |row| entries::title(&row.entry, self.charset()));
        if let Some(row) = row {
            entries::write_history_entry(&mut page, &row.entry, self.settings.utc);
        }
        Page::new(title, Columns::SIGNED_FACTS, page.lines())
    }

    pub(super) fn servers_page(&self, area: Area) -> Page {
        let (world, view) = (self.world(), self.world().table().view());
        let mut page = self.writer(servers::COLUMNS, area);
        if self.settings.asks_servers {
            servers::write_members(&mut page, view, self.now());
            let compared = world.table().compared();
            if view.members.len() > 1 && (compared.is_some() || self.shown.is_live()) {
                servers::write_trees(&mut page, compared, self.now());
            }
            servers::write_conclusions(&mut page, view, world.watch_event_rates().recent_load());
            if let ConnectionState::Connected { recursive: false, .. } = world.table().connection() {
                servers::write_one_shot(&mut page, view);
            }
        } else {
            servers::write_not_asked(&mut page);
        }
        let mut page = Page::new("Servers", servers::COLUMNS, page.lines());
        page.stale = !self.shows_truth();
        if !view.members.is_empty() {
            page.title.push((servers::summary(view), Tone::Text));
        }
        page
    }

    pub(super) fn output_page(&self, area: Area) -> Page {
        self.own_runs.output_page(self.writer(Columns::SIGNS, area), &self.settings.bindings)
    }

    /// Wraps the output of the user's command for the layout of the screen.
    pub(super) fn wrap_output(&mut self) {
        let Some(layout) = self.layout() else { return };
        let (columns, charset) = (self.writer(Columns::SIGNS, layout.main).text_columns(), self.charset());
        if let Some(output) = &mut self.own_runs.output {
            output.wrap(columns, charset);
        }
    }

    pub(super) fn unreadable_page(&self, area: Area) -> Page {
        let places = self.world().table().unreadable();
        let mut page = self.writer(Columns::TEXT, area);
        banner::write_unreadable(&mut page, places.iter().map(|(path, reason)| (path, &**reason)));
        let mut page = Page::new("Cannot be read", Columns::TEXT, page.lines());
        page.title.push((count(places.len()), Tone::Text));
        page
    }

    /// The page of the open deletion plan; `None` when none is open.
    fn plan(&self, area: Area) -> Option<Page> {
        let open = self.deletions.open.as_ref()?;
        let plan = open.plan();
        let question = deletion::DeletionQuestion {
            plan: &plan,
            context: self.settings.context.as_deref(),
            obstacle: open.obstacle(),
            finding_out: open.is_finding_out(),
            refused: open.refused(),
            changed: open.has_changed(),
            keys: deletion::AnswerKeys {
                yes: FixedKey::Yes.name(),
                enter: FixedKey::Enter.name(),
                leave: FixedKey::Leave.name(),
                turn: open.turn_key(&self.settings.bindings).map(Key::name),
            },
        };
        Some(deletion::page(|| self.writer(Columns::SIGNED_FACTS, area), &question))
    }

    /// The explanation for a prompt that asks for a number of clients; `None` for other prompts.
    fn prompt_page(&self, area: Area) -> Option<Page> {
        let page = self.writer(Columns::SIGNS, area);
        match self.footer.prompt.as_ref()?.purpose {
            PromptPurpose::Clients => Some(test_clients::pair(page, &self.own_node(), super::DEFAULT_CLIENTS)),
            PromptPurpose::ClientsIntoQueue => Some(match self.destination()? {
                Ok(to) => test_clients::queue(
                    page,
                    test_clients::QueueClients {
                        algorithm: to.algorithm,
                        path: &to.path,
                        naming: &to.naming,
                        reads: to.reads,
                        in_own_queue: to.in_own_queue,
                        foreign: !to.path.is_within(&self.own_node()),
                        default: super::DEFAULT_CLIENTS,
                    },
                    &self.settings.bindings.name(Command::Stop),
                ),
                Err(reason) => test_clients::refused(page, &reason.to_string()),
            }),
            PromptPurpose::Filter | PromptPurpose::Command | PromptPurpose::Confirmation => None,
        }
    }

    /// A notice that is too long for one line; `None` while a prompt is open.
    fn notice_page(&self, area: Area) -> Option<Page> {
        let notice = self.footer.notice.as_ref().filter(|_| self.footer.prompt.is_none() && !self.notice_fits())?;
        let mut page = self.writer(Columns::SIGNS, area);
        page.add(Some(notice.sign), None, &notice.text, Tone::Text);
        Some(Page { title: Vec::new(), ..Page::new("", Columns::SIGNS, page.lines()) })
    }

    /// Whether the notice fits into the line above the footer.
    pub fn notice_fits(&self) -> bool {
        self.footer.notice.as_ref().is_none_or(|notice| {
            let mut page = PageWriter::new(Columns::SIGNS, self.size.0, self.charset());
            page.sentence(&notice.text, Tone::Text);
            page.lines().len() == 1
        })
    }
}

/// Rows that Locks keeps above the box below it.
const LEAST_LOCKS: u16 = 14;

/// Maximum number of locks for whose lanes the box below Locks leaves room.
const MAX_LOCKS_WITH_LANES: usize = 20;

/// Minimum lines of a text below a list.
const MIN_TEXT_HEIGHT: u16 = 6;

/// The screen, terminal size, open lock and single shown pane that a height of the box below the
/// list belongs to. While these stay the same, the box only grows, so that moving the selection
/// does not move the list.
pub type SideOf = (Screen, (u16, u16), Option<LockId>, Option<usize>);

impl App {
    /// Computes the layout.
    pub(super) fn arrange(&mut self) {
        let mut wishes = self.wishes();
        if self.screen() == Screen::Locks {
            // Recent events leave room for the lanes of the locks.
            let rows = if wishes.rows > MAX_LOCKS_WITH_LANES { wishes.rows } else { wishes.rows * 2 + 2 };
            wishes.side = self.below_locks_wish(Layout::left_below_rows(self.size.1, &Wishes { rows, ..wishes }));
        }
        let lock = self.world().open_lock().map(lockscope_model::queue::LockQueue::id);
        let of = (self.screen(), self.size, lock, self.only_pane(self.size.0));
        if let Some((before, height)) = self.navigation.side
            && before == of
        {
            wishes.side.1 = wishes.side.1.max(height);
        }
        self.navigation.side = Some((of, wishes.side.1));
        self.layout = Layout::of(self.size, wishes);
    }

    fn wishes(&self) -> Wishes {
        let lines = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
        let figures = self.screen() == Screen::Contend && !self.shows_picture();
        Wishes {
            banner: lines(self.banner_lines().len()),
            caption: self.caption_height(),
            fleets: figures,
            overlaps: if self.shows_picture() { 0 } else { lines(self.overlap_lines().len()) },
            rows: self.screen().list().map_or(0, |list| list.len(self)),
            side: self.side_wish(),
            side_fills: matches!(self.screen(), Screen::Ensembles | Screen::Timeline | Screen::History),
            least_rows: if self.screen() == Screen::Locks { LEAST_LOCKS } else { 0 },
            beside: self.beside_width(),
        }
    }

    /// Columns of the selected lock beside Locks; 0 where there is no room for it.
    fn beside_width(&self) -> u16 {
        let has_lock = self.screen() == Screen::Locks && self.world().lock_rows().len() > 0;
        if has_lock { Layout::beside_width(self.size.0) } else { 0 }
    }

    fn side_wish(&self) -> (u16, u16) {
        let panes = self.screen().entry().panes;
        if panes.is_empty() {
            return (0, 0);
        }
        let width = Layout::pane_width(self.size.0, panes.len());
        let shown = self.only_pane(self.size.0).map_or(panes, |only| &panes[only..=only]);
        let height = |page: Page| page.height();
        let wanted = shown.iter().map(|(_, write)| height(write(self, Area { width, ..Area::default() }))).max();
        (MIN_TEXT_HEIGHT, wanted.unwrap_or(0).max(MIN_TEXT_HEIGHT))
    }

    pub(super) fn details_page(&self, area: Area) -> Page {
        let world = self.world();
        let row = world.queue_rows().row(self.contender_cursor().rank());
        let mut page = self.writer(Columns::FACTS, area);
        let mut title = "Details".to_owned();
        if let Some((lock, row)) = world.open_lock().zip(row) {
            title = details::title(row.contender, self.charset());
            let facts = world.table_at(self.now()).facts(lock, &row);
            let (now, live, utc) = (self.now(), self.shows_truth(), self.settings.utc);
            let unseen_before = self.unseen_before(lock, row.contender).is_some();
            let (table, passed) = (world.table(), self.passed(lock, &row));
            let selected = details::Selected { table, lock, row, facts, now, unseen_before, passed, live, utc };
            details::write(&mut page, &selected);
        }
        Page { stale: !self.shows_truth(), ..Page::new(title, Columns::FACTS, page.lines()) }
    }

    /// Says that the first holder's session is ending, which the checks have not looked at yet.
    fn dying_holder(&self, lock: &LockQueue) -> Option<String> {
        let row = lock.row(0).filter(|row| row.state == ContenderState::Holds)?;
        let table_at = self.world().table_at(self.now());
        let facts = table_at.facts(lock, &row);
        let when = facts.expires_in.map_or_else(String::new, |left| format!(" and expires in {}", countdown(left)));
        let dying = matches!(facts.owner, OwnerState::Expiring | OwnerState::Ghost);
        dying.then(|| format!("{} holds, but is not connected{when}.", table_at.who(row.contender)))
    }

    pub(super) fn findings_page(&self, area: Area) -> Page {
        let world = self.world();
        let mut page = self.writer(Columns::SIGNS, area);
        let mut number = 0;
        if let Some(lock) = world.open_lock() {
            let selected = world.queue_rows().row(self.contender_cursor().rank()).map(|row| &*row.contender.node);
            number = self.write_diagnosis(&mut page, lock, selected);
            // When both panes are visible, the details beside this page say it.
            let holder = lock.first_holder().filter(|_| self.only_pane(self.size.0).is_some());
            if let Some(unseen) = holder.and_then(|holder| self.unseen_before(lock, holder)) {
                page.sentence(&unseen, Tone::Text);
            }
        }
        let mut page = Page { stale: !self.shows_truth(), ..Page::new("Diagnosis", Columns::SIGNS, page.lines()) };
        if number > 0 {
            page.title.push((plural(number, "finding", "findings"), Tone::Text));
        }
        page.title.extend(self.as_of());
        page
    }

    /// Writes the findings of a lock, or that there is none. Returns their number.
    fn write_diagnosis(&self, page: &mut PageWriter, lock: &LockQueue, selected: Option<&str>) -> usize {
        let world = self.world();
        let found: Vec<_> = world.diagnosis().of(lock.id()).collect();
        let number = found.len();
        if let Some(dying) = self.dying_holder(lock).filter(|_| found.is_empty() && self.shows_truth()) {
            page.sentence(&dying, Tone::Unsure);
        } else if found.is_empty() {
            let servers = self.settings.asks_servers.then(|| &**world.table().view());
            let why = self.settings.bindings.name(Command::Go(Screen::Servers));
            let open = world.open_checks_of(lock.id());
            below_lists::write_no_finding(page, self.shows_truth(), open, servers, &why);
        } else {
            below_lists::write_lock_findings(page, found, selected, |of| self.known_since(of), self.settings.utc);
        }
        if let Some(starved) = self.starved(lock) {
            page.sentence(&starved, Tone::Text);
        }
        number
    }

    /// The diagnosis of a lock in a box of that width.
    pub fn lock_diagnosis(&self, lock: &LockQueue, width: u16) -> Page {
        let mut page = self.writer(Columns::SIGNS, Area { width, ..Area::default() });
        self.write_diagnosis(&mut page, lock, None);
        Page { stale: !self.shows_truth(), ..Page::new("Diagnosis", Columns::SIGNS, page.lines()) }
    }

    /// The findings of the lock that is selected in Locks; `None` when there are none, or when they
    /// stand beside the list.
    fn selected_lock_page(&self, width: u16) -> Option<Page> {
        let world = self.world();
        let lock = world.table().lock(self.cursors.locks.selected(world.locks())?)?;
        if self.beside_width() > 0 || world.diagnosis().worst(lock.id()).is_none() {
            return None;
        }
        let mut page = self.lock_diagnosis(lock, width);
        let path = fit(lock.path().as_str(), usize::from(width.saturating_sub(20)), Keep::End, self.charset());
        page.title.push((path, Tone::Text));
        page.title.extend(self.as_of());
        Some(page)
    }

    /// A sentence about what is unknown of the time before a holder was first seen. `None` while
    /// the state is stale: then more is unknown, and the screen says so elsewhere.
    fn unseen_before(&self, lock: &LockQueue, holder: &Contender) -> Option<String> {
        details::sentence(self.world().table_at(self.now()), lock, holder).filter(|_| self.shows_truth())
    }
}

/// Lines of the box with the graph: three sparklines.
const GRAPH_HEIGHT: u16 = 5;

impl App {
    /// Whether the box below Locks prefers the graph of watch events to recent events: the user
    /// asked for it, or a tour runs.
    fn prefers_graph(&self) -> bool {
        self.navigation.shows_graph || self.tour().is_some()
    }

    /// The text below Locks in a box of that size; `None` when the graph is shown instead.
    fn below_locks_page(&self, area: Area) -> Option<Page> {
        if self.navigation.shows_graph {
            return None;
        }
        let mut found = self.selected_lock_page(area.width);
        let room = usize::from(area.height.saturating_sub(BORDER));
        if let Some(page) = &mut found {
            below_lists::bring_remedy_in_sight(&mut page.lines, room, self.charset());
        }
        found.or_else(|| (!self.prefers_graph()).then(|| self.lately_page(area)).flatten())
    }

    /// The minimum and the wanted height of that box, in lines. `left` is the number of lines that
    /// the rows leave free.
    fn below_locks_wish(&self, left: u16) -> (u16, u16) {
        let width = self.size.0 - self.beside_width();
        let wrong = self.selected_lock_page(width).filter(|_| !self.navigation.shows_graph);
        let (least, wanted) = match self.below_locks_page(Area { width, height: u16::MAX, ..Area::default() }) {
            None => (GRAPH_HEIGHT, GRAPH_HEIGHT),
            Some(page) if wrong.is_some() => (GRAPH_HEIGHT, page.height()),
            // Recent events take no row from the list, except for one line of each kind.
            Some(page) => {
                let kinds = self.lately_page(Area { width, height: BORDER, ..Area::default() });
                let least = kinds.map_or(GRAPH_HEIGHT, |page| page.height());
                (least, page.height().min(left).max(least))
            }
        };
        (least, wanted.max(GRAPH_HEIGHT))
    }

    /// The recent events; `None` before the first read of the ensemble is complete.
    fn lately_page(&self, area: Area) -> Option<Page> {
        let (lately, now) = (self.world().lately(), self.now());
        let minutes = lately.minutes(now)?;
        let shown = ShownLately {
            waits: lately.waits(now).into_iter().map(|span| self.shown_span(span)).collect(),
            holds: lately.holds(now).into_iter().map(|span| self.shown_span(span)).collect(),
            leader: lately.leader().map(|leader| ShownLeader {
                address: &leader.address,
                since: leader.since.as_ref().map(|(at, before)| (*at, &**before)),
                changes: leader.changes(now),
            }),
            untold: self
                .unheard()
                .filter(|_| self.settings.asks_servers)
                .map(|_| self.key_label(Command::Go(Screen::Servers))),
            news: self.replay().is_none().then(|| self.shown_news(lately)),
            costliest: self.world().table().most_waited_for(1, now).pop(),
            utc: self.settings.utc,
        };
        let mut page = self.writer(Columns::FACTS, area);
        below_lists::write_lately(&mut page, &shown, usize::from(area.height.saturating_sub(BORDER)));
        let title = if minutes == 1 { "Last minute".to_owned() } else { format!("Last {minutes} minutes") };
        let mut page = Page { stale: !self.shows_truth(), ..Page::new(title, Columns::FACTS, page.lines()) };
        let key = self.key_label(Command::Picture);
        page.title.extend((!key.is_empty()).then(|| (format!("{key}: graph of watch events"), Tone::Dim)));
        Some(page)
    }

    fn shown_span<'a>(&self, span: &'a TimelineSpan) -> ShownSpan<'a> {
        ShownSpan {
            lasted: (span.at_least(self.now()), span.at_most(self.now())),
            lock: span.lock.to_string(),
            client: &span.client,
            ended: span.ended,
        }
    }

    fn shown_news(&self, lately: &Lately) -> ShownNews {
        let since = self.navigation.attention.looked_until(self.wall);
        let from = since.max(lately.begun());
        let mut shown = ShownNews { since, ..ShownNews::default() };
        for news in from.into_iter().flat_map(|from| lately.news(from).rev()) {
            match news {
                News::Lock(lock) => shown.locks.push(lock.to_string()),
                News::LockGone(lock) => shown.gone.push(lock.to_string()),
                News::Finding(finding) => shown.findings.push(format!("{} {}", finding.code, finding.lock)),
            }
        }
        shown
    }

    pub(super) fn session_page(&self, area: Area) -> Page {
        let (world, detail) = (self.world(), self.world().session_detail());
        let mut page = self.writer(Columns::FACTS, area);
        if let Some(id) = detail.session {
            let table_at = world.table_at(self.now());
            let contenders = detail.places.iter().filter_map(|place| {
                let (lock, position) = world.table().position(place.node.as_ref()?)?;
                world.table().lock(lock)?.row(position).map(|row| row.contender)
            });
            let ahead = world.table().clock().ahead_ms();
            let since: Option<Timestamp> = contenders.map(|contender| contender.contends_since(ahead)).min();
            let owner = table_at.owner_state(id, since.unwrap_or(self.now()));
            let (watches, places) = (&detail.watches, detail.places.len());
            session::write(
                &mut page,
                &ShownSession {
                    session: id,
                    view: table_at.view(),
                    last: table_at.table().clients().last_connection(id),
                    owner,
                    holds: detail.holds,
                    awaits: places - detail.holds,
                    watches: watches.paths.iter().map(ZnodePath::as_str).collect(),
                    more_watches: watches.more,
                    watches_are_whole: watches.is_whole,
                    ephemerals: self.owned_nodes(id),
                    asks_servers: self.settings.asks_servers,
                    now: self.now(),
                    live: self.shows_truth(),
                    utc: self.settings.utc,
                    servers: &self.settings.bindings.name(Command::Go(Screen::Servers)),
                },
            );
        }
        Page { stale: !self.shows_truth(), ..Page::new("Session", Columns::FACTS, page.lines()) }
    }

    /// The ephemeral nodes of a session, as far as a server listed them.
    fn owned_nodes(&self, session: SessionId) -> Option<OwnedNodes<'_>> {
        let table = self.world().table();
        let listed = table.view().ephemerals()?;
        let owned = listed.of(session);
        let paths = owned.into_iter().flat_map(|owned| &owned.paths);
        Some(OwnedNodes {
            count: owned.map_or(0, |owned| owned.count),
            paths: paths.map(|path| (path.as_str(), table.position(path).is_some())).collect(),
            is_whole: listed.whole,
        })
    }

    /// The events of the session, the newest first.
    pub(super) fn session_events_page(&self, area: Area) -> Page {
        let (world, detail) = (self.world(), self.world().session_detail());
        let mut page = self.writer(session::EVENT_COLUMNS, area);
        let entries = detail.events.iter().filter_map(|number| world.timeline().get(*number));
        session::write_events(&mut page, entries.map(session_event), detail.has_older_events, self.settings.utc);
        Page::new("What happened to it", session::EVENT_COLUMNS, page.lines())
    }
}

fn session_event(entry: &TimelineEntry) -> SessionEvent {
    let lock = entry.lock().map(ToString::to_string).unwrap_or_default();
    let number = entry.node().and_then(|node| Sequence::split(node)).map(|(_, Sequence(number))| number);
    let (waited_ms, held_ms, why) = match entry {
        TimelineEntry::Happening(happening) => {
            // A client that acquires the lock as soon as it enqueues has held it for no time, so no
            // figure is shown.
            let held = happening.held_ms.filter(|_| happening.event != LockEvent::Enqueued);
            (happening.waited_ms, held, None)
        }
        TimelineEntry::Finding { finding, .. } => (None, None, Some(finding.sentence().into_owned())),
        TimelineEntry::Deletion { ending, .. } => (None, None, Some(ending.to_string())),
    };
    SessionEvent { at: entry.at(), event: entry.event(), lock, number, waited_ms, held_ms, why }
}

/// The node whose page was opened last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenNode {
    path: ZnodePath,
    /// The result of reading the node and the time of the result; `None` during the read.
    read: Option<(Timestamp, NodeRead)>,
}

impl OpenNode {
    /// The node at that path, not read yet.
    pub(super) fn new(path: ZnodePath) -> Self {
        Self { path, read: None }
    }

    pub(super) fn path(&self) -> &ZnodePath {
        &self.path
    }
}

impl App {
    pub(super) fn node_read(&mut self, path: &ZnodePath, read: NodeRead) -> Update {
        let now = self.moment();
        // The result of a node that is no longer open is ignored.
        let Some(open) = self.navigation.node.as_mut().filter(|open| open.path == *path) else {
            return Update::default();
        };
        open.read = Some((now, read));
        Update::redraw()
    }

    pub(super) fn node_page(&self, area: Area) -> Page {
        let mut page = self.writer(node::COLUMNS, area);
        if let Some(open) = &self.navigation.node {
            let read = open.read.as_ref().map(|(at, read)| (*at, read.as_ref().map(|read| (**read).as_ref())));
            let again = &self.settings.bindings.name(Command::Go(Screen::Node));
            let clients = self.world().table().clients();
            let told = self.world().table().view().watchers_of(&open.path);
            let named = told.map(|told| {
                let named = |session: &SessionId| clients.identity(*session).in_sentence(self.now());
                (told.sessions.iter().map(named).collect::<Vec<_>>(), told.whole)
            });
            let watchers = named.as_ref().map(|(named, whole)| (&**named, *whole));
            let (path, utc) = (open.path.as_str(), self.settings.utc);
            node::write(&mut page, &ReadNode { path, read, utc, watchers, again });
        }
        Page::new("Node", node::COLUMNS, page.lines())
    }

    /// The selected node of the tree, and the recipe that would read the rows.
    pub(super) fn tree_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::FACTS, area);
        let (tree, bindings) = (self.tree(), &self.settings.bindings);
        if let Some(path) = self.selected_child().map(|row| tree.path_of(row)) {
            page.line("node", path.as_str(), Keep::End, Tone::Strong);
            if self.world().table().find(&path, None).is_some() {
                page.fact("lock", &bindings.fill("{open} opens its queue, {right} its nodes"), Tone::Text);
            }
        }
        if let Some(lines) = tree.suggestion() {
            let what = "The children look like a lock of no known recipe. In the config file, this would read them:";
            page.fact("recipe", what, Tone::Careful);
            for line in lines {
                let line = cut(&line, page.text_columns(), Keep::Start, self.charset());
                page.harmless("", line, Tone::Text);
            }
        }
        if !self.shown.is_past() {
            page.fact("find", &bindings.fill("{find-node} TEXT looks in names and data below this node"), Tone::Dim);
        }
        Page::new("Details", Columns::FACTS, page.lines())
    }

    /// The selected ensemble: its connection, and its findings.
    pub(super) fn ensemble_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNS, area);
        let Some(row) = self.selected_ensemble() else {
            return Page::new("Findings".to_owned(), Columns::SIGNS, page.lines());
        };
        let of = below_lists::OfEnsemble {
            state: row.state(),
            reason: row.reason(),
            summary: row.summary.as_ref(),
            utc: self.settings.utc,
        };
        below_lists::write_findings(&mut page, of);
        let (seen, most) = self.ensembles().map(|all| all.most_waited_for(Some(row))).unwrap_or_default();
        below_lists::write_most_waited_for(&mut page, seen, most.into_iter());
        let mut page = Page::new(row.name.to_string(), Columns::SIGNS, page.lines());
        page.title.push((row.connect.clone(), Tone::Dim));
        page
    }

    /// What happened in all ensembles, newest first.
    pub(super) fn ensemble_events_page(&self, area: Area) -> Page {
        let mut page = self.writer(below_lists::EVENT_COLUMNS, area);
        if let Some(ensembles) = self.ensembles() {
            let (seen, most) = ensembles.most_waited_for(None);
            below_lists::write_most_waited_for(&mut page, seen, most.into_iter());
        }
        let events: Vec<_> = self.ensembles().into_iter().flat_map(WatchedEnsembles::events).collect();
        below_lists::write_events(&mut page, events.iter().rev().copied().map(shown_ensemble_event), self.settings.utc);
        Page::new("All ensembles, newest first".to_owned(), below_lists::EVENT_COLUMNS, page.lines())
    }
}

fn shown_ensemble_event(event: &ListedEvent) -> below_lists::ShownEvent<'_> {
    let what = match &event.news {
        EnsembleNews::Raised(finding) => below_lists::ShownEnsembleNews::Finding { finding, raised: true },
        EnsembleNews::Renamed(before, finding) => below_lists::ShownEnsembleNews::Renamed(*before, finding),
        EnsembleNews::Cleared(finding) => below_lists::ShownEnsembleNews::Finding { finding, raised: false },
        EnsembleNews::State(state) => below_lists::ShownEnsembleNews::State(*state),
        EnsembleNews::Servers(trouble) => below_lists::ShownEnsembleNews::Servers(trouble.as_ref()),
    };
    below_lists::ShownEvent { at: event.at, ensemble: &event.ensemble, what }
}

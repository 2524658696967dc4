//! The text pages of one lock: the details of a contender, and the findings.

use super::{App, Area, Screen};
use crate::tui::keymap::Command;
use crate::tui::page::{Columns, Page, Tone, below_lists, details};
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_model::queue::{Contender, ContenderRow, ContenderState, LockQueue};
use lockscope_model::text::human::{duration, plural};

impl App {
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

    pub(super) fn findings_page(&self, area: Area) -> Page {
        let world = self.world();
        let mut page = self.writer(Columns::SIGNS, area);
        let mut number = 0;
        if let Some(lock) = world.open_lock() {
            let selected = world.queue_rows().row(self.contender_cursor().rank()).map(|row| &*row.contender.node);
            let found: Vec<_> = world.diagnosis().of(lock.id()).collect();
            number = found.len();
            if found.is_empty() {
                let servers = self.settings.asks_servers.then(|| &**world.table().view());
                let why = self.settings.bindings.name(Command::Go(Screen::Servers));
                let open = world.open_checks_of(lock.id());
                below_lists::write_no_finding(&mut page, self.shows_truth(), open, servers, &why);
            } else {
                below_lists::write_lock_findings(&mut page, found, selected);
            }
            if let Some(starved) = self.starved(lock) {
                page.sentence(&starved, Tone::Text);
            }
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

    /// The findings of the lock that is selected in Locks; `None` when there are none.
    pub(super) fn selected_lock_page(&self, width: u16) -> Option<Page> {
        let world = self.world();
        let lock = world.table().lock(self.cursors.locks.selected(world.locks())?)?;
        let found: Vec<_> = world.diagnosis().of(lock.id()).collect();
        if found.is_empty() {
            return None;
        }
        let mut page = self.writer(Columns::SIGNS, Area { width, ..Area::default() });
        below_lists::write_lock_findings(&mut page, found, None);
        if let Some(starved) = self.starved(lock) {
            page.sentence(&starved, Tone::Text);
        }
        let mut page = Page { stale: !self.shows_truth(), ..Page::new("Diagnosis", Columns::SIGNS, page.lines()) };
        page.title.push((lock.path().to_string(), Tone::Text));
        page.title.extend(self.as_of());
        Some(page)
    }

    /// A sentence about what is unknown of the time before a holder was first seen. `None` while
    /// the state is stale: then more is unknown, and the screen says so elsewhere.
    fn unseen_before(&self, lock: &LockQueue, holder: &Contender) -> Option<String> {
        details::sentence(self.world().table_at(self.now()), lock, holder).filter(|_| self.shows_truth())
    }

    /// A sentence that says that a writer has waited for longer than `stuck_after` while readers
    /// passed.
    fn starved(&self, lock: &LockQueue) -> Option<String> {
        let row = lock.row(lock.holding())?;
        let passed = self.passed(lock, &row)?;
        let table = self.world().table();
        let waited = self.now().since(row.contender.contends_since(table.clock_ahead_ms()));
        let is_long = waited >= self.world().diagnosis().thresholds().stuck_after;
        let who = self.world().table_at(self.now()).who(row.contender);
        is_long.then(|| format!("{who} has waited to write for {} while {passed}.", duration(waited)))
    }

    /// A phrase that says how many readers held and released the lock while the writer of this row
    /// waited.
    fn passed(&self, lock: &LockQueue, row: &ContenderRow<'_>) -> Option<String> {
        let is_waiting_writer =
            lock.kind() == LockKind::ReadWrite && (row.mode, row.state) == (RequestMode::Write, ContenderState::Waits);
        if !is_waiting_writer {
            return None;
        }
        let since = row.contender.contends_since(self.world().table().clock_ahead_ms());
        let (readers, is_all) = self.world().histories().readers_gone_since(lock.id(), since);
        let or_more = if is_all { "" } else { " or more" };
        (readers > 0).then(|| format!("{}{or_more} passed", plural(readers, "reader", "readers")))
    }
}

//! What the app does with deletions: opening a plan, its answer, tags, outcomes and the audit log.

use std::time::Duration;

use super::outcome::{DeletionNews, Working};
use super::{AnswerKey, Deletion, sentence};
use crate::tui::app::{App, AuditReading, Effect, Filter, Key, Notice, Prompt, PromptPurpose, Rows, Screen, Update};
use crate::tui::keymap::Command;
use crate::tui::page::{Scroll, Sign};
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_live::admin;
use lockscope_live::admin::{DeletePlan, MAX_TARGETS, NodeOutcome};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{ClientIdentity, LockId, LockQueue, LockTable};
use lockscope_model::text::human::{count, plural};

const READ_ONLY: &str = "To delete, start `lockscope --write`, or use `lockscope delete`.";

const NO_LOG: &str = "Nothing is deleted without an audit log: start the console with --audit-log FILE.";

/// How long a changed plan must be visible before an answer counts, so that the user can read it.
const MIN_READING_TIME: Duration = Duration::from_secs(1);

impl App {
    /// Opens the plan to delete the tagged contenders, or else the selected node.
    pub(in crate::tui::app) fn ask_to_delete(&mut self) -> Update {
        if let Some(why) = self.why_no_deletion() {
            return self.refuse(why);
        }
        let targets = self.targets();
        match DeletePlan::of_diagnosed(&self.live.table_at(self.wall), self.live.diagnosis(), &targets) {
            Ok(plan) => {
                let plan = plan.in_production(self.settings.production.clone());
                self.deletions.open = Some(Deletion::new(plan.clone()));
                Update::effect(Effect::FindGuards(Box::new(plan)))
            }
            Err(why) => self.refuse(sentence(&why.to_string())),
        }
    }

    /// Stores the recreation guards found for the open plan.
    pub(in crate::tui::app) fn guards_found(&mut self, found: Result<Box<DeletePlan>, String>) -> Update {
        Update { redraw: self.deletions.guards_found(found), effects: Vec::new() }
    }

    /// Returns why no deletion can start now, whatever is selected; `None` if one can.
    fn why_no_deletion(&self) -> Option<String> {
        if !self.settings.write {
            return Some(READ_ONLY.to_owned());
        }
        if self.settings.audit_log.is_none() {
            return Some(NO_LOG.to_owned());
        }
        if self.shown.is_paused() {
            let sentence = "Paused data may be stale: {pause} resumes, then {delete}.";
            return Some(self.settings.bindings.fill(sentence));
        }
        self.deletions.why_busy().map(str::to_owned)
    }

    /// Returns the tagged contenders where tags show, or else what the list of the screen selects.
    fn targets(&self) -> Vec<ZnodePath> {
        let list = self.navigation.screen.list().filter(|_| self.tags().is_empty() || !self.shows_tags());
        let tagged = || {
            let mut tagged: Vec<ZnodePath> = self.tags().paths().cloned().collect();
            tagged.sort_unstable();
            tagged
        };
        list.map_or_else(tagged, |list| list.deletable(self))
    }

    pub(in crate::tui::app) fn answer_plan(&mut self, key: Key) -> Update {
        // Without a layout the plan is not visible, and must not be confirmed.
        let seen = self.layout().is_some();
        let Some(deletion) = &mut self.deletions.open else { return Update::default() };
        match deletion.meaning(key, &self.settings.bindings) {
            Some(AnswerKey::Leave) => self.deletions.open = None,
            Some(AnswerKey::Yes) if seen => return self.confirm("y"),
            Some(AnswerKey::Typed) if seen => {
                let typed = deletion.typed.text().to_owned();
                return self.confirm(&typed);
            }
            Some(AnswerKey::Turn) if seen => {
                deletion.revokes = !deletion.revokes;
                (deletion.refused, deletion.scroll) = (None, Scroll::default());
                deletion.typed = Prompt::new(PromptPurpose::Confirmation, "");
            }
            _ if !seen => return Update::default(),
            _ => return self.scroll_or_type(key),
        }
        Update::redraw()
    }

    fn scroll_or_type(&mut self, key: Key) -> Update {
        if let Some(by) = self.scrolled_by(key) {
            self.scroll_plan(by);
            return Update::redraw();
        }
        let Some(deletion) = &mut self.deletions.open else { return Update::default() };
        if !deletion.type_key(key) {
            return Update::default();
        }
        deletion.refused = None;
        Update::redraw()
    }

    /// Returns how many lines a key scrolls the plan; `None` if it does not scroll, or may be
    /// typed.
    fn scrolled_by(&self, key: Key) -> Option<isize> {
        let moves = [
            (Command::Up, -1),
            (Command::Down, 1),
            (Command::PageUp, -self.page()),
            (Command::PageDown, self.page()),
            (Command::HalfPageDown, self.half_page()),
        ];
        let is_typed = self.deletions.open.as_ref().is_some_and(|deletion| deletion.may_be_typed(key));
        let found = moves.into_iter().find(|(command, _)| self.settings.bindings.keys_of(*command).contains(&key));
        found.filter(|_| !is_typed).map(|(_, by)| by)
    }

    fn scroll_plan(&mut self, by: isize) {
        let end = self.popup().map_or(0, |shown| shown.end());
        if let Some(deletion) = &mut self.deletions.open {
            deletion.scroll.step(by, end);
        }
    }

    fn confirm(&mut self, answer: &str) -> Update {
        let (now, table) = (self.wall, self.live.table());
        let Some(deletion) = &mut self.deletions.open else { return Update::default() };
        deletion.plan_again(table, self.live.diagnosis(), &self.settings.bindings, now);
        if !deletion.is_open() {
            return Update::redraw();
        }
        if deletion.changed.is_some_and(|changed| now.since(changed) < MIN_READING_TIME) {
            deletion.refused = Some("The plan changed just now: look again, then answer.".to_owned());
            return Update::redraw();
        }
        match admin::confirm(deletion.plan(), answer) {
            Ok(confirmed) => {
                self.deletions.working = Some(Working::new(confirmed.what(), table));
                self.deletions.open = None;
                self.deletions.tags.clear();
                Update::effect(Effect::Delete(Box::new(confirmed)))
            }
            Err(refused) => {
                deletion.refused = Some(sentence(&refused.to_string()));
                deletion.typed = Prompt::new(PromptPurpose::Confirmation, "");
                Update::redraw()
            }
        }
    }

    /// Tags the contenders that have all words, those of the range that has begun, or toggles the tag
    /// of the selected one and selects the next one.
    pub(in crate::tui::app) fn tag(&mut self, words: Option<&str>) {
        if let Some(why) = self.why_no_deletion() {
            return self.show_failure(why);
        }
        match words {
            Some(words) => self.tag_with(&Filter::new(words)),
            None => match self.deletions.tags.end_range() {
                Some(from) => self.tag_from(&from),
                None => self.tag_selected(),
            },
        }
    }

    /// Begins a range at the selected contender, or ends it.
    pub(in crate::tui::app) fn begin_range(&mut self) {
        if let Some(why) = self.why_no_deletion() {
            return self.show_failure(why);
        }
        if self.deletions.tags.end_range().is_some() {
            return;
        }
        let Some(from) = self.live.queue_rows().id(self.cursors.contenders.rank()) else {
            return self.show_hint("There is no contender to begin at.".to_owned());
        };
        self.deletions.tags.begin_range(from);
        let sentence = "A range begins here: {tag} tags from here to the selected contender.";
        self.show_hint(self.settings.bindings.fill(sentence));
    }

    /// Tags the contenders that are shown from that one to the selected one.
    fn tag_from(&mut self, from: &ZnodePath) {
        let (rows, to) = (self.live.queue_rows(), self.cursors.contenders.rank());
        let Some(from) = rows.rank(from) else {
            return self.show_hint("The beginning of the range is gone: begin again.".to_owned());
        };
        let range = from.min(to)..=from.max(to);
        let found: Vec<(ZnodePath, Zxid)> =
            range.filter_map(|rank| Some((rows.id(rank)?, rows.row(rank)?.contender.czxid))).collect();
        self.tag_each(found, 0);
    }

    /// Tags the contenders that have all words: those of the open queue, or of all locks that are
    /// listed. The names of their findings count, too.
    fn tag_with(&mut self, filter: &Filter) {
        if let Some(why) = filter.wrong() {
            return self.show_failure(why.to_owned());
        }
        let locks: Vec<LockId> = if self.screen() == Screen::Queue {
            self.live.open_lock().map(LockQueue::id).into_iter().collect()
        } else {
            let rows = self.live.lock_rows();
            (0..rows.len()).filter_map(|rank| rows.id(rank)).collect()
        };
        let (now, table, mut found, mut more) = (self.wall, self.live.table(), Vec::new(), 0);
        for lock in locks.into_iter().filter_map(|id| table.lock(id)) {
            for row in lock.rows(0..lock.len()) {
                let findings = self.live.diagnosis().of(lock.id());
                let own = findings.filter(|finding| finding.node.as_ref() == Some(&row.contender.node));
                let names = own.map(|finding| finding.code.id());
                if !filter.takes_contender_of(names, lock, &row, TableAt::new(table, now), now) {
                    continue;
                }
                if found.len() < MAX_TARGETS {
                    found.push((lock.path_of(row.contender), row.contender.czxid));
                } else {
                    more += 1;
                }
            }
        }
        // Without a contender, a later tag belongs to the lock that is open then.
        if self.screen() == Screen::Locks && !found.is_empty() {
            self.deletions.tags.keep_in_all();
        }
        self.tag_each(found, more);
    }

    /// Tags these contenders, and says how many are tagged and how many more there are.
    fn tag_each(&mut self, found: Vec<(ZnodePath, Zxid)>, more: usize) {
        let tags = &mut self.deletions.tags;
        let mut left = more;
        for (path, czxid) in found {
            left += usize::from(!tags.add(path, czxid));
        }
        let tagged = plural(tags.len(), "contender is", "contenders are");
        match (tags.len(), left) {
            (0, _) => self.show_hint("No contender is so: nothing is tagged.".to_owned()),
            (_, 0) => {
                let sentence =
                    self.settings.bindings.fill("tagged: {delete} shows the plan, {back} takes the tags away.");
                self.show_notice(format!("{tagged} {sentence}"));
            }
            (_, left) => self.show_failure(format!(
                "{tagged} tagged and {} more are not, because one plan holds at most {MAX_TARGETS}: delete them first.",
                count(left)
            )),
        }
    }

    /// Stores how many nodes of the plan that is carried out have an outcome.
    pub(in crate::tui::app) fn deletion_progressed(&mut self, done: usize) -> Update {
        let Some(working) = self.deletions.working.as_mut().filter(|working| working.done() != done) else {
            return Update::default();
        };
        working.progressed(done);
        Update::redraw()
    }

    /// Toggles the tag of the selected contender, and selects the next one.
    fn tag_selected(&mut self) {
        let Some(row) = self.live.queue_rows().row(self.cursors.contenders.rank()) else {
            return self.show_hint("There is no contender to tag.".to_owned());
        };
        let Some(path) = self.live.open_lock().map(|lock| lock.path_of(row.contender)) else { return };
        if self.deletions.tags.toggle(path, row.contender.czxid) {
            self.step(1);
        } else {
            self.show_hint(format!("One plan holds at most {MAX_TARGETS} nodes."));
        }
    }

    /// Shows the outcome on every screen and in the timeline. Does not touch the table of locks,
    /// which follows the ensemble.
    pub(in crate::tui::app) fn deletion_done(&mut self, done: Result<Vec<NodeOutcome>, String>) -> Update {
        match done {
            Err(why) => {
                self.deletions.working = None;
                self.show_failure(why);
            }
            Ok(outcomes) => {
                let DeletionNews { text, failed, entries, freed } =
                    DeletionNews::new(&outcomes, self.deletions.working.take(), self.wall);
                for entry in entries {
                    self.live.push(entry);
                }
                let sign = if failed { Sign::Bad } else { Sign::Done };
                self.footer.notice = Some(Notice { freed, ..Notice::new(text, sign, self.wall) });
                self.name_new_holder();
            }
        }
        self.read_audit_again()
    }

    /// Adds the new holder to the notice of a deletion, once the table no longer has the deleted
    /// node.
    pub(in crate::tui::app) fn name_new_holder(&mut self) {
        let (now, table) = (self.wall, self.live.table());
        let Some(notice) = &mut self.footer.notice else { return };
        let Some((_, lock)) = notice.freed.take_if(|(node, _)| table.position(node).is_none()) else { return };
        if let Some(lock) = table.find(&lock.path, lock.name.as_deref()).and_then(|id| table.lock(id)) {
            *notice = Notice::new(format!("{} {}", notice.text, holder_now(lock, table, now)), Sign::Done, now);
        }
    }

    /// Opens the audit log and reads it again.
    pub(in crate::tui::app) fn open_audit(&mut self) -> Update {
        self.go(Screen::Audit);
        Update { redraw: true, effects: self.audit.read().into_iter().collect() }
    }

    /// Reads the log again after an entry was written.
    fn read_audit_again(&mut self) -> Update {
        Update { redraw: true, effects: self.audit.read_again().into_iter().collect() }
    }

    pub(in crate::tui::app) fn audit_read(&mut self, reading: AuditReading) -> Update {
        Update { redraw: true, effects: self.audit.store(reading).into_iter().collect() }
    }
}

fn holder_now(lock: &LockQueue, table: &LockTable, now: Timestamp) -> String {
    let Some(holder) = lock.first_holder() else { return "Nobody holds the lock now.".to_owned() };
    match table.clients().identity_of(holder) {
        ClientIdentity { session: None, name: None, .. } => format!("It is now held by {}.", lock.path_of(holder)),
        client => format!("It is now held by {}.", client.in_sentence(now)),
    }
}

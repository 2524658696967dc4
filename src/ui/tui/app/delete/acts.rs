//! What the app does with deletions: opening a plan, its answer, tags, outcomes and the audit log.

use std::time::Duration;

use super::outcome::{DeletionNews, Working};
use super::{AnswerKey, Deletion, sentence};
use crate::tui::app::{App, AuditReading, Effect, Key, Notice, Prompt, PromptPurpose, Screen, Update};
use crate::tui::keymap::Command;
use crate::tui::page::Scroll;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::admin;
use lockscope_live::admin::{DeletePlan, MAX_TARGETS, NodeOutcome};
use lockscope_model::queue::{ClientIdentity, LockQueue, LockTable};

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

    /// Returns the tagged contenders on Queue, or else what the list of the screen selects.
    fn targets(&self) -> Vec<ZnodePath> {
        let list = self.navigation.screen.list().filter(|_| self.tags().is_empty() || self.screen() != Screen::Queue);
        list.map_or_else(|| self.tags().paths().cloned().collect(), |list| list.deletable(self))
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

    /// Toggles the tag of the selected contender, and selects the next one.
    pub(in crate::tui::app) fn tag(&mut self) {
        if let Some(why) = self.why_no_deletion() {
            return self.show_failure(why);
        }
        let Some(row) = self.live.queue_rows().row(self.cursors.contenders.rank()) else {
            return self.show_failure("There is no contender to tag.".to_owned());
        };
        let Some(path) = self.live.open_lock().map(|lock| lock.path_of(row.contender)) else { return };
        if self.deletions.tags.toggle(path, row.contender.czxid) {
            self.step(1);
        } else {
            self.show_failure(format!("One plan holds at most {MAX_TARGETS} nodes."));
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
                self.footer.notice = Some(Notice { freed, ..Notice::new(text, failed, self.wall) });
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
            *notice = Notice::new(format!("{} {}", notice.text, holder_now(lock, table, now)), false, now);
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

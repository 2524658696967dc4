//! Handles the keys while the plan of a deletion is open.

use super::{Deletion, MIN_READING_TIME, sentence};
use crate::tui::app::{App, Effect, Key, Prompt, PromptPurpose, Update, Working};
use crate::tui::keymap::{Bindings, Command, FixedKey, entry_of};
use crate::tui::page::Scroll;
use lockscope_live::admin::{self, Confirmation};

/// The meaning of a key while a plan is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Confirms the plan.
    Yes,
    /// Submits the typed answer.
    Typed,
    /// Switches between deleting and asking the owner to release.
    Turn,
    /// Closes the plan without doing anything.
    Leave,
}

impl Deletion {
    fn meaning(&self, key: Key, bindings: &Bindings) -> Option<Answer> {
        let found = self.answers(bindings).into_iter().find(|(keys, ..)| keys.contains(&key));
        found.map(|(_, answer, _)| answer)
    }

    fn answers(&self, bindings: &Bindings) -> Vec<(Vec<Key>, Answer, &'static str)> {
        let mut answers = Vec::new();
        let open = self.is_open();
        let (yes, turn) = if self.revokes {
            ("ask its owner to release", "delete instead")
        } else {
            ("delete", "ask its owner to release instead")
        };
        if open {
            answers.push(match self.plan().confirmation() {
                // Only the lower-case letter confirms.
                Confirmation::Yes => (vec![FixedKey::Yes.key()], Answer::Yes, yes),
                Confirmation::SequenceNumber(_) | Confirmation::NodeCount(_) | Confirmation::Context { .. } => {
                    (FixedKey::Enter.keys().to_vec(), Answer::Typed, yes)
                }
            });
        }
        if open && self.can_turn() {
            answers.push((self.turn_keys(bindings), Answer::Turn, turn));
        }
        answers.push((FixedKey::Leave.keys().to_vec(), Answer::Leave, "leave"));
        answers
    }

    /// Returns the first key of each possible answer, with a description of the answer.
    pub fn keys(&self, bindings: &Bindings) -> impl Iterator<Item = (Key, &'static str)> {
        self.answers(bindings).into_iter().filter_map(|(keys, _, word)| Some((*keys.first()?, word)))
    }

    /// Returns the key that switches between deleting and asking the owner; `None` if the owner
    /// cannot be asked.
    pub fn turn_key(&self, bindings: &Bindings) -> Option<Key> {
        self.turn_keys(bindings).into_iter().next().filter(|_| self.can_turn())
    }

    /// Returns the keys that switch between deleting and asking the owner. Leaves out keys that may
    /// be part of the typed answer; if that leaves out all configured keys, falls back to the
    /// default keys.
    fn turn_keys(&self, bindings: &Bindings) -> Vec<Key> {
        let usual = entry_of(Command::AskOwner).keys;
        let untyped = |keys: &[Key]| keys.iter().copied().filter(|key| !self.may_be_typed(*key)).collect::<Vec<_>>();
        let chosen = untyped(bindings.keys_of(Command::AskOwner));
        if chosen.is_empty() { untyped(usual) } else { chosen }
    }

    /// Returns whether the key may be part of the expected answer. For a number, only digits and
    /// `-` are; for a name, every character is.
    fn may_be_typed(&self, key: Key) -> bool {
        let Key::Char(letter) = key else { return false };
        let Some(expected) = self.plan().confirmation().typed() else { return false };
        let is_number = expected.parse::<i64>().is_ok();
        !is_number || letter.is_ascii_digit() || letter == '-'
    }

    /// Edits the typed answer. Ignores characters that cannot be part of the expected one. Returns
    /// whether the text changed.
    fn type_key(&mut self, key: Key) -> bool {
        let edits = !matches!(key, Key::Char(_)) && self.plan().confirmation() != Confirmation::Yes;
        (edits || self.may_be_typed(key)) && self.is_open() && self.typed.edit(key)
    }
}

impl App {
    pub(in crate::tui::app) fn answer_plan(&mut self, key: Key) -> Update {
        // Without a layout the plan is not visible, and must not be confirmed.
        let seen = self.layout().is_some();
        let Some(deletion) = &mut self.deletions.open else { return Update::default() };
        match deletion.meaning(key, &self.settings.bindings) {
            Some(Answer::Leave) => self.deletions.open = None,
            Some(Answer::Yes) if seen => return self.confirm("y"),
            Some(Answer::Typed) if seen => {
                let typed = deletion.typed.text().to_owned();
                return self.confirm(&typed);
            }
            Some(Answer::Turn) if seen => {
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
}

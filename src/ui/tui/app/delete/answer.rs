//! What a key answers to the plan of a deletion.

use super::{Deletion, MIN_READING_TIME, sentence};
use crate::tui::app::{App, Effect, Key, Prompt, PromptPurpose, Update, Working};
use crate::tui::page::Scroll;
use lockscope_live::admin::{self, Confirmation};

/// What a key means while a plan is open: all others mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It is meant.
    Yes,
    /// What was typed is the answer.
    Typed,
    /// From the deletion to asking the owner, or back.
    Turn,
    /// Nothing is to be done.
    Leave,
}

impl Deletion {
    fn meaning(&self, key: Key) -> Option<Answer> {
        let found = self.answers().into_iter().find(|(bound, ..)| *bound == key);
        found.map(|(_, answer, _)| answer)
    }

    fn answers(&self) -> Vec<(Key, Answer, &'static str)> {
        let mut answers = Vec::new();
        let open = self.is_open();
        let (yes, turn) = if self.revokes {
            ("ask its owner to release", "delete instead")
        } else {
            ("delete", "ask its owner to release instead")
        };
        if open {
            answers.push(match self.plan().confirmation() {
                Confirmation::Yes => (Key::Char('y'), Answer::Yes, yes),
                Confirmation::SequenceNumber(_) | Confirmation::Context { .. } => (Key::Enter, Answer::Typed, yes),
            });
        }
        if open && self.can_turn() {
            // A name that is typed may have the letter in it.
            let key = if self.plan.production().is_some() { Key::Ctrl('r') } else { Key::Char('r') };
            answers.push((key, Answer::Turn, turn));
        }
        answers.push((Key::Esc, Answer::Leave, "leave"));
        answers
    }

    /// The keys that mean something now, with what they do.
    pub fn keys(&self) -> impl Iterator<Item = (Key, &'static str)> {
        self.answers().into_iter().map(|(key, _, word)| (key, word))
    }

    /// Takes what is typed; only what the expected answer could be made of.
    fn type_key(&mut self, key: Key) -> bool {
        let Some(expected) = self.plan().confirmation().typed() else { return false };
        let is_number = expected.parse::<i64>().is_ok();
        match key {
            Key::Char(letter) if is_number && !letter.is_ascii_digit() && letter != '-' => false,
            key => self.is_open() && self.typed.edit(key),
        }
    }
}

impl App {
    pub(in crate::tui::app) fn answer_plan(&mut self, key: Key) -> Update {
        // What cannot be seen cannot be confirmed.
        let seen = self.layout().is_some();
        let Some(deletion) = &mut self.deletions.open else { return Update::default() };
        match deletion.meaning(key) {
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
            _ => match key {
                Key::Up => self.scroll_plan(-1),
                Key::Down => self.scroll_plan(1),
                Key::PageUp | Key::Ctrl('b') => self.scroll_plan(-self.page()),
                Key::PageDown | Key::Ctrl('f') => self.scroll_plan(self.page()),
                Key::Ctrl('d') => self.scroll_plan(self.half_page()),
                key if deletion.type_key(key) => deletion.refused = None,
                _ => return Update::default(),
            },
        }
        Update::redraw()
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
        deletion.look_again(table, self.live.diagnosis(), now);
        if !deletion.is_open() {
            return Update::redraw();
        }
        if deletion.changed.is_some_and(|changed| now.since(changed) < MIN_READING_TIME) {
            deletion.refused = Some("What is known of it changed just now: look again, then answer.".to_owned());
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

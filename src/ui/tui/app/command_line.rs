//! Typing in the footer: filters, commands and answers.

use super::commands::named;
use super::{App, Key, Prompt, PromptPurpose, Update};
use crate::tui::keymap::FixedKey;

impl App {
    pub(super) fn type_key(&mut self, key: Key) -> Update {
        let Some(mut prompt) = self.footer.prompt.take() else { return Update::default() };
        match (FixedKey::typed(key), prompt.purpose) {
            (Some(FixedKey::Leave), PromptPurpose::Filter) => self.look_for(""),
            // The open deletion plan handles these keys.
            (Some(FixedKey::Leave), _) | (Some(FixedKey::Enter), PromptPurpose::Confirmation) => {}
            (Some(FixedKey::Enter), PromptPurpose::Filter) => {
                self.footer.filters.remember(prompt.text());
                self.looked_for(prompt.text());
            }
            (Some(FixedKey::Enter), PromptPurpose::Clients) => return self.start_pair(prompt.text()),
            (Some(FixedKey::Enter), PromptPurpose::ClientsIntoQueue) => return self.start_in_queue(prompt.text()),
            (Some(FixedKey::Enter), PromptPurpose::Command) => {
                self.footer.commands.remember(prompt.text().trim());
                return self.obey(prompt.text());
            }
            (Some(paging @ (FixedKey::PageUp | FixedKey::PageDown)), PromptPurpose::Filter) => {
                self.footer.prompt = Some(prompt);
                self.step(if paging == FixedKey::PageUp { -self.page() } else { self.page() });
            }
            _ => {
                let leaves = FixedKey::DeleteBefore.is(key) && prompt.text().is_empty();
                let before = prompt.text().to_owned();
                // The completion behind the cursor is computed from the stored prompt.
                self.footer.prompt = Some(prompt.clone());
                self.edit(&mut prompt, key);
                if prompt.purpose == PromptPurpose::Filter && prompt.text() != before {
                    self.look_for(prompt.text());
                }
                self.footer.prompt = (!leaves).then_some(prompt);
            }
        }
        Update::redraw()
    }

    fn edit(&self, prompt: &mut Prompt, key: Key) {
        let history = self.footer.history(prompt.purpose);
        match (FixedKey::typed(key), history) {
            (Some(FixedKey::Older), Some(history)) => prompt.recall(history, true),
            (Some(FixedKey::Newer), Some(history)) => prompt.recall(history, false),
            (Some(way @ (FixedKey::Complete | FixedKey::CompleteBack)), Some(_))
                if prompt.purpose == PromptPurpose::Command =>
            {
                prompt.complete(way == FixedKey::Complete, |line| self.completions(line));
            }
            (Some(FixedKey::Right | FixedKey::End), Some(_)) if prompt.is_at_end() => {
                if let Some(rest) = self.ghost() {
                    let line = format!("{}{rest}", prompt.text());
                    prompt.put(&line);
                }
            }
            _ => {
                prompt.edit(key);
            }
        }
    }

    /// Parses and carries out a typed command.
    fn obey(&mut self, line: &str) -> Update {
        let line = line.trim();
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if name.is_empty() {
            return Update::redraw();
        }
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        if let Some(own) = self.own_command_named(name) {
            if argument.is_some() {
                return self.refuse(format!("`{name}` takes nothing after it."));
            }
            return self.run_own(&own);
        }
        match named(name, self.navigation.screen, &self.settings.bindings) {
            Ok(entry) if argument.is_some() && entry.argument.is_none() => {
                self.show_failure(format!("`{}` takes nothing after it.", entry.name));
            }
            Ok(entry) if !self.navigation.screen.has(entry.command) => {
                self.show_failure(format!("`{}` does nothing on this screen.", entry.name));
            }
            Ok(entry) => return self.run(entry.command, argument),
            Err(error) => self.show_failure(error.sentence(&self.settings.bindings)),
        }
        Update::redraw()
    }
}

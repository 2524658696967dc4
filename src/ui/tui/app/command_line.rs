//! Typing in the footer: the filter, commands, and what is asked for.

use super::commands::named;
use super::{App, Key, PromptPurpose, Update};

impl App {
    pub(super) fn type_key(&mut self, key: Key) -> Update {
        let Some(mut prompt) = self.footer.prompt.take() else { return Update::default() };
        match (key, prompt.purpose) {
            (Key::Esc, PromptPurpose::Filter) => self.look_for(""),
            // A plan takes its keys itself.
            (Key::Esc, _) | (Key::Enter, PromptPurpose::Confirmation) => {}
            (Key::Enter, PromptPurpose::Filter) => {
                self.footer.filters.remember(prompt.text());
                self.looked_for(prompt.text());
            }
            (Key::Enter, PromptPurpose::Clients) => return self.start_pair(prompt.text()),
            (Key::Enter, PromptPurpose::ClientsIntoQueue) => return self.start_in_queue(prompt.text()),
            (Key::Enter, PromptPurpose::Command) => {
                self.footer.commands.remember(prompt.text().trim());
                return self.obey(prompt.text());
            }
            (Key::PageUp | Key::PageDown, PromptPurpose::Filter) => {
                self.footer.prompt = Some(prompt);
                self.step(if key == Key::PageUp { -self.page() } else { self.page() });
            }
            _ => {
                let leaves = key == Key::Backspace && prompt.text().is_empty();
                let before = prompt.text().to_owned();
                // What follows the cursor is read from the prompt.
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

    fn edit(&self, prompt: &mut super::Prompt, key: Key) {
        let history = self.footer.history(prompt.purpose);
        match (key, history) {
            (Key::Up | Key::Ctrl('p'), Some(history)) => prompt.recall(history, true),
            (Key::Down | Key::Ctrl('n'), Some(history)) => prompt.recall(history, false),
            (Key::Tab | Key::BackTab, Some(_)) if prompt.purpose == PromptPurpose::Command => {
                prompt.complete(key == Key::Tab, |line| self.completions(line));
            }
            (Key::Right | Key::End | Key::Ctrl('e' | 'f'), Some(_)) if prompt.is_at_end() => {
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

    /// Carries out a typed command.
    fn obey(&mut self, line: &str) -> Update {
        let line = line.trim();
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if name.is_empty() {
            return Update::redraw();
        }
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        match named(name, self.navigation.screen, &self.settings.bindings) {
            Ok(entry) if argument.is_some() && entry.argument.is_none() => {
                self.show_failure(format!("`{}` takes nothing after it.", entry.name));
            }
            Ok(entry) if !self.navigation.screen.has(entry.command) => {
                self.show_failure(format!("`{}` does nothing on this screen.", entry.name));
            }
            Ok(entry) => return self.run(entry.command, argument),
            Err(error) => self.show_failure(error.to_string()),
        }
        Update::redraw()
    }
}

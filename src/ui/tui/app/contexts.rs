//! Contexts: ensembles that have a name in the config file, and switching between them.

use super::leaving::Leaving;
use super::{App, ConfigChange, Update};

impl App {
    /// The names that `:context` takes.
    pub fn context_names(&self) -> impl Iterator<Item = &str> {
        self.settings.contexts.iter().map(|context| context.name.as_str())
    }

    /// Switches to another context. Without a name, shows the names of the contexts.
    pub(super) fn go_to_context(&mut self, name: Option<&str>) -> Update {
        let Some(name) = name else {
            self.show_notice(self.known_contexts());
            return Update::redraw();
        };
        if self.tour.is_some() {
            return self.refuse(self.settings.bindings.fill("During the tour there is one ensemble: {quit} ends it."));
        }
        if !self.context_names().any(|known| known == name) {
            return self.refuse(format!("There is no context `{name}`. {}", self.known_contexts()));
        }
        if self.working().is_some() {
            return self.refuse("A deletion is running: wait until it ends.".to_owned());
        }
        self.leave_console(Leaving::Context(name.to_owned()))
    }

    fn known_contexts(&self) -> String {
        if self.settings.contexts.is_empty() {
            return "The config file has no contexts: write [context.NAME] there.".to_owned();
        }
        let names = self.settings.contexts.iter().map(|context| {
            let here = if self.settings.context.as_ref() == Some(&context.name) { ", here" } else { "" };
            match (context.production, here) {
                (true, here) => format!("{} (production{here})", context.name),
                (false, "") => context.name.clone(),
                (false, _) => format!("{} (here)", context.name),
            }
        });
        format!("Contexts: {}.", names.collect::<Vec<_>>().join(", "))
    }

    /// Shows why the context could not be opened.
    pub(super) fn context_refused(&mut self, why: String) -> Update {
        self.show_failure(why);
        Update::redraw()
    }

    /// Applies a changed config file.
    pub(super) fn config_changed(&mut self, change: ConfigChange) -> Update {
        self.settings.contexts = change.contexts;
        if self.settings.production != change.production {
            // The other rule asks for another confirmation: the open plan is closed, and the user
            // starts again.
            self.deletions.open = None;
            self.settings.production = change.production;
        }
        self.settings.bindings = change.bindings;
        self.settings.commands = change.commands;
        // The question may be about a command that has changed.
        self.own_runs.question = None;
        let before = std::mem::replace(&mut self.settings.screens, change.screens);
        self.arrange_lists(&before);
        if change.wrong {
            self.show_failure(change.notice);
        } else {
            self.show_notice(change.notice);
        }
        Update::redraw()
    }
}

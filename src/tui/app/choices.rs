//! Choosing what is shown and in which order, and taking it along.

use super::{
    App, Cursor, Effect, Filter, LockOrder, Pane, Paused, Prompt, PromptPurpose, Screen, SessionOrder, Update, WaitKind,
};
use crate::znode::{escaped, must_be_escaped};

impl App {
    /// The filter of the screen; empty where there is none.
    pub fn filter(&self) -> &Filter {
        let world = self.world();
        match self.screen {
            Screen::Queue => world.queue_filter(),
            Screen::Timeline => world.timeline_filter(),
            Screen::Locks => world.locks().filter(),
            Screen::Audit => self.audit.filter(),
            Screen::Sessions => world.sessions().filter(),
            Screen::Waits | Screen::Servers | Screen::Contend | Screen::Help | Screen::Unreadable => &self.no_filter,
        }
    }

    pub(super) fn filter_by(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.set_filter(text),
            None => self.prompt = Some(Prompt::new(PromptPurpose::Filter, self.filter().text())),
        }
    }

    pub(super) fn set_filter(&mut self, text: &str) {
        let (filter, now, screen) = (Filter::new(text), self.now(), self.screen);
        if screen == Screen::Audit {
            return self.audit.set_filter(filter);
        }
        self.each_world(|world| match screen {
            Screen::Locks => world.arrange(|locks, table, diagnosis| {
                locks.set_filter(filter.clone(), table, diagnosis, now);
            }),
            Screen::Queue => world.filter_queue(filter.clone()),
            Screen::Timeline => world.filter_timeline(filter.clone()),
            Screen::Sessions => world.arrange_sessions(|sessions| sessions.set_filter(filter.clone()), now),
            Screen::Waits | Screen::Audit | Screen::Servers | Screen::Contend | Screen::Help | Screen::Unreadable => {}
        });
    }

    pub(super) fn sort_by(&mut self, column: Option<&str>) {
        if self.screen == Screen::Sessions {
            return self.sort_sessions_by(column);
        }
        let by = match column.map(LockOrder::named) {
            None => self.world().locks().by().next(),
            Some(Some(by)) => by,
            Some(None) => {
                let names: Vec<_> = LockOrder::ALL.iter().map(|by| by.id()).collect();
                return self.show_failure(format!("Locks can be sorted by {}.", names.join(", ")));
            }
        };
        self.sort(by, false);
    }

    fn sort_sessions_by(&mut self, column: Option<&str>) {
        let by = match column.map(SessionOrder::named) {
            None => self.world().sessions().by().next(),
            Some(Some(by)) => by,
            Some(None) => {
                let names: Vec<_> = SessionOrder::ALL.iter().map(|by| by.id()).collect();
                return self.show_failure(format!("Sessions can be sorted by {}.", names.join(", ")));
            }
        };
        self.sort_sessions(by, false);
    }

    fn sort_sessions(&mut self, by: SessionOrder, reversed: bool) {
        let now = self.now();
        self.each_world(|world| world.arrange_sessions(|sessions| sessions.sort(by, reversed), now));
        self.sessions = Cursor::first();
    }

    pub(super) fn turn_order(&mut self) {
        if self.screen == Screen::Sessions {
            let sessions = self.world().sessions();
            self.sort_sessions(sessions.by(), !sessions.reversed());
        } else {
            self.sort(self.world().locks().by(), !self.world().locks().reversed());
        }
    }

    pub(super) fn sort(&mut self, by: LockOrder, reversed: bool) {
        let now = self.now;
        self.each_world(|world| {
            world.arrange(|locks, table, diagnosis| locks.sort(by, reversed, table, diagnosis, now));
        });
        self.locks = Cursor::first();
    }

    /// Does something to what is live and to what is shown, when these are two.
    pub(super) fn each_world(&mut self, mut with: impl FnMut(&mut super::World)) {
        with(&mut self.live);
        if let Some(paused) = &mut self.paused {
            with(&mut paused.world);
        }
    }

    /// The screen keeps a copy of everything as of now; what comes goes on into the original. So the memory of a pause
    /// is bounded however long it lasts, and all of that moment can be looked at.
    pub(super) fn turn_pause(&mut self) {
        if self.paused.take().is_none() {
            self.paused = Some(Box::new(Paused {
                at: self.now,
                missed: 0,
                world: self.live.clone(),
                fleets: self.fleets.clone(),
            }));
        }
    }

    pub(super) fn copy(&mut self) -> Update {
        let world = self.world();
        let text = match self.screen {
            Screen::Locks => {
                let lock = self.locks.selected(world.locks()).and_then(|id| world.table().lock(id));
                lock.map(|lock| lock.path().to_string())
            }
            Screen::Queue => world.open_lock().and_then(|lock| {
                let row = world.queue_rows().row(self.contenders.rank())?;
                let session = row.contender.session.filter(|_| self.pane == Pane::Details);
                Some(session.map_or_else(|| lock.path_of(row.contender).to_string(), |session| session.to_string()))
            }),
            Screen::Timeline => self
                .timeline
                .selected(&world.timeline_rows())
                .and_then(|number| world.timeline().get(number)?.lock())
                .map(|lock| lock.path.to_string()),
            Screen::Contend => {
                self.selected_client().and_then(|client| client.session).map(|session| session.to_string())
            }
            Screen::Audit => self.selected_entry().and_then(|entry| match self.pane {
                Pane::Details => entry.subject.owner.clone(),
                Pane::List | Pane::Findings => Some(entry.subject.path.clone()),
            }),
            Screen::Sessions => world.sessions().row(self.sessions.rank()).map(|row| row.session.to_string()),
            Screen::Waits => world.waits().row(self.waits.rank()).and_then(|row| {
                let lock = || Some(world.table().lock(row.lock?)?.path().to_string());
                match row.kind {
                    WaitKind::Lock(_) | WaitKind::More(_) => lock(),
                    _ => row.session.map(|session| session.to_string()).or_else(lock),
                }
            }),
            Screen::Help | Screen::Unreadable | Screen::Servers => None,
        };
        let Some(text) = text else {
            self.show_failure("There is nothing selected to copy.".to_owned());
            return Update::redraw();
        };
        let text = harmless(text);
        self.show_notice(format!("Copied {text}"));
        Update::effect(Effect::Copy(text))
    }
}

/// The text as it may be pasted into a shell: with escapes where anything in it would do more than stand there. A backslash
/// alone does not, and is part of names.
fn harmless(text: String) -> String {
    let does_more = text.chars().any(|character| character != '\\' && must_be_escaped(character));
    if does_more { escaped(&text).into_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_does_nothing_where_it_is_pasted() {
        let copied = |text: &str| harmless(text.to_owned());
        assert_eq!(copied("/locks/a\nrm -rf x\u{9b}\u{202e}"), r"/locks/a\nrm -rf x\u{9b}\u{202e}");
        assert_eq!(copied(r"/locks/CORP\user-Größe"), r"/locks/CORP\user-Größe");
    }
}

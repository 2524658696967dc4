//! What keys and commands do.

use super::{
    App, Cursor, Effect, Filter, Key, Mouse, Pane, Paused, Prompt, Purpose, Rows, Screen, SortBy, Update, WHEEL,
};
use crate::queue::LockId;
use crate::tui::keymap::{self, Command};
use crate::tui::{details, help};
use crate::znode::ZnodePath;

/// Rows further than any list is long.
const FAR: isize = isize::MAX / 2;

impl Update {
    fn redraw() -> Self {
        Self { redraw: true, effects: Vec::new() }
    }

    fn effect(effect: Effect) -> Self {
        Self { redraw: true, effects: vec![effect] }
    }
}

impl App {
    pub(super) fn key(&mut self, key: Key) -> Update {
        if key == Key::Ctrl('c') {
            return Update::effect(Effect::Quit);
        }
        if self.prompt.is_some() && self.layout().is_some() {
            return self.type_key(key);
        }
        match keymap::command(key, self.screen) {
            Some(command) => {
                self.notice = None;
                self.run(command, None)
            }
            None => Update::default(),
        }
    }

    pub(super) fn mouse(&mut self, mouse: Mouse) -> Update {
        match mouse {
            Mouse::WheelUp => self.step(-WHEEL),
            Mouse::WheelDown => self.step(WHEEL),
            Mouse::Press(_, line) => return self.press(line),
        }
        Update::redraw()
    }

    /// Selects the row on that line; opens it when it is selected already.
    fn press(&mut self, line: u16) -> Update {
        let Some(layout) = self.layout() else { return Update::default() };
        let (first, height) = layout.rows();
        let Some(row) = line.checked_sub(first).map(usize::from).filter(|row| *row < height) else {
            return Update::default();
        };
        let world = self.paused.as_ref().map_or(&self.live, |paused| &paused.world);
        let (rank, selected, len) = match self.screen {
            Screen::Locks => (self.locks.top() + row, self.locks.rank(), world.locks().len()),
            Screen::Queue => (self.contenders.top() + row, self.contenders.rank(), world.queue_rows().len()),
            Screen::Timeline => (self.moments.top() + row, self.moments.rank(), world.timeline_rows().len()),
            Screen::Help | Screen::Unreadable => return Update::default(),
        };
        if rank >= len {
            return Update::default();
        }
        if rank == selected {
            return self.run(Command::Open, None);
        }
        match self.screen {
            Screen::Locks => self.locks.go(rank, world.locks()),
            Screen::Queue => self.contenders.go(rank, &world.queue_rows()),
            _ => self.moments.go(rank, &world.timeline_rows()),
        }
        Update::redraw()
    }

    fn type_key(&mut self, key: Key) -> Update {
        let Some(mut prompt) = self.prompt.take() else { return Update::default() };
        match (key, prompt.purpose) {
            (Key::Esc, Purpose::Filter) => self.set_filter(""),
            (Key::Esc, Purpose::Command) | (Key::Enter, Purpose::Filter) => {}
            (Key::Enter, Purpose::Command) => return self.obey(prompt.text()),
            (Key::Up, Purpose::Filter) => {
                self.prompt = Some(prompt);
                self.step(-1);
            }
            (Key::Down, Purpose::Filter) => {
                self.prompt = Some(prompt);
                self.step(1);
            }
            _ => {
                let leaves = key == Key::Backspace && prompt.text().is_empty();
                if prompt.edit(key) && prompt.purpose == Purpose::Filter && prompt.text() != self.filter().text() {
                    self.set_filter(prompt.text());
                }
                if !leaves {
                    self.prompt = Some(prompt);
                }
            }
        }
        Update::redraw()
    }

    /// Carries out a typed command.
    fn obey(&mut self, line: &str) -> Update {
        let line = line.trim();
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if name.is_empty() {
            return Update::redraw();
        }
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        match keymap::named(name) {
            Ok(entry) if argument.is_some() && entry.argument.is_none() => {
                self.fail(format!("`{}` takes nothing after it.", entry.name));
            }
            Ok(entry) if !entry.is_on(self.screen) => {
                self.fail(format!("`{}` does nothing on this screen.", entry.name));
            }
            Ok(entry) => return self.run(entry.command, argument),
            Err(error) => self.fail(error.to_string()),
        }
        Update::redraw()
    }

    fn run(&mut self, command: Command, argument: Option<&str>) -> Update {
        match command {
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-self.page()),
            Command::PageDown => self.step(self.page()),
            Command::First => self.to_end(false),
            Command::Last => self.to_end(true),
            Command::Left => self.left(),
            Command::Right => self.right(),
            Command::Open => self.open_selected(),
            Command::Back => self.back(),
            Command::NextPane => self.turn_pane(),
            Command::Locks => self.go(Screen::Locks),
            Command::Queue => self.to_queue(),
            Command::Timeline => self.go(Screen::Timeline),
            Command::Help => self.toggle(Screen::Help),
            Command::Unreadable => self.toggle(Screen::Unreadable),
            Command::Lock => self.open_path(argument),
            Command::Filter => self.filter_by(argument),
            Command::Sort => self.sort_by(argument),
            Command::Reverse => self.sort(self.world().locks().by(), !self.world().locks().reversed()),
            Command::Pause => self.turn_pause(),
            Command::Times => self.settings.utc = !self.settings.utc,
            Command::Copy => return self.copy(),
            Command::Export => return self.export(),
            Command::CommandLine => self.prompt = Some(Prompt::new(Purpose::Command, "")),
            Command::Redraw => return Update::effect(Effect::Redraw),
            Command::Suspend => return Update::effect(Effect::Suspend),
            Command::Quit => return Update::effect(Effect::Quit),
        }
        Update::redraw()
    }

    fn page(&self) -> isize {
        let rows = self.layout().map_or(1, |layout| match self.screen {
            Screen::Help | Screen::Unreadable => layout.lines(),
            _ => layout.rows().1,
        });
        isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
    }

    fn step(&mut self, by: isize) {
        let height = self.layout().map_or(1, |layout| layout.rows().1);
        let world = self.paused.as_ref().map_or(&self.live, |paused| &paused.world);
        match (self.screen, self.pane) {
            (Screen::Locks, _) => {
                self.locks.step(by, world.locks());
                self.locks.reveal(world.locks(), height);
            }
            (Screen::Queue, Pane::List) => {
                self.contenders.step(by, &world.queue_rows());
                self.contenders.reveal(&world.queue_rows(), height);
                self.scrolled = 0;
            }
            (Screen::Timeline, _) => {
                self.moments.step(by, &world.timeline_rows());
                self.moments.reveal(&world.timeline_rows(), height);
            }
            (Screen::Queue | Screen::Help | Screen::Unreadable, _) => {
                self.scrolled = self.scrolled.saturating_add_signed(by).min(self.scroll_end());
            }
        }
    }

    /// The furthest that a text can be scrolled.
    fn scroll_end(&self) -> usize {
        let Some(layout) = self.layout() else { return 0 };
        let lines = match self.screen {
            Screen::Help => help::lines().len(),
            Screen::Unreadable => self.world().table().unreadable().len() + 2,
            _ => {
                let lines = details::lines(self, usize::from(layout.side.width.saturating_sub(4))).len();
                return lines.saturating_sub(usize::from(layout.side.height.saturating_sub(2)));
            }
        };
        lines.saturating_sub(layout.lines())
    }

    fn to_end(&mut self, last: bool) {
        match (self.screen, self.pane) {
            (Screen::Locks, _) => self.locks = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Queue, Pane::List) => self.contenders = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Timeline, _) => self.moments = if last { Cursor::last() } else { Cursor::first() },
            (Screen::Queue | Screen::Help | Screen::Unreadable, _) => self.step(if last { FAR } else { -FAR }),
        }
    }

    fn left(&mut self) {
        match (self.screen, self.pane) {
            (Screen::Queue, Pane::Details) => self.turn_pane(),
            (Screen::Locks, _) => {}
            _ => self.leave(),
        }
    }

    fn right(&mut self) {
        match (self.screen, self.pane) {
            (Screen::Locks | Screen::Timeline, _) | (Screen::Queue, Pane::List) => self.open_selected(),
            _ => {}
        }
    }

    fn turn_pane(&mut self) {
        self.scrolled = 0;
        self.pane = if self.pane == Pane::List { Pane::Details } else { Pane::List };
    }

    fn open_selected(&mut self) {
        match self.screen {
            Screen::Locks => match self.locks.selected(self.world().locks()) {
                Some(id) => self.open_lock(id),
                None => self.fail("There is no lock to open.".to_owned()),
            },
            Screen::Queue if self.pane == Pane::List => self.turn_pane(),
            Screen::Timeline => self.open_happening(),
            Screen::Queue | Screen::Help | Screen::Unreadable => {}
        }
    }

    /// Opens the lock of the selected happening, on the contender that it was about when that is still there.
    fn open_happening(&mut self) {
        let world = self.world();
        let Some(happening) =
            self.moments.selected(&world.timeline_rows()).and_then(|number| world.timeline().get(number))
        else {
            return;
        };
        let node = happening.node.clone();
        match happening.lock.as_ref().map(|lock| (lock.id, world.table().lock(lock.id).is_some(), lock.path.clone())) {
            Some((id, true, path)) => {
                self.open_lock(id);
                let node = node.map(|node| path.child(&node));
                if let Some(node) = node.filter(|node| self.world().queue_rows().rank(node).is_some()) {
                    self.contenders = Cursor::on(node);
                }
            }
            Some((_, false, path)) => self.fail(format!("The lock {path} is gone.")),
            None => self.fail("This concerns the connection, not a lock.".to_owned()),
        }
    }

    fn open_path(&mut self, path: Option<&str>) {
        let Some(text) = path else {
            self.fail("Name the lock: `:lock /path`.".to_owned());
            return;
        };
        let (text, name) = text.split_once(' ').map_or((text, None), |(path, name)| (path, Some(name.trim())));
        match ZnodePath::new(text) {
            Err(error) => self.fail(error.to_string()),
            Ok(path) => match self.world().table().find(&path, name) {
                Some(id) => self.open_lock(id),
                None => self.fail(format!("No lock is known at {path}.")),
            },
        }
    }

    fn open_lock(&mut self, id: LockId) {
        let Some(name) = self.world().table().lock(id).map(crate::queue::LockQueue::lock_name) else { return };
        if self.open.as_ref() != Some(&name) {
            self.contenders = Cursor::first();
            self.each_world(|world| {
                world.filter_queue(Filter::default());
                world.open(Some(id));
            });
        }
        self.open = Some(name);
        self.go(Screen::Queue);
    }

    fn to_queue(&mut self) {
        match self.screen {
            Screen::Locks => self.open_selected(),
            _ if self.open.is_some() => self.go(Screen::Queue),
            _ => self.fail("Select a lock in Locks first.".to_owned()),
        }
    }

    fn go(&mut self, screen: Screen) {
        self.pane = Pane::List;
        self.scrolled = 0;
        if screen == self.screen {
            return;
        }
        // Going where one has been goes back there, so the way back never grows beyond the number of screens.
        if let Some(at) = self.before.iter().position(|before| *before == screen) {
            self.before.truncate(at);
        } else {
            self.before.push(self.screen);
        }
        self.screen = screen;
    }

    fn toggle(&mut self, screen: Screen) {
        if self.screen == screen { self.leave() } else { self.go(screen) }
    }

    fn back(&mut self) {
        if self.screen == Screen::Queue && self.pane == Pane::Details {
            self.turn_pane();
        } else if !self.filter().is_empty() {
            self.set_filter("");
        } else {
            self.leave();
        }
    }

    fn leave(&mut self) {
        let screen = self.before.pop().unwrap_or(Screen::Locks);
        self.pane = Pane::List;
        self.scrolled = 0;
        self.screen = screen;
    }

    /// The filter of the screen; empty where there is none.
    pub fn filter(&self) -> &Filter {
        let world = self.world();
        match self.screen {
            Screen::Queue => world.queue_filter(),
            Screen::Timeline => world.timeline_filter(),
            Screen::Locks | Screen::Help | Screen::Unreadable => world.locks().filter(),
        }
    }

    fn filter_by(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.set_filter(text),
            None => self.prompt = Some(Prompt::new(Purpose::Filter, self.filter().text())),
        }
    }

    fn set_filter(&mut self, text: &str) {
        let (filter, now, screen) = (Filter::new(text), self.now, self.screen);
        self.each_world(|world| match screen {
            Screen::Locks => world.arrange(|locks, table| locks.set_filter(filter.clone(), table, now)),
            Screen::Queue => world.filter_queue(filter.clone()),
            Screen::Timeline => world.filter_timeline(filter.clone()),
            Screen::Help | Screen::Unreadable => {}
        });
    }

    fn sort_by(&mut self, column: Option<&str>) {
        let by = match column.map(SortBy::named) {
            None => self.world().locks().by().next(),
            Some(Some(by)) => by,
            Some(None) => {
                let names: Vec<_> = SortBy::ALL.iter().map(|by| by.id()).collect();
                return self.fail(format!("Locks can be sorted by {}.", names.join(", ")));
            }
        };
        self.sort(by, false);
    }

    fn sort(&mut self, by: SortBy, reversed: bool) {
        let now = self.now;
        self.each_world(|world| world.arrange(|locks, table| locks.sort(by, reversed, table, now)));
        self.locks = Cursor::first();
    }

    /// Does something to what is live and to what is shown, when these are two.
    fn each_world(&mut self, mut with: impl FnMut(&mut super::World)) {
        with(&mut self.live);
        if let Some(paused) = &mut self.paused {
            with(&mut paused.world);
        }
    }

    /// The screen keeps a copy of everything as of now; what comes goes on into the original. So the memory of a pause
    /// is bounded however long it lasts, and all of that moment can be looked at.
    fn turn_pause(&mut self) {
        if self.paused.take().is_none() {
            self.paused = Some(Box::new(Paused { at: self.now, missed: 0, world: self.live.clone() }));
        }
    }

    fn copy(&mut self) -> Update {
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
                .moments
                .selected(&world.timeline_rows())
                .and_then(|number| world.timeline().get(number)?.lock.as_ref())
                .map(|lock| lock.path.to_string()),
            Screen::Help | Screen::Unreadable => None,
        };
        match text {
            Some(text) => {
                self.tell(format!("Copied {text}"));
                Update::effect(Effect::Copy(text))
            }
            None => {
                self.fail("There is nothing selected to copy.".to_owned());
                Update::redraw()
            }
        }
    }
}

//! Input: which part of the screen handles a key, a press of the mouse or a typed line.
//!
//! Open questions and prompts take the keys first. The mouse presses tabs, titles of columns, rows
//! and the keys in the footer, and its wheel scrolls. On the command line, names of commands and
//! values of their arguments are completed. What the mouse can press is computed here as well: the
//! keys of this screen in the footer, as many as fit, and the line of tabs, which says as much of
//! each screen as the width allows.

use super::commands::{KeyPlace, command, named, strange};
use super::list::{List, Pressed};
use super::past::START;
use super::screens::SCREENS;
use super::{App, Area, Key, Mouse, Pane, Prompt, PromptPurpose, QueueList, Replay, Rows, Screen, Update};
use crate::tui::keymap::{ArgumentKind, Command, CommandEntry, FixedKey, commands};
use crate::tui::page::{Focus, Sign};
use lockscope_live::admin::Action;
use lockscope_model::text::human::{count, plural, time_of_day};
use lockscope_model::text::width;

impl App {
    pub(super) fn key(&mut self, key: Key) -> Update {
        if self.asks_to_quit() {
            return self.answer_leaving(key);
        }
        if FixedKey::Interrupt.is(key) {
            return self.quit();
        }
        if self.deletions.open.is_some() {
            return self.answer_plan(key);
        }
        if self.own_runs.question.is_some() {
            return self.answer_run(key);
        }
        if self.footer.prompt.is_some() && self.layout().is_some() {
            return self.type_key(key);
        }
        let place = self.key_place();
        match command(key, place, &self.settings.bindings) {
            Some(command) => self.carry_out(command),
            // In a terminal that is too small, neither a command nor a message would be visible.
            None if self.layout().is_none() => Update::default(),
            None => {
                if let Some(own) = self.settings.own_command(key, self.navigation.screen).cloned() {
                    self.tour_yields();
                    return self.run_own(&own);
                }
                let elsewhere = self.settings.own_elsewhere(key);
                let usual = || strange(key, place, &self.settings.bindings, self.settings.ascii);
                self.refuse(elsewhere.unwrap_or_else(usual))
            }
        }
    }

    /// Carries out a command as its key would.
    pub(super) fn carry_out(&mut self, command: Command) -> Update {
        self.tour_yields();
        self.footer.notice = None;
        self.run(command, None)
    }

    /// The state that decides what a key means.
    fn key_place(&self) -> KeyPlace {
        KeyPlace {
            screen: self.navigation.screen,
            reads_text: self.focused_list().is_none() && self.focused_page().is_some(),
            in_tour: self.tour.is_some(),
            in_past: self.shown.is_past(),
        }
    }
}

/// Rows that one step of the wheel moves.
const ROWS_PER_WHEEL_TURN: isize = 3;

fn is_in(area: Area, column: u16, line: u16) -> bool {
    (area.x..area.x + area.width).contains(&column) && (area.y..area.y + area.height).contains(&line)
}

impl App {
    pub(super) fn mouse(&mut self, mouse: Mouse) -> Update {
        if self.deletions.open.is_some() || self.asks_to_quit() || self.own_runs.question.is_some() {
            return Update::default();
        }
        match mouse {
            Mouse::WheelUp => self.step(-ROWS_PER_WHEEL_TURN),
            Mouse::WheelDown => self.step(ROWS_PER_WHEEL_TURN),
            Mouse::Press(column, line) => return self.press(column, line),
        }
        Update::redraw()
    }

    fn press(&mut self, column: u16, line: u16) -> Update {
        let Some(layout) = self.layout() else { return Update::default() };
        if is_in(layout.tabs, column, line) {
            let screen = self.tab_at(column);
            return screen.map_or_else(Update::default, |screen| self.press_command(Command::Go(screen)));
        }
        if is_in(layout.footer, column, line) && self.footer.prompt.is_none() {
            if self.footer.notice.take().is_some() {
                return Update::redraw();
            }
            return self.hint_at(column).map_or_else(Update::default, |command| self.press_command(command));
        }
        if self.footer.prompt.is_some() || self.shows_picture() || QueueList::shows_picture(self) {
            return Update::default();
        }
        if is_in(layout.main, column, line) {
            return self.press_list(layout.main, column, line);
        }
        // A press into a box below the list gives it the keys.
        let pressed = self
            .pages()
            .into_iter()
            .position(|shown| is_in(shown.area, column, line) && shown.focus == Focus::Elsewhere);
        if let Some((pane, _)) = pressed.and_then(|at| self.navigation.screen.entry().panes.get(self.pane_of(at))) {
            self.navigation.go_to_pane(*pane);
            return Update::redraw();
        }
        Update::default()
    }

    /// Handles a press into the list. On the title of a column, sorts by that column, or reverses
    /// the order if the list is sorted by it. On a row, selects the row, or opens it if it is
    /// selected.
    fn press_list(&mut self, main: Area, column: u16, line: u16) -> Update {
        let Some(list) = self.navigation.screen.list() else { return Update::default() };
        if line == main.y + 1 {
            let title = list.title_at(self, column.saturating_sub(main.x + 1), self.list_width());
            match title {
                Some((_, true)) => self.reverse(),
                Some((name, false)) => self.sort_by(Some(name)),
                None => return Update::default(),
            }
            return Update::redraw();
        }
        let Some((first, height)) = self.layout().map(|layout| layout.rows()) else { return Update::default() };
        let Some(row) = line.checked_sub(first).map(usize::from).filter(|row| *row < height) else {
            return Update::default();
        };
        let has_keys = self.focused_list().is_some();
        match list.press(self, row) {
            Pressed::Nothing => Update::default(),
            Pressed::SelectedRow if has_keys => self.run(Command::Open, None),
            Pressed::Row | Pressed::SelectedRow => {
                self.navigation.go_to_pane(super::Pane::List);
                Update::redraw()
            }
        }
    }

    /// Carries out a command as its key would.
    fn press_command(&mut self, command: Command) -> Update {
        self.tour_yields();
        self.footer.notice = None;
        if command == Command::Go(Screen::Queue) && self.screen() == Screen::Queue {
            return Update::default();
        }
        self.run(command, None)
    }

    /// The index of the screen's pane that the page at `at` belongs to.
    fn pane_of(&self, at: usize) -> usize {
        self.only_pane(self.size.0).unwrap_or(at)
    }

    fn type_key(&mut self, key: Key) -> Update {
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
        if let Some(own) = self.settings.commands.iter().find(|own| own.name == name).cloned() {
            if argument.is_some() {
                return self.refuse(format!("`{name}` takes nothing after it."));
            }
            return self.run_own(&own);
        }
        match named(name, self.navigation.screen, &self.settings.bindings) {
            Ok(entry) if argument.is_some() && entry.argument.is_none() => {
                self.show_hint(format!("`{}` takes nothing after it.", entry.name));
            }
            Ok(entry) if entry.command == Command::Tag && argument.is_some() && self.screen() == Screen::Locks => {
                return self.run(entry.command, argument);
            }
            Ok(entry) if !self.navigation.screen.has(entry.command) => {
                self.show_hint(format!("`{}` does nothing on this screen.", entry.name));
            }
            Ok(entry) => return self.run(entry.command, argument),
            Err(error) => self.show_failure(error.sentence(&self.settings.bindings)),
        }
        Update::redraw()
    }
}

/// Maximum number of completions.
const MAX_OFFERED: usize = 50;

impl App {
    /// Returns the completed lines for a typed line, the most likely first. Linear in the number of
    /// locks when the argument is a lock or a node.
    fn completions(&self, line: &str) -> Vec<String> {
        let Some((name, typed)) = line.trim_start().split_once(char::is_whitespace) else {
            return self.offered_names(line.trim_start());
        };
        let Ok(entry) = named(name, self.navigation.screen, &self.settings.bindings) else { return Vec::new() };
        let Some(argument) = entry.argument else { return Vec::new() };
        // Where an argument has several words, only the last one is completed.
        let several = matches!(argument.kind, ArgumentKind::Columns | ArgumentKind::Client);
        let (before, word) = match typed.rsplit_once(char::is_whitespace).filter(|_| several) {
            Some((before, word)) => (format!("{before} "), word),
            None => (String::new(), typed.trim_start()),
        };
        let lines = self.offered_values(argument.kind, word).into_iter().map(|value| format!("{name} {before}{value}"));
        lines.take(MAX_OFFERED).collect()
    }

    /// The text that completion would insert at the cursor of the command line.
    pub fn ghost(&self) -> Option<String> {
        let prompt = self.command_prompt()?;
        let offered = self.completions(prompt.text());
        offered
            .into_iter()
            .find_map(|line| Some(line.strip_prefix(prompt.text())?.to_owned()))
            .filter(|rest| !rest.is_empty())
    }

    /// The other completions of the last word, without the first, which is the
    /// [`ghost`](Self::ghost).
    pub fn other_completions(&self) -> Vec<String> {
        let Some(prompt) = self.command_prompt() else { return Vec::new() };
        let words = prompt.text().matches(char::is_whitespace).count();
        let word = |line: String| line.splitn(words + 1, char::is_whitespace).last().map(str::to_owned);
        self.completions(prompt.text()).into_iter().skip(1).filter_map(word).collect()
    }

    /// The entry of the command that is being typed, which describes its argument and its effect.
    pub fn typed_command(&self) -> Option<&'static CommandEntry> {
        let name = self.footer.prompt.as_ref()?.text().split_whitespace().next()?;
        commands().find(|entry| entry.name == name || entry.synonyms.contains(&name))
    }

    fn command_prompt(&self) -> Option<&Prompt> {
        let prompt = self.footer.prompt.as_ref()?;
        (prompt.purpose == PromptPurpose::Command && prompt.is_at_end() && !prompt.text().is_empty()).then_some(prompt)
    }

    /// The names of commands that start with `typed`. Synonyms come after all names.
    fn offered_names(&self, typed: &str) -> Vec<String> {
        let useful: Vec<_> = commands().filter(|entry| self.is_of_use(entry.command)).collect();
        let names = useful.iter().map(|entry| entry.name);
        let synonyms = useful.iter().flat_map(|entry| entry.synonyms.iter().copied());
        let screen = self.navigation.screen;
        let own = self.settings.commands.iter().filter(|own| own.screens.contains(&screen)).map(|own| &*own.name);
        let begins = names.chain(own).chain(synonyms).filter(|name| name.starts_with(typed));
        begins.take(MAX_OFFERED).map(str::to_owned).collect()
    }

    /// Whether a command does something on this screen now.
    fn is_of_use(&self, command: Command) -> bool {
        self.navigation.screen.has(command)
            && (self.tour.is_some() || !command.is_of_tour())
            && (self.has_fleets() || !command.is_for_fleets())
    }

    fn offered_values(&self, kind: ArgumentKind, typed: &str) -> Vec<String> {
        let list = self.navigation.screen.list();
        let begins = |value: &String| value.starts_with(typed) && value != typed;
        match kind {
            ArgumentKind::Text => Vec::new(),
            ArgumentKind::Moment => Some(START.to_owned()).filter(begins).into_iter().collect(),
            ArgumentKind::Columns => {
                let sign = if typed.starts_with('-') { "-" } else { "" };
                let names = list.map_or_else(Vec::new, List::sort_names);
                names.into_iter().map(|name| format!("{sign}{name}")).filter(begins).collect()
            }
            ArgumentKind::Lock | ArgumentKind::Node => {
                let table = self.world().table();
                let paths = table.locks().filter(|lock| lock.path().as_str().starts_with(typed));
                let named = paths.map(|lock| match lock.name().filter(|_| kind == ArgumentKind::Lock) {
                    Some(name) => format!("{} {name}", lock.path()),
                    None => lock.path().to_string(),
                });
                let mut found: Vec<_> = named.filter(begins).take(MAX_OFFERED).collect();
                found.sort_unstable();
                found.dedup();
                found
            }
            ArgumentKind::Session => {
                let sessions = self.world().sessions();
                let ids = (0..sessions.len()).filter_map(|rank| sessions.id(rank)).map(|id| id.to_string());
                ids.filter(begins).take(MAX_OFFERED).collect()
            }
            ArgumentKind::Client => {
                let clients = self.fleets().clients(self.side());
                let ids = clients.iter().map(|client| client.id.to_string());
                ["holder".to_owned()].into_iter().chain(ids).filter(begins).take(MAX_OFFERED).collect()
            }
            ArgumentKind::Scene => {
                let scenes = self.tour().map_or(0, |tour| tour.scene_number().1);
                (1..=scenes).map(|scene| scene.to_string()).filter(begins).collect()
            }
            ArgumentKind::Context => self.context_names().map(str::to_owned).filter(begins).take(MAX_OFFERED).collect(),
        }
    }
}

/// Columns before the first key.
const MARGIN: usize = 1;

/// Columns after each word.
const GAP: usize = 2;

/// A key in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub command: Command,
    pub key: String,
    /// What the key would do now.
    pub word: &'static str,
}

impl Hint {
    /// Columns of the key, the space and the word.
    fn width(&self) -> usize {
        width(&self.key) + 1 + width(self.word)
    }
}

impl App {
    /// The keys of this screen that fit into `columns`. Help and quit are always included.
    pub fn hints(&self, columns: usize) -> Vec<Hint> {
        let mut entries: Vec<_> = commands().filter(|entry| self.is_hinted(entry)).collect();
        // Keys that move through a recording come first, and keys that open another screen come
        // last.
        entries.sort_by_key(|entry| match entry.command {
            command if command.is_of_replay() => 0,
            Command::Go(screen) if screen != Screen::Help => 2,
            _ => 1,
        });
        let hints = entries.into_iter().filter_map(|entry| self.hint(entry));
        let (last, first): (Vec<_>, Vec<_>) =
            hints.partition(|hint| matches!(hint.command, Command::Go(Screen::Help) | Command::Quit));
        let needs = |hint: &Hint| hint.width() + GAP;
        let mut room = columns.saturating_sub(MARGIN + last.iter().map(needs).sum::<usize>());
        let fitting = first.into_iter().filter(|hint| {
            let fits = needs(hint) <= room;
            room = if fits { room - needs(hint) } else { 0 };
            fits
        });
        let mut shown: Vec<_> = fitting.collect();
        shown.extend(last);
        shown
    }

    /// The command in the footer at that column.
    fn hint_at(&self, column: u16) -> Option<Command> {
        let mut x = MARGIN;
        for hint in self.hints(usize::from(self.size.0)) {
            if (x..x + hint.width()).contains(&usize::from(column)) {
                return Some(hint.command);
            }
            x += hint.width() + GAP;
        }
        None
    }

    fn hint(&self, entry: &CommandEntry) -> Option<Hint> {
        let yields = self.tour().is_some() && entry.command.yields_to_tour();
        let mut keys = self.settings.bindings.keys(entry).iter();
        let key = keys.find(|key| !(yields && FixedKey::Spare.is(**key)))?;
        Some(Hint { command: entry.command, key: key.label(self.settings.ascii), word: self.word(entry) })
    }

    /// Whether a command would be refused on every screen, because nothing may be changed here.
    pub(super) fn is_refused(&self, command: Command) -> bool {
        let changes = matches!(command, Command::Delete | Command::Tag | Command::TagRange | Command::Start);
        (changes && !self.settings().write) || (self.replay().is_some() && command.changes_ensemble())
    }

    fn is_hinted(&self, entry: &CommandEntry) -> bool {
        let top = if self.ensembles().is_some() { Screen::Ensembles } else { Screen::Locks };
        let somewhere_to_go = self.screen() != top || self.is_narrowed();
        // Keys that would be refused now are left out, to leave room for those that work.
        let useful = match entry.command {
            command if command.is_of_replay() => self.replay().is_some(),
            command if self.is_refused(command) => false,
            Command::Go(Screen::Contend | Screen::Audit | Screen::Node | Screen::Comparison)
                if self.replay().is_some() =>
            {
                false
            }
            Command::Back => somewhere_to_go && !(self.screen() == Screen::Contend && self.has_fleets()),
            Command::Start if self.screen() == Screen::Contend => !self.has_fleets(),
            Command::Picture if self.screen() == Screen::Contend => self.has_fleets(),
            command if command.is_of_slow_motion() => self.has_fleets() && self.shows_picture(),
            Command::NextPane if self.screen() == Screen::Contend => self.fleets().is_pair(),
            Command::Filter | Command::Copy | Command::Pause if self.screen() == Screen::Contend => false,
            Command::Export if self.screen() == Screen::Contend => {
                !self.has_fleets() && self.fleets().each().next().is_some()
            }
            command if self.refusal_outside(command).is_some() => false,
            Command::Go(screen) => screen != self.screen() || screen == Screen::Help,
            command if command.is_for_fleets() => self.has_fleets(),
            _ => true,
        };
        entry.hint.is_some() && self.screen().has(entry.command) && useful
    }

    /// The word of a hint. Some words depend on what the key would do now.
    fn word(&self, entry: &CommandEntry) -> &'static str {
        match entry.command {
            Command::Back if self.is_narrowed() && self.is_searched() => "clear search",
            Command::Back if self.shows_tags() && self.tags().has_range() => "no range",
            Command::Back if self.shows_tags() && !self.tags().is_empty() => "untag",
            Command::Back if self.is_narrowed() => "clear filter",
            Command::Filter if self.is_searched() => "search",
            Command::ReturnToLive if self.replay().is_some_and(|replay| !replay.is_of_live()) => "end",
            Command::Pause if self.replay().is_some_and(Replay::is_playing) => "stop",
            Command::Pause if self.replay().is_some() => "play",
            Command::Pause if self.paused().is_some() => "resume",
            Command::NextPane if self.screen() == Screen::Contend => "side",
            Command::Start if self.screen() == Screen::Contend => "start",
            Command::Picture if self.screen() == Screen::Locks && !self.shows_graph() => "graph",
            Command::Picture if self.screen() == Screen::Locks => "lately",
            Command::Picture if self.shows_picture() || QueueList::shows_picture(self) => "list",
            Command::StopOrGo if self.slow_motion().is_stopped => "resume",
            Command::NextPane => match self.next_pane() {
                Pane::List if self.screen() == Screen::Queue => "queue",
                Pane::List => "list",
                Pane::Details => "details",
                Pane::Findings => "diagnosis",
                Pane::Events => "events",
            },
            _ => entry.hint.unwrap_or_default(),
        }
    }
}

/// How much the tabs show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TabForm {
    Full,
    WithoutHelp,
    /// Keys only, with the name of the current screen.
    Numbers,
}

/// Columns of a badge's sign and the spaces around it.
const BADGE_SIGN: usize = 4;

impl App {
    /// The badges of running work, such as test clients or a deletion. Each sign takes one column.
    pub fn badges(&self) -> Vec<(Sign, String)> {
        let mut badges = Vec::new();
        if self.has_fleets() {
            badges.push((Sign::Warning, plural(self.living_clients(), "test client", "test clients")));
        }
        if let Some(working) = self.working() {
            let nodes = plural(working.count(), "node", "nodes");
            let doing = match working.action() {
                Action::Delete if working.count() > 1 => {
                    format!("deleting {nodes}, {} done", count(working.done()))
                }
                Action::Delete => format!("deleting {nodes}"),
                Action::Revoke => format!("asking for {nodes}"),
            };
            badges.push((Sign::Busy, doing));
        }
        badges
    }

    /// The marks of a paused screen, from the longest to the shortest; empty when the screen is not
    /// paused.
    pub fn pause_texts(&self) -> Vec<String> {
        let Some(paused) = self.paused() else { return Vec::new() };
        let missed = usize::try_from(paused.missed).unwrap_or(usize::MAX);
        let as_of = format!(" PAUSED  as of {}", time_of_day(paused.at, self.settings.utc));
        let since = format!("{as_of}, {} since ", plural(missed, "change", "changes"));
        vec![since, format!("{as_of} "), " PAUSED ".to_owned()]
    }

    /// The tabs that fit, from left to right, each with its screen. The badges and the mark of a
    /// pause must be visible, so the names of the screens are shortened for them.
    pub fn tabs(&self) -> Vec<(Screen, String)> {
        let taken = self.badges().iter().map(|(_, text)| BADGE_SIGN + width(text)).sum::<usize>()
            + self.pause_texts().first().map_or(0, |text| width(text));
        let room = usize::from(self.size.0).saturating_sub(taken);
        let forms = [TabForm::Full, TabForm::WithoutHelp, TabForm::Numbers].map(|form| self.tabs_as(form));
        let fits = |tabs: &Vec<(Screen, String)>| tabs.iter().map(|(_, text)| width(text)).sum::<usize>() <= room;
        let at = forms.iter().position(fits).unwrap_or(forms.len() - 1);
        forms.into_iter().nth(at).unwrap_or_default()
    }

    fn tabs_as(&self, form: TabForm) -> Vec<(Screen, String)> {
        let has_tab = |screen: Screen| match screen {
            Screen::Help => form == TabForm::Full,
            Screen::Ensembles => self.ensembles().is_some(),
            _ => true,
        };
        let tabs = SCREENS.iter().filter(|entry| entry.has_tab && has_tab(entry.screen));
        let named = tabs.map(|entry| {
            let key = self.settings.bindings.keys(entry.go()).first().map(|key| key.label(true)).unwrap_or_default();
            let is_named = self.screen() == entry.screen || form != TabForm::Numbers;
            (entry.screen, if is_named { format!(" {key} {} ", entry.title) } else { format!(" {key} ") })
        });
        named.collect()
    }

    /// The screen whose tab is at a column.
    fn tab_at(&self, column: u16) -> Option<Screen> {
        let mut end = 0;
        self.tabs().into_iter().find_map(|(screen, text)| {
            end += width(&text);
            (usize::from(column) < end).then_some(screen)
        })
    }
}

//! Carries out commands: one method dispatches all of them, the others do what needs several parts
//! of the state.
//!
//! First the commands that filter, sort, pause, draw, copy and export: an exported file is JSON
//! with the same fields as the headless commands print. Then the user's own commands: programs of
//! the config file that run with values of the selected row. Last the ensembles: what a console of
//! several ensembles watches, going into one of them, and contexts, which are ensembles with a name
//! in the config file.

use std::sync::Arc;

use serde::Serialize;

use super::ensembles::{OpenWith, Sought};
use super::footer::Leaving;
use super::list::{Find, List, to_json};
use super::own_output::{CommandReport, OwnOutput, OwnQuestion};
use super::{
    App, ConfigChange, Effect, EnsembleReport, Filter, FoundLocks, Key, PromptPurpose, Recording, Screen, ScreenWorld,
    ScreensChosen, Shown, Update, WatchedEnsembles,
};
use crate::tui::keymap::{Command, FixedKey};
use crate::tui::own_command::{CommandOutput, OwnCommand, OwnValues, PreparedCommand, host_of};
use crate::tui::page::Scroll;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, escaped, must_be_escaped};
use lockscope_live::admin::ProductionMark;
use lockscope_live::observe::Observed;
use lockscope_model::diagnose::{EnsembleClaims, TableAt, crossed_now};
use lockscope_model::queue::{Change, ConnectionState, LockQueue};
use lockscope_model::report::{ReportedEnsemble, SCHEMA, Snapshot, rfc3339};
use lockscope_model::summary::EnsembleSummary;
use lockscope_model::text::human::plural;
use lockscope_past::record::LiveState;

impl App {
    pub(super) fn run(&mut self, command: Command, argument: Option<&str>) -> Update {
        let leads_to_ensemble = command.changes_ensemble()
            || command.notes()
            || command == Command::FindNode
            || matches!(command, Command::Go(Screen::Node | Screen::Audit | Screen::Contend | Screen::Comparison));
        if let Some(why) = self.shown.refusal().filter(|_| leads_to_ensemble) {
            return self.refuse(self.settings.bindings.fill(why));
        }
        if let Some(why) = self.refusal_outside(command) {
            return self.refuse(self.settings.bindings.fill(why));
        }
        match command {
            Command::Go(Screen::Ensembles) => return self.go_to_ensembles(),
            Command::PlayFaster | Command::PlaySlower => return self.change_playing(command),
            Command::Pause if self.shown.is_past() => return self.change_playing(command),
            Command::ReturnToLive => return self.return_to_live(),
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-self.page()),
            Command::PageDown => self.step(self.page()),
            Command::HalfPageUp => self.step(-self.half_page()),
            Command::HalfPageDown => self.step(self.half_page()),
            Command::NextMatch => self.go_to_match(Find::Next),
            Command::PreviousMatch => self.go_to_match(Find::Previous),
            Command::First => self.go_to_end(false),
            Command::Last => self.go_to_end(true),
            Command::Left => self.left(),
            Command::Right => self.right(),
            Command::Open => self.open_selected(),
            Command::Back => match self.stop_own() {
                Some(stop) => return stop,
                None => self.back(),
            },
            Command::NextPane => self.go_to_next_pane(),
            Command::Go(Screen::Queue) => self.go_to_queue(),
            Command::Go(Screen::History) => self.go_to_history(),
            Command::Go(Screen::Audit) => return self.open_audit(),
            Command::Go(Screen::Tree) => self.open_tree(argument),
            Command::FindNode => self.find_node(argument),
            Command::Go(Screen::Node) => return self.open_node_of_row(argument),
            Command::Go(Screen::Session) => self.open_session_of_row(argument),
            Command::Go(screen) if screen.list().is_none() => self.toggle(screen),
            Command::Go(screen) => self.go(screen),
            Command::Delete => return self.ask_to_delete(),
            Command::Tag => self.tag(argument),
            Command::TagRange => self.begin_range(),
            // No screen has this command: only an open deletion plan reads its key.
            Command::AskOwner => {}
            Command::Lock if self.looks_in_ensembles() => self.seek_in_ensembles(argument),
            Command::Lock => self.open_path(argument),
            Command::Filter => self.filter_by(argument),
            Command::Find => self.find_everywhere(argument),
            Command::Sort => self.sort_by(argument),
            Command::ThenBy => self.then_by(argument),
            Command::Reverse => self.reverse(),
            Command::Mute => return self.mute(argument),
            Command::Unmute => return self.unmute(),
            Command::Maintenance => return self.maintain(argument),
            Command::Pause => self.turn_pause(),
            Command::Times => self.settings.utc = !self.settings.utc,
            Command::Copy => return self.copy(),
            Command::Export => return self.export(),
            Command::Context => return self.go_to_context(argument),
            Command::Prompt => self.footer.ask(PromptPurpose::Command, ""),
            Command::Redraw => return Update::effect(Effect::Redraw),
            Command::Suspend => return Update::effect(Effect::Suspend),
            Command::Quit => return self.quit(),
            Command::Start => return self.start(argument),
            Command::Stop => return self.stop_fleets(),
            Command::Holder => self.select_holder(),
            Command::Picture => self.turn_picture(),
            Command::Large => self.turn_large(),
            Command::Slower | Command::Faster | Command::StopOrGo | Command::PlayStep => {
                return self.change_motion(command);
            }
            Command::TourNext
            | Command::TourBack
            | Command::TourNextScene
            | Command::TourPreviousScene
            | Command::TourScene
            | Command::TourPlay => return self.turn_tour(command, argument),
            Command::Join
            | Command::Leave
            | Command::Crash
            | Command::Freeze
            | Command::Cut
            | Command::Heal
            | Command::Delay => return self.order(command, argument),
            Command::Import => return self.import_past(argument),
            Command::NextEvent
            | Command::PreviousEvent
            | Command::NextMinute
            | Command::PreviousMinute
            | Command::NextFinding
            | Command::PreviousFinding
            | Command::GoToTime => return self.travel_by(command, argument),
        }
        Update::redraw()
    }

    /// Quits; asks first while test clients run.
    pub(super) fn quit(&mut self) -> Update {
        self.leave_console(Leaving::Quit)
    }

    /// Quits or switches the context; asks first while test clients run.
    fn leave_console(&mut self, leaving: Leaving) -> Update {
        if self.test_clients.fleets().is_running() {
            self.footer.leaving = Some(leaving);
            return Update::redraw();
        }
        self.go_away(leaving)
    }

    fn go_away(&mut self, leaving: Leaving) -> Update {
        match leaving {
            Leaving::Quit => Update::effect(Effect::Quit),
            Leaving::Context(name) => {
                self.show_notice(format!("Going to {name}."));
                Update::effect(Effect::GoToContext(name))
            }
        }
    }

    /// Handles the answer to the question about running test clients.
    pub(super) fn answer_leaving(&mut self, key: Key) -> Update {
        let is_yes = FixedKey::Yes.is(key);
        if is_yes && let Some(Leaving::Context(name)) = &self.footer.leaving {
            let leaving = Leaving::Context(name.clone());
            self.footer.leaving = None;
            return self.go_away(leaving);
        }
        if is_yes || FixedKey::Interrupt.is(key) {
            return Update::effect(Effect::Quit);
        }
        if FixedKey::No.is(key) || FixedKey::Leave.is(key) {
            self.footer.leaving = None;
        }
        Update::redraw()
    }

    fn filter_by(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.look_for(text);
            self.looked_for(text);
        } else {
            let text = self.highlighted().text().to_owned();
            self.footer.ask(PromptPurpose::Filter, &text);
        }
    }

    pub(super) fn sort_by(&mut self, column: Option<&str>) {
        let width = self.list_width();
        let sorted = self.navigation.screen.list().map_or(Ok(()), |list| list.sort_by(self, column, width));
        self.say_what_sorts(sorted);
    }

    /// Chooses the second column to sort by, which orders rows that are equal in the first.
    fn then_by(&mut self, column: Option<&str>) {
        let width = self.list_width();
        let sorted = self.navigation.screen.list().map_or(Ok(()), |list| list.then_by(self, column, width));
        self.say_what_sorts(sorted);
    }

    fn say_what_sorts(&mut self, sorted: Result<(), String>) {
        if let (Err(word), Some(list)) = (sorted, self.navigation.screen.list()) {
            let (title, names) = (self.navigation.screen.entry().title, list.sort_names().join(", "));
            self.show_hint(format!("`{word}` is not a column: {title} can be sorted by {names}, or two of them."));
        }
    }

    pub(super) fn reverse(&mut self) {
        if let Some(list) = self.navigation.screen.list() {
            list.reverse(self);
        }
    }

    /// Pauses the screen, or resumes it.
    fn turn_pause(&mut self) {
        match self.shown {
            Shown::Paused(_) => self.shown = Shown::Live,
            _ => self.shown.pause(self.wall, &self.live, self.test_clients.fleets()),
        }
    }

    /// Switches between the list of the screen and its picture. On Locks, shows or hides the graph
    /// of watch events below the list.
    fn turn_picture(&mut self) {
        match self.screen() {
            Screen::Locks => self.navigation.turn_graph(),
            Screen::Queue => self.test_clients.motion_mut().turn_queue_picture(),
            _ => self.test_clients.motion_mut().turn_picture(),
        }
    }

    /// Switches between large pictures, for viewers far from the screen, and the usual size.
    fn turn_large(&mut self) {
        let is_of_queue = self.screen() == Screen::Queue;
        self.test_clients.motion_mut().turn_large(is_of_queue);
    }

    fn copy(&mut self) -> Update {
        let Some(text) = self.navigation.screen.list().and_then(|list| list.copied(self)) else {
            self.show_hint("There is nothing selected to copy.".to_owned());
            return Update::redraw();
        };
        let text = harmless(text);
        self.show_notice(format!("Copied {text}"));
        Update::effect(Effect::Copy(text))
    }
}

/// Returns text that is safe to paste into a terminal. Escapes the text if it contains control or
/// invisible characters. A backslash alone needs no escape, because it occurs in names.
fn harmless(text: String) -> String {
    let does_more = text.chars().any(|character| character != '\\' && must_be_escaped(character));
    if does_more { escaped(&text).into_owned() } else { text }
}

/// The content of an exported file, with its time and ensemble.
#[derive(Serialize)]
struct Export<'a, T> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a ReportedEnsemble,
    #[serde(flatten)]
    content: T,
}

impl App {
    /// Exports all rows of the screen's list, including those that are scrolled out of view.
    fn export(&mut self) -> Update {
        let exported = self
            .navigation
            .screen
            .list()
            .map_or(Err("There is nothing to export.".to_owned()), |list| list.exported(self));
        match exported {
            Ok(text) => {
                let time = rfc3339(self.now()).unwrap_or_default().replace([':', '-'], "");
                let name =
                    format!("lockscope-{}-{}.json", self.screen().entry().title.to_lowercase(), time.replace('.', ""));
                Update::effect(Effect::Export { name, text })
            }
            Err(why) => self.refuse(why),
        }
    }

    /// Formats the content of a list as JSON, with its time and ensemble. The error is a sentence
    /// that says why this is not possible.
    pub(super) fn as_json(&self, content: impl Serialize) -> Result<String, String> {
        let taken_at = rfc3339(self.now());
        to_json(&Export { schema: SCHEMA, taken_at, ensemble: &self.ensemble(), content })
    }

    /// Formats locks with their queues as `lockscope snapshot` prints them.
    pub(super) fn locks_as_json(&self, locks: Vec<&LockQueue>) -> Result<String, String> {
        let (world, ensemble) = (self.world(), self.ensemble());
        let snapshot = Snapshot::new(&ensemble, world.table(), self.now());
        to_json(&snapshot.with_locks(locks).with_diagnosis(world.diagnosis()))
    }

    fn ensemble(&self) -> ReportedEnsemble {
        let table = self.world().table();
        let session = match table.connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        ReportedEnsemble::new(&self.settings().connect, session).with_view(table.view())
    }

    /// Runs a command with the values of the selected row, after a question where one is due.
    pub(super) fn run_own(&mut self, own: &OwnCommand) -> Update {
        self.footer.notice = None;
        if !own.screens.contains(&self.navigation.screen) {
            return self.refuse(format!("`{}` does nothing on this screen.", own.name));
        }
        let command = match own.prepare(&self.own_values()) {
            Ok(command) => command,
            Err(why) => return self.refuse(why),
        };
        let is_current =
            self.shown.is_live() && (self.navigation.screen == Screen::Ensembles || self.world().table().is_live());
        let of_past = !is_current;
        if own.confirm || of_past {
            self.own_runs.question = Some(OwnQuestion { command, of_past, scroll: Scroll::default() });
            return Update::redraw();
        }
        self.start_own(command)
    }

    /// The values of the selected row.
    fn own_values(&self) -> OwnValues {
        let (screen, list) = (self.navigation.screen, self.navigation.screen.list());
        let path = match (&self.navigation.node, screen) {
            (Some(open), Screen::Node) => Some(open.path().clone()),
            _ => list.and_then(|list| list.node(self)),
        };
        let session = list.and_then(|list: &dyn List<Self>| list.session(self));
        let address = session.and_then(|session| self.world().table().clients().address_of(session));
        let context = match screen {
            Screen::Ensembles => self.selected_ensemble().map(|row| row.name.to_string()),
            _ => self.settings.context.clone(),
        };
        OwnValues {
            path: path.as_ref().map(ZnodePath::to_string),
            session: session.map(|session| session.to_string()),
            client: address.map(str::to_owned),
            client_host: address.map(|address| host_of(address).to_owned()),
            name: session.and_then(|session| self.world().table().clients().given_name(session)).map(str::to_owned),
            of: session,
            context,
        }
    }

    fn start_own(&mut self, command: PreparedCommand) -> Update {
        if command.output == CommandOutput::Pane {
            if let Some(running) = self.own_runs.output.as_ref().filter(|output| output.is_running()) {
                let why = format!("`{}` was not run: `{}` still runs. ", command.name, running.name());
                let then = self.settings.bindings.fill("{output} shows it, and there {back} stops it.");
                return self.refuse(why + &then);
            }
            self.own_runs.output = Some(OwnOutput::new(&command));
            self.go(Screen::Output);
        }
        Update::effect(Effect::RunCommand(Box::new(command)))
    }

    /// Stops the command whose output is on the screen. `None` when none runs there, or when a
    /// search is to be cleared first.
    fn stop_own(&self) -> Option<Update> {
        let stops = self.navigation.screen == Screen::Output && self.own_runs.is_running() && !self.is_narrowed();
        stops.then(|| Update::effect(Effect::StopCommand))
    }

    /// Handles the answer to the question whether to run a command.
    pub(super) fn answer_run(&mut self, key: Key) -> Update {
        // In a terminal that is too small, nobody could read what would run.
        if FixedKey::Yes.is(key) && self.layout().is_some() {
            let question = self.own_runs.question.take();
            return question.map_or_else(Update::default, |question| self.start_own(question.command));
        }
        if FixedKey::No.is(key) || FixedKey::Leave.is(key) {
            self.own_runs.question = None;
            return Update::redraw();
        }
        let moves =
            [(Command::Up, -1), (Command::Down, 1), (Command::PageUp, -self.page()), (Command::PageDown, self.page())];
        let by = moves.into_iter().find(|(command, _)| self.settings.bindings.keys_of(*command).contains(&key));
        let end = self.popup().map_or(0, |shown| shown.end());
        if let Some((question, (_, by))) = self.own_runs.question.as_mut().zip(by) {
            question.scroll.step(by, end);
        }
        Update::redraw()
    }

    /// Takes in what a command reports.
    pub(super) fn command_reported(&mut self, report: CommandReport) -> Update {
        let redraw = self.navigation.screen == Screen::Output;
        match report {
            CommandReport::Output(output) => {
                if let Some(shown) = &mut self.own_runs.output {
                    shown.add(&output);
                }
                return Update { redraw, effects: Vec::new() };
            }
            CommandReport::Ended { end, left_out } => {
                let Some(shown) = &mut self.own_runs.output else { return Update::default() };
                let text = end.sentence(shown.name());
                let is_good = end.is_good();
                shown.end(end, left_out);
                let named = is_good.then(|| shown.named()).flatten();
                if let Some((session, name)) = named {
                    return self.client_named(session, name);
                }
                if !redraw {
                    let text = format!("{text} {}", self.settings.bindings.fill("{output} shows its output."));
                    if is_good { self.show_notice(text) } else { self.show_failure(text) }
                }
            }
            CommandReport::Returned { name, end } => {
                let text = end.sentence(&name);
                if end.is_good() { self.show_notice(text) } else { self.show_failure(text) }
            }
        }
        Update::redraw()
    }

    /// Keeps the name that a command has given to the client of a session, or says why not.
    fn client_named(&mut self, session: SessionId, name: Option<String>) -> Update {
        let Some(name) = name else {
            return self
                .refuse("The first line of the output is no name: it is empty, or has hidden characters.".to_owned());
        };
        let mut is_kept = true;
        self.each_world(|world| is_kept &= world.give_name(session, &name));
        if !is_kept {
            return self
                .refuse("Too many clients have names of yours: those of ended sessions are dropped first.".to_owned());
        }
        self.show_notice(format!("The client of {session} is *{} now.", escaped(&name)));
        Update::redraw()
    }

    /// Shows several ensembles, of which the settings name the one that is open, if any. Without an
    /// open one, starts on their list.
    #[must_use]
    pub fn with_ensembles(mut self, mut ensembles: Box<WatchedEnsembles>) -> Self {
        ensembles.opened(self.settings.context.as_deref());
        if self.settings.context.is_none() {
            self.navigation.show(Screen::Ensembles);
            self.observing = false;
        }
        self.ensembles = Some(ensembles);
        if self.settings.context.is_some() {
            self.show_wanted();
        }
        self.arrange();
        self
    }

    /// Shows the state of an ensemble that was watched before.
    #[must_use]
    pub fn with_live(mut self, live: LiveState, now: Timestamp) -> Self {
        self.live = ScreenWorld::followed(live, now);
        ScreensChosen::apply(&ScreensChosen::default(), &mut self);
        self.arrange();
        self
    }

    /// Returns the ensembles and the state of the open one, for the console that goes on with
    /// them.
    pub fn take_ensembles(&mut self) -> Option<(Box<WatchedEnsembles>, LiveState)> {
        let ensembles = self.ensembles.take()?;
        let empty = ScreenWorld::new(self.settings.table(), self.settings.thresholds);
        Some((ensembles, std::mem::replace(&mut self.live, empty).into_live()))
    }

    /// Shows the list of ensembles. The open one stays open.
    fn go_to_ensembles(&mut self) -> Update {
        if self.ensembles.is_none() {
            let why =
                "All locks show already: {filter} filters them. lockscope --all-contexts shows several ensembles.";
            return self.refuse(self.settings.bindings.fill(why));
        }
        self.go(Screen::Ensembles);
        Update::redraw()
    }

    /// Takes the latest summaries of the ensembles.
    pub(super) fn ensembles_reported(&mut self, reports: Vec<EnsembleReport>) -> Update {
        let shows = self.screen() == Screen::Ensembles;
        let Some(ensembles) = &mut self.ensembles else { return Update::default() };
        ensembles.take(reports);
        Update { redraw: shows, effects: self.compare_ensembles().into_iter().collect() }
    }

    /// Summarizes the open ensemble, once a second.
    pub(super) fn summarize_open(&mut self) {
        let Some(ensembles) = self.ensembles.as_deref_mut() else { return };
        let Some(name) = ensembles.open().map(Arc::clone) else { return };
        let before = ensembles.named(&name).and_then(|row| row.summary.as_ref());
        let (table, diagnosis) = (self.live.table(), self.live.diagnosis());
        let summary = EnsembleSummary::new(table, diagnosis, ensembles.changes(), before, self.wall);
        let found = FoundLocks::of(ensembles.filter(), table, diagnosis, self.wall);
        let claims = EnsembleClaims::of(TableAt::new(table, self.wall));
        let noted = Arc::default();
        ensembles.take(vec![EnsembleReport { name, summary, found, noted, claims }]);
    }

    /// Tells the ensembles of clients that wait for each other across them, whenever that is news.
    pub(super) fn compare_ensembles(&mut self) -> Option<Effect> {
        let told = self.ensembles.as_deref_mut()?.compare_claims(self.wall)?;
        if let Some(open) = self.ensembles.as_deref().and_then(WatchedEnsembles::open)
            && let Some(waits) = crossed_now(told.get(open), open, self.live.table(), self.wall)
        {
            let changes = vec![Observed { at: self.wall, change: Change::Crossed { waits } }];
            self.live.apply(changes, self.recording.as_mut().and_then(Recording::recorder));
        }
        Some(Effect::TellCrossWaits(told))
    }

    /// Whether a path names a lock of any ensemble, rather than of the open one.
    fn looks_in_ensembles(&self) -> bool {
        self.ensembles.is_some() && (self.is_outside() || self.screen() == Screen::Ensembles)
    }

    /// Lists the locks and contenders of all ensembles in which a text occurs; where one ensemble is
    /// shown, its locks.
    fn find_everywhere(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.footer.ask(PromptPurpose::Command, "find ") };
        let filter = Filter::new(text);
        if let Some(why) = filter.wrong() {
            return self.show_failure(why.to_owned());
        }
        let screen = match self.ensembles.as_deref_mut() {
            Some(ensembles) => {
                ensembles.find(filter.clone());
                Screen::Ensembles
            }
            None => Screen::Locks,
        };
        if self.screen() != screen {
            self.go(screen);
        }
        if let Some(locks) = screen.list().filter(|_| self.ensembles.is_none()) {
            locks.set_filter(self, filter);
        }
    }

    /// Looks for a lock at a path in all ensembles.
    fn seek_in_ensembles(&mut self, path: Option<&str>) {
        match path.map(ZnodePath::new) {
            // Says how a lock is named.
            None => self.open_path(None),
            Some(Err(error)) => self.show_failure(error.to_string()),
            Some(Ok(path)) => {
                if let Some(ensembles) = self.ensembles.as_deref_mut() {
                    ensembles.seek(path.as_str());
                }
                if self.screen() != Screen::Ensembles {
                    self.go(Screen::Ensembles);
                }
            }
        }
    }

    /// Asks all ensembles for locks that pass a new filter. Goes into the one that has the lock that
    /// is looked for, or says where that is.
    pub(super) fn look_in_ensembles(&mut self) -> Update {
        let Some(filter) = self.ensembles.as_deref_mut().map(WatchedEnsembles::take_changed_filter) else {
            return Update::default();
        };
        if filter.is_some() {
            self.summarize_open();
        }
        let mut update = Update { redraw: filter.is_some(), effects: Vec::new() };
        update.effects.extend(filter.map(Effect::FilterEnsembles));
        let Some(ensembles) = self.ensembles.as_deref_mut() else { return update };
        let Some(sought) = ensembles.take_sought() else { return update };
        let path = ensembles.filter().text().to_owned();
        match sought {
            Sought::In(name) => {
                // The filter has done its work, and would hide the other ensembles.
                ensembles.set_filter(Filter::default());
                ensembles.want_with(name, Some(OpenWith::Lock(path)));
            }
            Sought::InSeveral(count) => {
                let way = self.settings.bindings.fill("{open} goes into one.");
                self.show_notice(format!("{count} ensembles have {path}: {way}"));
            }
            Sought::Nowhere(0) => self.show_hint(format!("No ensemble has a lock at {path}.")),
            Sought::Nowhere(unseen) => {
                let unseen = plural(unseen, "ensemble", "ensembles");
                self.show_hint(format!("No lock is known at {path}; {unseen} cannot be seen."));
            }
        }
        update.redraw = true;
        update
    }

    /// Shows what was looked for in the ensemble that was gone into.
    fn show_wanted(&mut self) {
        match self.ensembles.as_deref_mut().and_then(WatchedEnsembles::take_open_with) {
            Some(OpenWith::Lock(path)) => self.open_path(Some(&path)),
            Some(OpenWith::Filter(filter)) => {
                if let Some(locks) = Screen::Locks.list() {
                    locks.set_filter(self, filter);
                }
            }
            None => {}
        }
    }

    /// Counts changes of the open ensemble.
    pub(super) fn count_changes(&mut self, changes: usize) {
        if let Some(ensembles) = self.ensembles.as_deref_mut() {
            ensembles.changes_mut().add(changes, self.wall);
        }
    }

    /// Why a command cannot be carried out on the list of ensembles, with names of commands in
    /// braces; `None` when it can.
    pub(super) fn refusal_outside(&self, command: Command) -> Option<&'static str> {
        let works_everywhere = matches!(
            command,
            Command::Go(Screen::Help | Screen::Ensembles | Screen::Output)
                | Command::Context
                | Command::Lock
                | Command::Find
                | Command::Prompt
                | Command::Redraw
                | Command::Suspend
                | Command::Quit
                | Command::Times
                | Command::Mute
                | Command::Unmute
                | Command::Maintenance
        );
        let is_moving = matches!(
            command,
            Command::Up
                | Command::Down
                | Command::Left
                | Command::Right
                | Command::PageUp
                | Command::PageDown
                | Command::HalfPageUp
                | Command::HalfPageDown
                | Command::First
                | Command::Last
                | Command::Open
                | Command::Back
                | Command::NextPane
                | Command::NextMatch
                | Command::PreviousMatch
        );
        let is_of_screen = self.screen().entry().has_own(command);
        let works = works_everywhere || is_moving || is_of_screen;
        (self.is_outside() && !works).then_some("No ensemble is open: {open} goes into the selected one.")
    }

    /// Goes into the ensemble that the user has chosen.
    pub(super) fn go_into_wanted(&mut self) -> Update {
        let Some(ensembles) = self.ensembles.as_deref_mut() else { return Update::default() };
        let Some(name) = ensembles.take_wanted() else { return Update::default() };
        let trouble = ensembles.named(&name).and_then(|row| row.trouble.clone());
        if let Some(trouble) = trouble {
            return self.refuse(trouble);
        }
        if self.settings.context.as_deref() == Some(&*name) {
            self.go(Screen::Locks);
            self.show_wanted();
            return Update::redraw();
        }
        self.go_to_context(Some(&name))
    }

    /// The names that `:context` takes.
    pub fn context_names(&self) -> impl Iterator<Item = &str> {
        self.settings.contexts.iter().map(|context| context.name.as_str())
    }

    /// Switches to another context. Without a name, shows the names of the contexts.
    fn go_to_context(&mut self, name: Option<&str>) -> Update {
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
        // Names that mark nothing prove nothing: the ensemble is looked at again.
        if change.production.is_some() {
            self.protection_found(change.production);
        }
        self.settings.bindings = change.bindings;
        self.settings.commands = change.commands;
        // The question may be about a command that has changed.
        self.own_runs.question = None;
        let before = std::mem::replace(&mut self.settings.screens, change.screens);
        ScreensChosen::apply(&before, self);
        if change.wrong {
            self.show_failure(change.notice);
        } else {
            self.show_notice(change.notice);
        }
        Update { redraw: true, effects: vec![Effect::FindProtection] }
    }

    /// Stores the context that marks the ensemble as production. Another one asks for another
    /// confirmation: the open plan is closed, and the user starts again.
    pub(super) fn protection_found(&mut self, production: Option<ProductionMark>) -> Update {
        if self.settings.production != production {
            self.deletions.open = None;
            self.settings.production = production;
        }
        Update::redraw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_text_is_safe_to_paste() {
        let copied = |text: &str| harmless(text.to_owned());
        assert_eq!(copied("/locks/a\nrm -rf x\u{9b}\u{202e}"), r"/locks/a\nrm -rf x\u{9b}\u{202e}");
        assert_eq!(copied(r"/locks/CORP\user-Größe"), r"/locks/CORP\user-Größe");
    }
}

//! Follows the steps of the tour: opens screens, acts and types as soon as each is possible.

use super::turns::Played;
use crate::tui::app::{App, Cursor, Effect, FleetSide, Key, Screen, Travel, Update};
use crate::tui::keymap::{Command, FixedKey};
use lockscope_lab::contend::FleetCommand;
use lockscope_lab::demo::{PresenterInput, TourScreen};

impl App {
    /// Carries out, after every event, what the step waits for. `second` says whether a second
    /// passed; only then does time advance the tour and the idle check run.
    pub(in crate::tui::app) fn follow_tour(&mut self, mut update: Update, second: bool) -> Update {
        if self.tour.is_none() {
            return update;
        }
        update.redraw |= self.look_where_the_step_says();
        update.append(self.act_when_possible());
        update.append(self.rewind_when_possible());
        if second {
            update.append(self.step_on());
            update.append(self.leave_alone());
        }
        update
    }

    /// Opens the screen of the step once its contents exist. Returns whether it did.
    fn look_where_the_step_says(&mut self) -> bool {
        let Some((tour, look)) = self.tour.as_ref().and_then(|tour| Some((tour, tour.screen_to_open()?))) else {
            return false;
        };
        let filter = tour.step().filter.clone().unwrap_or_default();
        match look {
            TourScreen::Queue => {
                let Some(path) = tour.lock_of_step() else { return false };
                let Some(id) = self.live.table().find(&path, None) else { return false };
                self.open_lock(id);
                self.cursors.contenders = Cursor::first();
            }
            TourScreen::Locks => self.go(Screen::Locks),
            TourScreen::Waits => self.go(Screen::Waits),
            TourScreen::Contend => self.go(Screen::Contend),
            TourScreen::Comparison => self.go(Screen::Comparison),
            TourScreen::Timeline => {
                self.go(Screen::Timeline);
                self.cursors.timeline = Cursor::last();
            }
        }
        // A filter of an earlier step could hide the subject of this one.
        self.set_filter(&filter);
        self.tour_yields();
        true
    }

    /// Goes back to the first finding of this scene, if the step asks for it.
    fn rewind_when_possible(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        match tour.rewinds_to(self.live.timeline(), self.wall) {
            Some(began) => Update { redraw: true, ..self.rewind(Travel::To(began)) },
            None => Update::default(),
        }
    }

    /// Sends the step's orders to the test clients once that is possible. Selects a client that
    /// the step crashes or freezes.
    fn act_when_possible(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        let orders = tour.orders(self.test_clients.fleets(), self.wall);
        if let [FleetCommand::Crash(id) | FleetCommand::Freeze(id)] = orders[..] {
            self.cursors.clients[FleetSide::Left as usize] = Cursor::on(id);
        }
        let redraw = !orders.is_empty();
        let order = |order| Effect::Order { side: FleetSide::Left, order };
        Update { redraw, effects: orders.into_iter().map(order).collect() }
    }

    /// Presses the presenter's keys that are due, or goes to the next step when it is due.
    fn step_on(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        match tour.play(self.wall) {
            None => Update::default(),
            Some(Played::Waits) => Update::redraw(),
            Some(Played::Does(input)) => self.do_for_presenter(input),
            Some(Played::Next) => {
                let turn = tour.next();
                self.take_turn(turn)
            }
        }
    }

    /// Presses a key of the presenter, but only on the queue of the step. Deletes only while no
    /// question is open, and types a number only into an open deletion.
    fn do_for_presenter(&mut self, input: PresenterInput) -> Update {
        let queue = self.tour.as_ref().and_then(|tour| tour.lock_of_step());
        let is_there = self.screen() == Screen::Queue && self.opened().map(|open| &open.path) == queue.as_ref();
        let is_asked = self.deletions.open.is_some();
        let is_free = !self.asks_to_quit() && self.footer.prompt.is_none();
        match input {
            PresenterInput::Delete if is_there && is_free && !is_asked => self.carry_out(Command::Delete),
            PresenterInput::Number if is_there && is_asked => self.type_first_number(),
            PresenterInput::Delete | PresenterInput::Number => Update::redraw(),
        }
    }

    /// Types the sequence number of the first contender of the open queue, then Enter.
    fn type_first_number(&mut self) -> Update {
        let first = self.world().queue_rows().row(0).and_then(|row| row.contender.sequence);
        let number = first.map(|number| number.0.to_string()).unwrap_or_default();
        let mut update = Update::redraw();
        for key in number.chars().map(Key::Char).chain([FixedKey::Enter.key()]) {
            update.effects.extend(self.key(key).effects);
        }
        update
    }
}

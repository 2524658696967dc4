//! What a step of the tour waits for: the screen looks, acts and types as soon as that can be done.

use super::turns::Played;
use crate::tui::app::{App, Cursor, Effect, FleetSide, Key, Screen, Travel, Update};
use crate::tui::keymap::{Command, FixedKey};
use lockscope_lab::contend::FleetCommand;
use lockscope_lab::demo::{PresenterInput, TourScreen};

impl App {
    /// Does what a step waits for, after every event; `second`: whether a second passed.
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

    /// Goes to the screen of the step once what it shows is there; gives whether it went.
    fn look_where_the_step_says(&mut self) -> bool {
        let Some((tour, look)) = self.tour.as_ref().and_then(|tour| Some((tour, tour.look()?))) else { return false };
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
        // A filter of an earlier step would hide what this one is about.
        self.set_filter(&filter);
        self.tour_yields();
        true
    }

    /// Goes back to where something was first found to be wrong in this scene, if the step wants
    /// that.
    fn rewind_when_possible(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        match tour.rewinds_to(self.live.timeline(), self.wall) {
            Some(began) => Update { redraw: true, ..self.rewind(Travel::To(began)) },
            None => Update::default(),
        }
    }

    /// Does to the test clients what the step says, once that can be done.
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

    /// The keys and the step that time brings.
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

    /// Does as a presenter would, who would not type into something else: only on the queue of the
    /// step, and a number only where one is asked for.
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

    /// Types the number of the first contender of the open queue, and Enter.
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

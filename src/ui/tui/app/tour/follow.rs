//! What a step of the tour waits for: it looks, acts and types as soon as that can be done.

use std::time::Duration;

use crate::tui::app::{App, Cursor, Effect, FleetSide, FleetView, Key, Screen, TimelineEntry, Travel, Update};
use crate::tui::keymap::{Command, FixedKey};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetCommand};
use lockscope_lab::demo::{PresenterInput, SceneAction, TourScreen};

/// How long a step waits until what it does can be done.
const MAX_WAIT_FOR_ACT: Duration = Duration::from_secs(10);

impl App {
    /// Does what a step waits for, after every event; `second`: whether a second passed.
    pub(in crate::tui::app) fn follow_tour(&mut self, mut update: Update, second: bool) -> Update {
        if self.tour.is_none() {
            return update;
        }
        update.redraw |= self.look_where_the_step_says();
        if let Some(orders) = self.act_when_possible() {
            update.redraw = true;
            update.effects.extend(orders);
        }
        if let Some(began) = self.rewinds_to() {
            let rewound = self.rewind(Travel::To(began));
            update.redraw = true;
            update.effects.extend(rewound.effects);
        }
        if second {
            for then in [self.step_on(), self.leave_alone()] {
                update.redraw |= then.redraw;
                update.effects.extend(then.effects);
            }
        }
        update
    }

    /// Goes to the screen of the step once what it shows is there; gives whether it went.
    fn look_where_the_step_says(&mut self) -> bool {
        let Some((tour, look)) = self.tour.as_ref().and_then(|tour| Some((tour, tour.look?))) else { return false };
        match look {
            TourScreen::Queue => {
                let Some(path) = tour.step().lock.as_ref().map(|lock| tour.path(lock)) else { return false };
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
        let filter = self.tour.as_ref().and_then(|tour| tour.step().filter.clone()).unwrap_or_default();
        self.set_filter(&filter);
        self.tour_yields();
        true
    }

    /// When something was first found to be wrong in this scene, if the step goes back there, and did not yet.
    fn rewinds_to(&mut self) -> Option<Timestamp> {
        let now = self.wall;
        let tour = self.tour.as_mut().filter(|tour| tour.rewinds && tour.look.is_none())?;
        if now.since(tour.since) > MAX_WAIT_FOR_ACT {
            tour.rewinds = false;
        }
        let since = tour.scene_since;
        let found = self.live.timeline().iter().find_map(|entry| match entry {
            TimelineEntry::Finding { at, raised: true, .. } if *at >= since => Some(*at),
            _ => None,
        })?;
        tour.rewinds = false;
        Some(found)
    }

    /// What is done to the test clients for this step; `None` as long as it cannot be done.
    fn act_when_possible(&mut self) -> Option<Vec<Effect>> {
        let now = self.wall;
        let tour = self.tour.as_mut()?;
        if now.since(tour.since) > MAX_WAIT_FOR_ACT {
            tour.act = None;
        }
        let act = tour.act?;
        let fleet = self.test_clients.fleets().fleet(FleetSide::Left)?;
        let orders: Vec<FleetCommand> = match act {
            SceneAction::CrashHolder => vec![FleetCommand::Crash(recent_holder(fleet.clients(), fleet)?)],
            SceneAction::FreezeHolder => vec![FleetCommand::Freeze(recent_holder(fleet.clients(), fleet)?)],
            _ => fleet
                .clients()
                .iter()
                .filter(|client| client.frozen)
                .map(|client| FleetCommand::Thaw(client.id))
                .collect(),
        };
        if orders.is_empty() {
            return None;
        }
        if let [FleetCommand::Crash(id) | FleetCommand::Freeze(id)] = orders[..] {
            self.cursors.clients[FleetSide::Left as usize] = Cursor::on(id);
        }
        if let Some(tour) = &mut self.tour {
            tour.act = None;
        }
        Some(orders.into_iter().map(|order| Effect::Order { side: FleetSide::Left, order }).collect())
    }

    /// The keys and the step that time brings.
    fn step_on(&mut self) -> Update {
        let now = self.wall;
        let Some(tour) = self.tour.as_mut().filter(|tour| tour.playing) else { return Update::default() };
        let passed = now.since(tour.since);
        if passed >= tour.step().lasts {
            return self.tour_next();
        }
        let due = tour.step().inputs.get(tour.typed).filter(|input| passed >= input.after);
        let Some(input) = due.map(|input| input.does) else { return Update::redraw() };
        tour.typed += 1;
        self.do_for_presenter(input)
    }

    /// Does as a presenter would, who would not type into something else: only on the queue of the step, and a number only
    /// where one is asked for.
    fn do_for_presenter(&mut self, input: PresenterInput) -> Update {
        let queue = self.tour.as_ref().and_then(|tour| Some(tour.path(tour.step().lock.as_ref()?)));
        let is_there = self.navigation.screen == Screen::Queue
            && self.navigation.open.as_ref().map(|open| &open.path) == queue.as_ref();
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

/// Who holds, and will for a while: what is known of it is a moment old.
fn recent_holder(clients: &[ClientStatus], fleet: &FleetView) -> Option<ClientId> {
    let (age, stepped) = fleet.status().map(|status| (status.age, status.stepped))?;
    let half = fleet.scenario().hold / 2;
    let holds = |client: &&ClientStatus| client.state == ClientState::Holding && !client.frozen;
    clients
        .iter()
        .filter(holds)
        .find(|client| stepped || age.saturating_sub(client.since) <= half)
        .map(|client| client.id)
}

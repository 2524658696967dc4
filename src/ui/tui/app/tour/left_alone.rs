//! The tour without a user: after a minute without a key, its clients run slowly until the next
//! key.

use crate::tui::app::{App, Effect, Update};

/// The message while the clients run slowly.
pub(in crate::tui::app) const LEFT_ALONE: &str = "No key for a minute: the clients run slowly. Any key resumes.";

impl App {
    /// Handles a key or mouse button of the user. The clients return to their speed, then `act`
    /// handles the input as usual.
    pub(in crate::tui::app) fn attended(&mut self, act: impl FnOnce(&mut Self) -> Update) -> Update {
        self.navigation.attention.attend(self.wall);
        let resumed = self.attend_tour();
        let mut update = act(self);
        update.redraw |= !resumed.is_empty();
        update.effects.splice(0..0, resumed);
        update
    }

    fn attend_tour(&mut self) -> Vec<Effect> {
        let now = self.wall;
        let Some(tour) = &mut self.tour else { return Vec::new() };
        tour.attend(now);
        if self.tour_is_left_alone() { self.test_clients.set_idle(false, now) } else { Vec::new() }
    }

    /// Slows the clients down if no key was pressed for a minute. Called once a second.
    pub(super) fn leave_alone(&mut self) -> Update {
        let (now, motion) = (self.wall, self.slow_motion());
        let is_due = self.tour.as_mut().is_some_and(|tour| tour.is_left_alone(now));
        let goes = !motion.is_idle() && !motion.is_stopped() && self.living_clients() > 0;
        if !(is_due && goes) {
            return Update::default();
        }
        Update { redraw: true, effects: self.test_clients.set_idle(true, now) }
    }
}

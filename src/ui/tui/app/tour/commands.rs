//! Carries out the commands of the tour. All other keys keep working during the tour.

use super::Tour;
use super::turns::Turn;
use crate::tui::app::{App, Cursor, Effect, Update};
use crate::tui::keymap::Command;
use lockscope_lab::demo::SceneCommand;

impl App {
    pub(in crate::tui::app) fn tour_begins(&mut self, mut tour: Box<Tour>) -> Update {
        tour.attend(self.wall);
        self.tour = Some(tour);
        self.set_scene(0)
    }

    /// Cancels the pending change of screen: the user pressed a key, or the screen is open.
    pub(in crate::tui::app) fn tour_yields(&mut self) {
        if let Some(tour) = &mut self.tour {
            tour.cancel_screen();
        }
    }

    /// Carries out a command of the tour.
    pub(in crate::tui::app) fn turn_tour(&mut self, command: Command, argument: Option<&str>) -> Update {
        let now = self.wall;
        let Some(tour) = &mut self.tour else {
            return self.refuse("There is no tour here: `lockscope demo` has one.".to_owned());
        };
        let turn = tour.run_command(command, argument, now);
        self.take_turn(turn)
    }

    /// Updates the screen after the tour moved.
    pub(super) fn take_turn(&mut self, turn: Turn) -> Update {
        match turn {
            Turn::Step => self.begin_step(),
            Turn::StepBack => {
                let update = self.begin_step();
                if let Some(tour) = &mut self.tour {
                    tour.cancel_action();
                }
                Update { effects: Vec::new(), ..update }
            }
            Turn::Scene(scene) => self.set_scene(scene),
            Turn::Stays => Update::redraw(),
            Turn::End(notice) => {
                self.show_notice(self.settings.bindings.fill(notice));
                Update::redraw()
            }
            Turn::NoScene(why) => self.refuse(why),
        }
    }

    pub(in crate::tui::app) fn scene_failed(&mut self, why: String) -> Update {
        if let Some(tour) = &mut self.tour {
            tour.trouble = Some(why);
        }
        Update::redraw()
    }

    /// Ends the previous scene and sets up this one.
    fn set_scene(&mut self, scene: usize) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        tour.begin_scene(scene, self.wall);
        let mut effects = vec![Effect::DismissFleets, Effect::DirectScene(tour.direction())];
        effects.extend(self.test_clients.begin_scene(tour.scenarios(), tour.comparison()));
        self.cursors.clients = [Cursor::first(), Cursor::first()];
        self.footer.leaving = None;
        let begun = self.begin_step();
        effects.extend(begun.effects);
        Update { redraw: true, effects }
    }

    fn begin_step(&mut self) -> Update {
        // While the tour advances by itself, a question of the previous step may still be open.
        (self.deletions.open, self.footer.prompt) = (None, None);
        let was_rewound = std::mem::take(&mut self.shown).is_past();
        let Some(tour) = &mut self.tour else { return Update::default() };
        let act = tour.begin_step(self.wall);
        let mut effects: Vec<Effect> = act.map(|act| Effect::DirectScene(SceneCommand::Act(act))).into_iter().collect();
        effects.extend(was_rewound.then_some(Effect::ForgetPast));
        // The step's speed comes first: a slow one shows the picture, which the step may hide.
        let step = tour.step();
        effects.extend(step.speed.into_iter().flat_map(|speed| self.test_clients.set_speed(speed, self.wall)));
        match step.picture {
            Some(true) => self.test_clients.motion_mut().show_picture(step.large),
            Some(false) => self.test_clients.motion_mut().hide_picture(),
            None => {}
        }
        Update { redraw: true, effects }
    }
}

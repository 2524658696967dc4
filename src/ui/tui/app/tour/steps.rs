//! What each step of the tour lets happen. The keys work as ever meanwhile.

use super::Tour;
use crate::tui::app::{App, Cursor, Effect, Update};
use lockscope_lab::demo::SceneCommand;

impl App {
    pub(in crate::tui::app) fn tour_begins(&mut self, mut tour: Box<Tour>) -> Update {
        tour.attended_at = self.wall;
        self.tour = Some(tour);
        self.set_scene(0)
    }

    /// The user pressed a key: what was about to be shown is not shown any more.
    pub(in crate::tui::app) fn tour_yields(&mut self) {
        if let Some(tour) = &mut self.tour {
            tour.look = None;
        }
    }

    pub(in crate::tui::app) fn tour_next(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return self.no_tour() };
        if tour.step + 1 < tour.scene().steps.len() {
            tour.step += 1;
            return self.begin_step();
        }
        self.tour_next_scene()
    }

    pub(in crate::tui::app) fn tour_next_scene(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return self.no_tour() };
        if tour.scene + 1 < tour.script.scenes.len() {
            let next = tour.scene + 1;
            return self.set_scene(next);
        }
        tour.playing = false;
        let last = if tour.is_at_end() {
            "This is the last step: {previous} goes back, {quit} quits."
        } else {
            "This is the last scene: {next} goes on, {previous-scene} goes back, {quit} quits."
        };
        self.show_notice(self.settings.bindings.fill(last));
        Update::redraw()
    }

    /// To the scene before; from the middle of a scene too.
    pub(in crate::tui::app) fn tour_previous_scene(&mut self) -> Update {
        let Some(tour) = &self.tour else { return self.no_tour() };
        let before = tour.scene.saturating_sub(1);
        self.set_scene(before)
    }

    pub(in crate::tui::app) fn tour_scene(&mut self, number: Option<&str>) -> Update {
        let Some(tour) = &self.tour else { return self.no_tour() };
        let scenes = tour.script.scenes.len();
        match number.and_then(|number| number.parse::<usize>().ok()) {
            Some(number) if (1..=scenes).contains(&number) => self.set_scene(number - 1),
            _ => self.refuse(format!("The tour has the scenes 1 to {scenes}: name one, as in `:scene 2`.")),
        }
    }

    /// One step back; what was done to the scene cannot be undone, so that it then begins anew.
    pub(in crate::tui::app) fn tour_back(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return self.no_tour() };
        if tour.step == 0 {
            let before = tour.scene.saturating_sub(1);
            return self.set_scene(before);
        }
        if tour.step().action.is_some() {
            let again = tour.scene;
            return self.set_scene(again);
        }
        tour.step -= 1;
        // What the step does is done already.
        let update = self.begin_step();
        if let Some(tour) = &mut self.tour {
            tour.act = None;
        }
        Update { effects: Vec::new(), ..update }
    }

    pub(in crate::tui::app) fn tour_plays(&mut self) -> Update {
        let now = self.wall;
        let Some(tour) = &mut self.tour else { return self.no_tour() };
        tour.playing = !tour.playing;
        (tour.since, tour.typed) = (now, 0);
        Update::redraw()
    }

    fn no_tour(&mut self) -> Update {
        self.refuse("There is no tour here: `lockscope demo` has one.".to_owned())
    }

    pub(in crate::tui::app) fn scene_failed(&mut self, why: String) -> Update {
        if let Some(tour) = &mut self.tour {
            tour.trouble = Some(why);
        }
        Update::redraw()
    }

    /// The scene before is taken down and this one set up.
    fn set_scene(&mut self, scene: usize) -> Update {
        let now = self.wall;
        let Some(tour) = &mut self.tour else { return Update::default() };
        (tour.scene, tour.step, tour.trouble, tour.scene_since) = (scene, 0, None, now);
        tour.times_set[scene] += 1;
        let mut effects = vec![Effect::DismissFleets, Effect::DirectScene(tour.direction())];
        effects.extend(self.test_clients.begin_scene(tour.scenarios(), tour.comparison()));
        self.cursors.clients = [Cursor::first(), Cursor::first()];
        self.footer.leaving = None;
        let begun = self.begin_step();
        effects.extend(begun.effects);
        Update { redraw: true, effects }
    }

    fn begin_step(&mut self) -> Update {
        // While the tour plays, a question may still be open that nobody has answered.
        (self.deletions.open, self.footer.prompt) = (None, None);
        let was_rewound = std::mem::take(&mut self.shown).is_past();
        let now = self.wall;
        let Some(tour) = &mut self.tour else { return Update::default() };
        (tour.since, tour.typed) = (now, 0);
        tour.look = Some(tour.step().screen);
        tour.act = tour.step().action;
        tour.rewinds = tour.step().rewind;
        let act = tour.act.take_if(|act| !act.is_of_clients());
        let mut effects: Vec<Effect> = act.map(|act| Effect::DirectScene(SceneCommand::Act(act))).into_iter().collect();
        effects.extend(was_rewound.then_some(Effect::ForgetPast));
        effects.extend(self.show_clients_as_the_step_says());
        Update { redraw: true, effects }
    }

    /// As picture or as list, and how fast they go.
    fn show_clients_as_the_step_says(&mut self) -> Vec<Effect> {
        let Some(step) = self.tour.as_ref().map(|tour| tour.step().clone()) else { return Vec::new() };
        let effects = step.speed.map(|speed| self.test_clients.set_speed(speed, self.wall)).unwrap_or_default();
        match step.picture {
            Some(true) => self.test_clients.motion_mut().show_picture(step.large),
            Some(false) => self.test_clients.motion_mut().hide_picture(),
            None => {}
        }
        effects
    }
}

//! A live console that keeps its past.

use std::time::Duration;

use super::recording::CONNECT;
use super::{NOW, at, ensemble, press, settings};
use crate::tui::app::{App, Effect, Event, ScreenWorld, Settings, Update};
use crate::tui::past_reader::PastReader;
use crate::tui::past_writer::{LivePast, PastPlace, PastWriter};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::Change;
use lockscope_model::report::json::to_string;
use lockscope_model::report::{ReportedEnsemble, Snapshot};
use lockscope_past::record::StoreError;

/// A console in step with the tests' [ensemble] that keeps its past.
pub struct LiveConsole {
    pub app: App,
    reader: PastReader,
    writer: Option<PastWriter>,
    pub now: Timestamp,
}

impl LiveConsole {
    /// Creates a console that may change the ensemble, in step with the tests' ensemble.
    pub fn new(size: (u16, u16), place: &PastPlace) -> Self {
        Self::started_at(NOW, size, place)
    }

    /// Creates a console that started at `now`.
    pub fn started_at(now: Timestamp, size: (u16, u16), place: &PastPlace) -> Self {
        let past = LivePast::start(place, CONNECT, true).expect("a writable past").expect("a place");
        let LivePast { recording, writer, reader, .. } = past;
        let settings = Settings { write: true, ..settings() };
        let app = App::new(settings, size, now).with_recording(recording);
        let mut console = Self { app, reader, writer, now };
        console.feed(ensemble());
        console.pass(1);
        console
    }

    /// Delivers changes, a moment after the previous ones.
    pub fn feed(&mut self, changes: Vec<Change>) {
        self.now = self.now.plus(Duration::from_millis(1));
        let update = self.app.update(at(self.now, changes), self.now);
        self.follow(update);
    }

    /// Lets seconds pass.
    pub fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now = self.now.plus(Duration::from_secs(1));
            let update = self.app.update(Event::Tick, self.now);
            self.follow(update);
        }
    }

    /// Presses keys and carries out their effects.
    pub fn press(&mut self, keys: &str) {
        for key in keys.chars() {
            let update = press(&mut self.app, key.encode_utf8(&mut [0; 4]));
            self.follow(update);
        }
    }

    /// Goes to a time.
    pub fn go_to(&mut self, moment: Timestamp) {
        let time = lockscope_model::report::rfc3339(moment).expect("a time");
        self.press(&format!(":at {time}\n"));
    }

    /// Returns what the console shows, as JSON.
    pub fn shown(&self) -> String {
        json(self.app.world(), self.app.now())
    }

    /// Ends the console as a user does.
    pub fn quit(self) {
        self.try_quit().expect("a writable past");
    }

    /// Ends the console, whose past may not be writable.
    pub fn try_quit(mut self) -> Result<(), StoreError> {
        let last = self.app.end_recording();
        self.writer.map_or(Ok(()), |writer| writer.finish(last, self.now))
    }

    fn follow(&mut self, update: Update) {
        let mut effects: std::collections::VecDeque<Effect> = update.effects.into();
        while let Some(effect) = effects.pop_front() {
            let event = match effect {
                Effect::Travel { from, outlined, travel } => self.reader.travel(from, outlined, &travel),
                Effect::ForgetPast => {
                    self.reader.forget();
                    continue;
                }
                Effect::Record(batches) => self.writer.as_ref().expect("a writer").write(batches, self.now),
                _ => continue,
            };
            effects.extend(self.app.update(event, self.now).effects);
        }
    }
}

fn json(world: &ScreenWorld, now: Timestamp) -> String {
    let table = world.table();
    let ensemble = ReportedEnsemble::new(CONNECT, table.session()).with_view(table.view());
    to_string(&Snapshot::new(&ensemble, table, now).with_diagnosis(world.diagnosis())).expect("JSON")
}

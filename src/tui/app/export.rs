//! What is seen, as a JSON file: the same fields as the headless commands.

use serde::Serialize;

use super::{App, Effect, Rows, Screen, Update};
use crate::contend::Outcome;
use crate::queue::Link;
use crate::report::{Ensemble, HappeningLine, SCHEMA, Snapshot, rfc3339};

/// The timeline as one object.
#[derive(Serialize)]
struct Exported<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    happenings: Vec<HappeningLine<'a>>,
}

/// The test clients' figures as one object, each fleet as `lockscope contend` prints it.
#[derive(Serialize)]
struct Contended<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    fleets: Vec<Outcome>,
}

impl App {
    /// Writes what the screen lists, all of it and not only the rows that fit: the locks that pass the filter, the open lock
    /// with its whole queue (a contender without those before it would mislead), or the happenings that pass.
    pub(super) fn export(&mut self) -> Update {
        let text = match self.exported() {
            Ok(Some(text)) => text,
            Ok(None) if self.screen() == Screen::Contend => {
                return self.refuse_export("There are no figures of test clients to export.".to_owned());
            }
            Ok(None) => return self.refuse_export("There is no lock to export.".to_owned()),
            Err(error) => return self.refuse_export(format!("This cannot be written as JSON: {error}.")),
        };
        let time = rfc3339(self.now()).unwrap_or_default().replace([':', '-'], "");
        let name = format!("lockscope-{}-{}.json", self.screen().title().to_lowercase(), time.replace('.', ""));
        Update { redraw: true, effects: vec![Effect::Export { name, text }] }
    }

    fn refuse_export(&mut self, why: String) -> Update {
        self.fail(why);
        Update { redraw: true, effects: Vec::new() }
    }

    fn exported(&self) -> Result<Option<String>, serde_json::Error> {
        let (world, now) = (self.world(), self.now());
        let session = match world.table().link() {
            Link::Connected { session, .. } => Some(*session),
            _ => None,
        };
        let ensemble = Ensemble::new(&self.settings().connect, session);
        let snapshot = |locks| {
            let snapshot = Snapshot::new(&ensemble, world.table(), now).with_locks(locks);
            serde_json::to_string_pretty(&snapshot).map(Some)
        };
        match self.screen() {
            Screen::Queue => world.open_lock().map_or(Ok(None), |lock| snapshot(vec![lock])),
            Screen::Timeline => {
                let rows = world.timeline_rows();
                let seen = (0..rows.len()).filter_map(|rank| world.timeline().get(rows.id(rank)?));
                let happenings = seen.map(|happening| HappeningLine::new(happening, None)).collect();
                let exported = Exported { schema: SCHEMA, taken_at: rfc3339(now), ensemble: &ensemble, happenings };
                serde_json::to_string_pretty(&exported).map(Some)
            }
            Screen::Contend => {
                let fleets: Vec<_> = self.fleets().crews().filter_map(|(_, crew)| crew.outcome()).collect();
                if fleets.is_empty() {
                    return Ok(None);
                }
                let exported = Contended { schema: SCHEMA, taken_at: rfc3339(now), ensemble: &ensemble, fleets };
                serde_json::to_string_pretty(&exported).map(Some)
            }
            Screen::Locks | Screen::Audit | Screen::Help | Screen::Unreadable => {
                let locks = world.locks();
                snapshot(locks.window(0..locks.len()).filter_map(|id| world.table().lock(id)).collect())
            }
        }
    }
}

//! Exports the shown rows as a JSON file, with the same fields as the headless commands.

use serde::Serialize;

use super::json_text::to_json;
use super::{App, Effect, Update};
use lockscope_model::queue::{ConnectionState, LockQueue};
use lockscope_model::report::{Ensemble, SCHEMA, Snapshot, rfc3339};

/// The content of an exported file, with its time and ensemble.
#[derive(Serialize)]
struct Export<'a, T> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    #[serde(flatten)]
    content: T,
}

impl App {
    /// Exports all rows of the screen's list, including those that are scrolled out of view.
    pub(super) fn export(&mut self) -> Update {
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

    fn ensemble(&self) -> Ensemble {
        let table = self.world().table();
        let session = match table.connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        Ensemble::new(&self.settings().connect, session).with_view(table.view())
    }
}

//! What is seen, as a JSON file: the same fields as the headless commands.

mod waiting;

use serde::Serialize;

pub(super) use self::waiting::{SessionFacts, WaitFacts};
use super::lists::list_of;
use super::{App, Effect, TimelineEntry, Update};
use crate::queue::{ConnectionState, LockQueue};
use crate::report::{Ensemble, FindingLine, HappeningLine, SCHEMA, Snapshot, json, rfc3339};

/// What one list exports, and where and when it was taken.
#[derive(Serialize)]
struct Export<'a, T> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    #[serde(flatten)]
    content: T,
}

/// An entry of the timeline.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum TimelineLine<'a> {
    Happening(HappeningLine<'a>),
    Finding(FindingLine<'a>),
    Deletion(DeletionLine<'a>),
}

/// What came of a deletion from this console.
#[derive(Serialize)]
pub(super) struct DeletionLine<'a> {
    at: Option<String>,
    event: &'static str,
    lock: Option<&'a str>,
    name: Option<&'a str>,
    node: &'a str,
    session: Option<String>,
    result: &'static str,
    reason: String,
}

impl<'a> TimelineLine<'a> {
    pub(super) fn new(entry: &'a TimelineEntry) -> Self {
        match entry {
            TimelineEntry::Happening(happening) => Self::Happening(HappeningLine::new(happening, None)),
            TimelineEntry::Finding { at, finding, raised } => Self::Finding(FindingLine::new(finding, *raised, *at)),
            TimelineEntry::Deletion { at, lock, node, session, ending } => Self::Deletion(DeletionLine {
                at: rfc3339(*at),
                event: entry.event(),
                lock: lock.as_ref().map(|lock| lock.path.as_str()),
                name: lock.as_ref().and_then(|lock| lock.name.as_deref()),
                node,
                session: session.map(|session| session.to_string()),
                result: ending.id(),
                reason: format!("{node} {ending}"),
            }),
        }
    }
}

impl App {
    /// Writes what the screen lists, all of it and not only the rows that fit.
    pub(super) fn export(&mut self) -> Update {
        let exported =
            list_of(self.screen).map_or(Err("There is nothing to export.".to_owned()), |list| list.exported(self));
        match exported {
            Ok(text) => {
                let time = rfc3339(self.now()).unwrap_or_default().replace([':', '-'], "");
                let name = format!("lockscope-{}-{}.json", self.screen().title().to_lowercase(), time.replace('.', ""));
                Update::effect(Effect::Export { name, text })
            }
            Err(why) => self.refuse(why),
        }
    }

    /// What a list exports, with where and when it was taken; else a sentence that says why it cannot be written.
    pub(super) fn as_json(&self, content: impl Serialize) -> Result<String, String> {
        let taken_at = rfc3339(self.now());
        to_json(&Export { schema: SCHEMA, taken_at, ensemble: &self.ensemble(), content })
    }

    /// Locks with their queues, as `lockscope snapshot` prints them.
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

fn to_json(value: &impl Serialize) -> Result<String, String> {
    json::to_string_pretty(value).map_err(|error| format!("This cannot be written as JSON: {error}."))
}

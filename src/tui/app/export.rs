//! What is seen, as a JSON file: the same fields as the headless commands.

mod waiting;

use serde::Serialize;

use self::waiting::{SessionFacts, WaitFacts};
use super::{App, Effect, Rows, Screen, TimelineEntry, Update};
use crate::contend::FleetOutcome;
use crate::queue::ConnectionState;
use crate::report::{Ensemble, FindingLine, HappeningLine, SCHEMA, Snapshot, json, rfc3339};

/// The timeline as one object.
#[derive(Serialize)]
struct TimelineExport<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    happenings: Vec<TimelineLine<'a>>,
}

/// The sessions as one object.
#[derive(Serialize)]
struct SessionsExport<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    sessions: Vec<SessionFacts<'a>>,
}

/// The wait-for graph as one object.
#[derive(Serialize)]
struct WaitsExport<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    #[serde(flatten)]
    waits: WaitFacts<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TimelineLine<'a> {
    Happening(HappeningLine<'a>),
    Finding(FindingLine<'a>),
    Deletion(DeletionLine<'a>),
}

/// What came of a deletion from this console.
#[derive(Serialize)]
struct DeletionLine<'a> {
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
    fn new(moment: &'a TimelineEntry) -> Self {
        match moment {
            TimelineEntry::Happening(happening) => Self::Happening(HappeningLine::new(happening, None)),
            TimelineEntry::Finding { at, finding, raised } => Self::Finding(FindingLine::new(finding, *raised, *at)),
            TimelineEntry::Deletion { at, lock, node, session, ending } => Self::Deletion(DeletionLine {
                at: rfc3339(*at),
                event: moment.event(),
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

/// The test clients' figures as one object, each fleet as `lockscope contend` prints it.
#[derive(Serialize)]
struct FleetsExport<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    fleets: Vec<FleetOutcome>,
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
        self.show_failure(why);
        Update { redraw: true, effects: Vec::new() }
    }

    fn exported(&self) -> Result<Option<String>, serde_json::Error> {
        let (world, now) = (self.world(), self.now());
        let session = match world.table().connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        let ensemble = Ensemble::new(&self.settings().connect, session).with_view(world.table().view());
        let snapshot = |locks| {
            let snapshot =
                Snapshot::new(&ensemble, world.table(), now).with_locks(locks).with_diagnosis(world.diagnosis());
            json::to_string_pretty(&snapshot).map(Some)
        };
        match self.screen() {
            Screen::Queue => world.open_lock().map_or(Ok(None), |lock| snapshot(vec![lock])),
            Screen::Timeline => {
                let rows = world.timeline_rows();
                let seen = (0..rows.len()).filter_map(|rank| world.timeline().get(rows.id(rank)?));
                let happenings = seen.map(TimelineLine::new).collect();
                let exported =
                    TimelineExport { schema: SCHEMA, taken_at: rfc3339(now), ensemble: &ensemble, happenings };
                json::to_string_pretty(&exported).map(Some)
            }
            Screen::Contend => {
                let fleets: Vec<_> = self.fleets().each().filter_map(|(_, crew)| crew.outcome()).collect();
                if fleets.is_empty() {
                    return Ok(None);
                }
                let exported = FleetsExport { schema: SCHEMA, taken_at: rfc3339(now), ensemble: &ensemble, fleets };
                json::to_string_pretty(&exported).map(Some)
            }
            Screen::Sessions => {
                let table_at = world.table_at(now);
                let sessions = world.sessions().rows().iter().map(|row| SessionFacts::new(row, table_at)).collect();
                let exported = SessionsExport { schema: SCHEMA, taken_at: rfc3339(now), ensemble: &ensemble, sessions };
                json::to_string_pretty(&exported).map(Some)
            }
            Screen::Waits => {
                let waits = WaitFacts::new(world.waits().waits(), world.table());
                let exported = WaitsExport { schema: SCHEMA, taken_at: rfc3339(now), ensemble: &ensemble, waits };
                json::to_string_pretty(&exported).map(Some)
            }
            Screen::Locks | Screen::Audit | Screen::Help | Screen::Unreadable | Screen::Servers => {
                let locks = world.locks();
                snapshot(locks.window(0..locks.len()).filter_map(|id| world.table().lock(id)).collect())
            }
        }
    }
}

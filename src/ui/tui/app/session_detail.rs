//! What Session shows of one session: where it holds and waits, what it watches, and what happened to it.

use rustc_hash::FxHashMap;

use super::TimelineEntry;
use super::cursor::Rows;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{ContenderState, LockId, Timeline};
use lockscope_model::server_view::Listing;

/// Events of a session that are listed at most, the newest ones.
const MAX_EVENTS: usize = 200;
/// Watched paths that are listed at most.
const MAX_WATCHED: usize = 20;

/// One request of a session for a lock. It identifies a row, wherever that stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionPlace {
    pub lock: LockId,
    /// Its node; `None` where those who wait are not in the tree (single node).
    pub node: Option<ZnodePath>,
}

/// What a session watches by getData or exists, as far as the servers list it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWatches {
    /// Whether the server that holds its connection listed all watches.
    pub is_whole: bool,
    pub paths: Vec<ZnodePath>,
    /// How many more there are.
    pub more: usize,
}

/// What is known of the session whose page is open, as of the last second in which it was looked at.
#[derive(Clone, Debug, Default)]
pub struct SessionDetail {
    session: Option<SessionId>,
    holds: usize,
    places: Vec<SessionPlace>,
    ranks: FxHashMap<SessionPlace, usize>,
    watches: SessionWatches,
    /// Their numbers in the timeline, the newest first.
    events: Vec<u64>,
    has_older_events: bool,
}

impl SessionDetail {
    /// The session; `None` before any was opened.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// How many locks it holds.
    pub fn holds(&self) -> usize {
        self.holds
    }

    /// Where it stands: first what it holds, then what it waits for, each in the order of the locks' paths.
    pub fn places(&self) -> &[SessionPlace] {
        &self.places
    }

    pub fn watches(&self) -> &SessionWatches {
        &self.watches
    }

    /// The numbers of its events in the timeline, the newest first.
    pub fn events(&self) -> &[u64] {
        &self.events
    }

    /// Whether there are more events than are listed.
    pub fn has_older_events(&self) -> bool {
        self.has_older_events
    }

    /// Looks at a session. Work follows the number of contenders, so it is done once a second and only while it is shown.
    pub fn look(&mut self, session: SessionId, table_at: TableAt<'_>, timeline: &Timeline<TimelineEntry>) {
        self.session = Some(session);
        self.list(session, table_at);
        self.watches = watches(session, table_at);
        let end = timeline.first() + timeline.len() as u64;
        let numbered = (timeline.first()..end).rev().zip(timeline.iter().rev());
        let mut own = numbered.filter(|(_, entry)| entry.session() == Some(session)).map(|(number, _)| number);
        self.events = own.by_ref().take(MAX_EVENTS).collect();
        self.has_older_events = own.next().is_some();
    }

    fn list(&mut self, session: SessionId, table_at: TableAt<'_>) {
        let (mut holds, mut awaits) = (Vec::new(), Vec::new());
        for lock in table_at.table().locks() {
            for row in lock.rows(0..lock.len()).filter(|row| row.contender.session() == Some(session)) {
                let place = SessionPlace { lock: lock.id(), node: Some(lock.path_of(row.contender)) };
                if row.state == ContenderState::Holds { holds.push(place) } else { awaits.push(place) }
            }
            if lock.kind() == LockKind::SingleNode
                && table_at.waiters(lock).is_some_and(|watchers| watchers.sessions.contains(&session))
            {
                awaits.push(SessionPlace { lock: lock.id(), node: None });
            }
        }
        self.holds = holds.len();
        self.places = holds;
        self.places.append(&mut awaits);
        self.ranks = self.places.iter().cloned().zip(0..).collect();
    }
}

fn watches(session: SessionId, table_at: TableAt<'_>) -> SessionWatches {
    let view = table_at.view();
    let listed = view.members.iter().filter_map(|member| member.watched.as_ref()).flat_map(Listing::items);
    let own = listed.filter(|watched| watched.sessions.binary_search(&session).is_ok());
    let mut paths: Vec<ZnodePath> = own.map(|watched| watched.path.clone()).collect();
    paths.dedup();
    let more = paths.len().saturating_sub(MAX_WATCHED);
    paths.truncate(MAX_WATCHED);
    SessionWatches { is_whole: view.watches_as_of(session).is_some(), paths, more }
}

impl Rows<SessionPlace> for SessionDetail {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn rank(&self, id: &SessionPlace) -> Option<usize> {
        self.ranks.get(id).copied()
    }

    fn id(&self, rank: usize) -> Option<SessionPlace> {
        self.places.get(rank).cloned()
    }
}

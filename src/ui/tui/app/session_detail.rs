//! The contents of Session: the locks that one session holds or waits for, its watches and its
//! events.

use rustc_hash::FxHashMap;

use super::TimelineEntry;
use super::cursor::Rows;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{ContenderState, LockId, Timeline};
use lockscope_model::server_view::Listing;

/// Maximum number of listed events of a session. The newest are listed.
const MAX_EVENTS: usize = 200;
/// Maximum number of listed watched paths.
const MAX_WATCHED: usize = 20;

/// One request of a session for a lock, which identifies its row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionPlace {
    pub lock: LockId,
    /// The session's node; `None` for a waiter of a single-node lock, which has no node.
    pub node: Option<ZnodePath>,
}

/// The paths that a session watches by getData or exists, as far as the servers list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWatches {
    /// Whether `paths` and `more` are complete: the server of the session's connection listed all
    /// watches.
    pub is_whole: bool,
    pub paths: Vec<ZnodePath>,
    /// The number of paths that are not in `paths`.
    pub more: usize,
}

/// The session whose page is open, as of the last refresh, at most a second ago while the page is
/// shown.
#[derive(Clone, Debug, Default)]
pub struct SessionDetail {
    session: Option<SessionId>,
    holds: usize,
    places: Vec<SessionPlace>,
    ranks: FxHashMap<SessionPlace, usize>,
    watches: SessionWatches,
    /// The events' numbers in the timeline, the newest first.
    events: Vec<u64>,
    has_older_events: bool,
}

impl SessionDetail {
    /// The session; `None` until a session is opened.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// The number of locks that the session holds.
    pub fn holds(&self) -> usize {
        self.holds
    }

    /// The session's requests: first the locks that it holds, then those that it waits for, each in
    /// the order of the locks' paths.
    pub fn places(&self) -> &[SessionPlace] {
        &self.places
    }

    pub fn watches(&self) -> &SessionWatches {
        &self.watches
    }

    /// The numbers of the session's events in the timeline, the newest first.
    pub fn events(&self) -> &[u64] {
        &self.events
    }

    /// Whether older events exist that are not listed.
    pub fn has_older_events(&self) -> bool {
        self.has_older_events
    }

    /// Reads the details of a session. Linear in the number of contenders, so this runs once a
    /// second, and only while the page is shown.
    pub fn read(&mut self, session: SessionId, table_at: TableAt<'_>, timeline: &Timeline<TimelineEntry>) {
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

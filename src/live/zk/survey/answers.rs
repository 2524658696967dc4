//! The answers of a member in one round.

use std::collections::HashSet;
use std::time::Duration;

use super::ends::EndsWanted;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::server_view::four_letter::Srvr;
use lockscope_model::server_view::{
    AskedBy, Connection, Ephemerals, Health, ListedSession, Load, ServerSettings, Software, SyncSettings, Transport,
    WatchEventTotals, WatchTotals, WatchedPath,
};

/// The optional questions of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedAnswers<'a> {
    /// The path that stands for `/`; paths in answers are absolute.
    pub(super) chroot: Option<&'a ZnodePath>,
    /// Ask for the number of watches and of sent events.
    pub(super) figures: bool,
    /// Ask which sessions watch which paths.
    pub(super) watchers: bool,
    /// When to ask how many sessions the server expired.
    pub(super) ends: EndsWanted<'a>,
}

/// A list, and whether it is complete.
pub(super) type ListAndWhole<T> = (Vec<T>, bool);

#[derive(Debug)]
pub(super) struct RoundAnswers {
    pub(super) asked_by: AskedBy,
    pub(super) transport: Transport,
    pub(super) server: Srvr,
    pub(super) connections: Option<ListAndWhole<Connection>>,
    pub(super) sessions: Option<ListAndWhole<ListedSession>>,
    pub(super) ephemerals: Option<Ephemerals>,
    /// How many sessions the server expired, asked after it had listed the sessions.
    pub(super) expired: Option<TimedAnswer<Option<u64>>>,
    /// `None` when the question was not asked.
    pub(super) figures: Option<TimedAnswer<ServerFigures>>,
    pub(super) watched: Option<TimedAnswer<Option<ListAndWhole<WatchedPath>>>>,
    /// The first problem found, with what to change; it concerns the questions without a pace of
    /// their own.
    pub(super) problem: Option<String>,
    /// How long the server was busy with the questions without a pace of their own.
    pub(super) cost: Duration,
}

impl RoundAnswers {
    pub(super) fn new(asked_by: AskedBy, transport: Transport) -> Self {
        Self {
            asked_by,
            transport,
            server: Srvr::default(),
            connections: None,
            sessions: None,
            ephemerals: None,
            expired: None,
            figures: None,
            watched: None,
            problem: None,
            cost: Duration::ZERO,
        }
    }

    /// Returns whether the server lists sessions without a connection. When the sessions were
    /// listed after the connections, some of them may be new, and the connections must be listed
    /// again.
    pub(super) fn lists_unconnected(&self) -> bool {
        let (Some((connections, _)), Some((sessions, _))) = (&self.connections, &self.sessions) else { return false };
        let connected: HashSet<SessionId> = connections.iter().map(|connection| connection.session).collect();
        sessions.iter().any(|session| !connected.contains(&session.id))
    }

    /// Returns whether the server calls itself `ClickHouse` Keeper.
    pub(super) fn are_of_keeper(&self) -> bool {
        Software::of_version(self.server.version.as_deref()) == Software::Keeper
    }

    pub(super) fn note_problem(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    /// Counts the cost of one question.
    pub(super) fn count(&mut self, load: &mut Load, bytes: usize, took: Duration) {
        load.count(bytes, took);
        self.cost += took;
    }

    /// Returns the problems of all groups of questions.
    pub(super) fn problems(&mut self) -> impl Iterator<Item = &mut String> {
        let figures = self.figures.as_mut().and_then(|timed| timed.problem.as_mut());
        let watched = self.watched.as_mut().and_then(|timed| timed.problem.as_mut());
        self.problem.as_mut().into_iter().chain(figures).chain(watched)
    }
}

/// Returns the answer that `take` reads to questions that have a pace of their own. Their cost and
/// their problems are counted apart.
pub(super) fn timed<A: AsMut<RoundAnswers>, T>(asking: &mut A, take: impl FnOnce(&mut A) -> T) -> TimedAnswer<T> {
    let answers = asking.as_mut();
    let (cost, problem) = (std::mem::take(&mut answers.cost), answers.problem.take());
    let found = take(asking);
    let answers = asking.as_mut();
    let took = std::mem::replace(&mut answers.cost, cost);
    TimedAnswer { found, took, problem: std::mem::replace(&mut answers.problem, problem) }
}

/// The answer to questions with a pace of their own, or its absence.
#[derive(Debug)]
pub(super) struct TimedAnswer<T> {
    pub(super) found: T,
    /// How long the server was busy with it, successful or not.
    pub(super) took: Duration,
    /// The problem and what to change.
    pub(super) problem: Option<String>,
}

/// The counters and settings of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerFigures {
    pub(super) health: Health,
    pub(super) watches: Option<u64>,
    pub(super) totals: Option<WatchTotals>,
    pub(super) fired: Option<WatchEventTotals>,
    /// The server's settings; `None` also when the server may not tell, which is no problem of the
    /// other answers.
    pub(super) settings: Option<ServerSettings>,
    pub(super) sync_settings: Option<SyncSettings>,
}

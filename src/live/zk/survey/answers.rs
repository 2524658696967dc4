//! What one round of questions to a member brought.

use std::collections::HashSet;
use std::time::Duration;

use lockscope_base::znode::SessionId;
use lockscope_model::server_view::four_letter::Srvr;
use lockscope_model::server_view::{
    AskedBy, Connection, ListedSession, ServerSettings, SyncSettings, Transport, WatchEventTotals, WatchTotals,
    WatchedPath,
};

/// What is asked besides who is connected.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedAnswers {
    /// How many watches there are, and how many events were sent.
    pub(super) figures: bool,
    /// Who watches what.
    pub(super) watchers: bool,
}

/// A list, and whether it is whole.
pub(super) type ListAndWhole<T> = (Vec<T>, bool);

/// What one round brought.
#[derive(Debug)]
pub(super) struct RoundAnswers {
    pub(super) asked_by: AskedBy,
    /// How the answers came.
    pub(super) transport: Transport,
    pub(super) server: Srvr,
    pub(super) connections: Option<ListAndWhole<Connection>>,
    pub(super) sessions: Option<ListAndWhole<ListedSession>>,
    /// `None` when that was not asked.
    pub(super) figures: Option<TimedAnswer<ServerFigures>>,
    pub(super) watched: Option<TimedAnswer<Option<ListAndWhole<WatchedPath>>>>,
    /// What is wrong with the rest and what to change: the first thing that was found.
    pub(super) problem: Option<String>,
    /// How long the server was busy with the questions that have no pace of their own.
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
            figures: None,
            watched: None,
            problem: None,
            cost: Duration::ZERO,
        }
    }

    /// Whether it lists sessions without a connection. When the sessions were listed after the connections, some of them may be
    /// new: the connections have to be listed again.
    pub(super) fn lists_unconnected(&self) -> bool {
        let (Some((connections, _)), Some((sessions, _))) = (&self.connections, &self.sessions) else { return false };
        let connected: HashSet<SessionId> = connections.iter().map(|connection| connection.session).collect();
        sessions.iter().any(|session| !connected.contains(&session.id))
    }

    pub(super) fn note_problem(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    /// Begins questions with a pace of their own: what they cost and what is wrong with them is counted from zero. Hand what
    /// this gives to [`end_timed`](Self::end_timed).
    pub(super) fn begin_timed(&mut self) -> OtherQuestions {
        OtherQuestions { cost: std::mem::take(&mut self.cost), problem: self.problem.take() }
    }

    /// What came of these questions; from here on the others are counted again.
    pub(super) fn end_timed<T>(&mut self, others: OtherQuestions, found: T) -> TimedAnswer<T> {
        let took = std::mem::replace(&mut self.cost, others.cost);
        let problem = std::mem::replace(&mut self.problem, others.problem);
        TimedAnswer { found, took, problem }
    }

    /// What is wrong with each of the groups of questions.
    pub(super) fn problems(&mut self) -> impl Iterator<Item = &mut String> {
        let figures = self.figures.as_mut().and_then(|timed| timed.problem.as_mut());
        let watched = self.watched.as_mut().and_then(|timed| timed.problem.as_mut());
        self.problem.as_mut().into_iter().chain(figures).chain(watched)
    }
}

/// What the questions without a pace of their own cost, and what is wrong with them.
#[derive(Debug)]
pub(super) struct OtherQuestions {
    cost: Duration,
    problem: Option<String>,
}

/// An answer to questions with a pace of their own, or its absence.
#[derive(Debug)]
pub(super) struct TimedAnswer<T> {
    pub(super) found: T,
    /// How long the server was busy with it, in vain or not.
    pub(super) took: Duration,
    /// What is wrong with it and what to change.
    pub(super) problem: Option<String>,
}

/// What a server counts, and what it is set to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerFigures {
    pub(super) watches: Option<u64>,
    pub(super) totals: Option<WatchTotals>,
    pub(super) fired: Option<WatchEventTotals>,
    /// What it is set to; `None` also where it may not say so, which is no problem of the other answers.
    pub(super) settings: Option<ServerSettings>,
    pub(super) sync_settings: Option<SyncSettings>,
}

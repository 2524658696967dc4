//! The state of the connection to an ensemble, in a word and a reason.

use crate::queue::{ConnectionState, LockTable, NO_ANSWER};

/// The kind of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKind {
    /// The locks are in step with the ensemble.
    Live,
    /// The locks are read.
    Reading,
    /// The first connection is made.
    Connecting,
    /// Events come faster than they can be read.
    Overloaded,
    /// The ensemble does not answer.
    Silent,
    /// The connected member is behind the others.
    Lagging,
    /// The connection was lost.
    CutOff,
    /// No connection can be made.
    NoConnection,
    /// The ensemble refuses the session, and there is no further attempt.
    Refused,
}

impl StateKind {
    /// Returns the words for the screen and for JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Reading => "reading",
            Self::Connecting => "connecting",
            Self::Overloaded => "overloaded",
            Self::Silent => "no answer",
            Self::Lagging => "lags",
            Self::CutOff => "cut off",
            Self::NoConnection => "no connection",
            Self::Refused => "refused",
        }
    }

    /// Returns whether the locks cannot be seen, and that is no matter of a moment.
    pub fn is_broken(self) -> bool {
        self >= Self::Overloaded
    }
}

/// The state of an ensemble's connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnsembleState {
    kind: StateKind,
    reason: Option<String>,
}

impl EnsembleState {
    /// Returns a state with its reason.
    pub fn new(kind: StateKind, reason: Option<String>) -> Self {
        Self { kind, reason }
    }

    /// Returns the state of a table's connection.
    pub fn of(table: &LockTable) -> Self {
        let (kind, reason) = match table.connection() {
            _ if table.is_live() => (StateKind::Live, None),
            ConnectionState::Connected { .. } => (StateKind::Reading, None),
            ConnectionState::Connecting { reason: None, .. } => (StateKind::Connecting, None),
            ConnectionState::Connecting { reason, .. } => (StateKind::NoConnection, reason.clone()),
            ConnectionState::Overloaded { reason } => (StateKind::Overloaded, Some(reason.clone())),
            ConnectionState::Lost { reason } => (StateKind::CutOff, Some(reason.clone())),
            ConnectionState::Silent { .. } => (StateKind::Silent, Some(NO_ANSWER.to_owned())),
            ConnectionState::Refused { reason } => (StateKind::Refused, Some(reason.clone())),
            ConnectionState::Lagging { reason, .. } => (StateKind::Lagging, Some(reason.clone())),
        };
        Self { kind, reason }
    }

    /// Returns the kind.
    pub fn kind(&self) -> StateKind {
        self.kind
    }

    /// Returns why the locks cannot be seen.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

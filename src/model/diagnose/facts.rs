//! A table with the servers' answers: who the clients are, whether they are alive, and who watches.

use std::time::Duration;

use crate::queue::{ClientIdentity, ConnectionState, Contender, LockId, LockQueue, LockTable};
use crate::server_view::{Liveness, ServerView, Watchers};
use lockscope_base::recipe::{self, LockKind, Recipe};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, escaped};

/// How long a session must be in no list before its node is a ghost. Members answer one after the
/// other, and a follower may lag.
const GHOSTLY: Duration = Duration::from_secs(2);

/// Whether a contender's owner is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerState {
    /// A server holds a connection of the session.
    Live,
    /// A server holds a connection of the session, but has not heard it for at least half of its
    /// timeout.
    Silent,
    /// The session has no connection. It expires unless its client comes back.
    Expiring,
    /// The session provably does not exist, though its node still does.
    Ghost,
    /// No session owns the node.
    Ownerless,
    /// The servers did not report enough.
    Unknown,
}

impl OwnerState {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Silent => "silent",
            Self::Expiring => "expiring",
            Self::Ghost => "ghost",
            Self::Ownerless => "ownerless",
            Self::Unknown => "unknown",
        }
    }
}

/// What a contender's owner watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchTarget {
    /// The node that the contender waits for.
    Predecessor,
    /// The node that the contender waits for, and the one before it.
    TwoBefore,
    /// The children of the lock parent, as in a herd.
    Parent,
    /// None of these.
    Nothing,
    /// The servers did not report enough. Also used for holders, which have nothing to watch.
    Unknown,
}

impl WatchTarget {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Predecessor | Self::TwoBefore => "predecessor",
            Self::Parent => "parent",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// A table with the servers' answers at one moment.
#[derive(Clone, Copy, Debug)]
pub struct TableAt<'a> {
    table: &'a LockTable,
    now: Timestamp,
}

impl<'a> TableAt<'a> {
    /// Creates a snapshot of the table and its last view at `now`.
    pub fn new(table: &'a LockTable, now: Timestamp) -> Self {
        Self { table, now }
    }

    /// Returns the table.
    pub fn table(&self) -> &'a LockTable {
        self.table
    }

    /// Returns the servers' answers.
    pub fn view(&self) -> &'a ServerView {
        self.table.view()
    }

    /// Returns the moment, by this machine's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns whether every server that answers was asked again since the last upheaval of the
    /// ensemble. Before that, a session without a connection may only be moving.
    pub(super) fn is_settled(&self) -> bool {
        self.table.upheaval_at().is_none_or(|at| self.view().answers_as_of() > Some(at))
    }

    /// Returns the client of a contender.
    pub fn identity(&self, contender: &Contender) -> ClientIdentity {
        self.table.identity_of(contender)
    }

    /// Names a contender in a sentence; by its node if it has no session and no name.
    pub fn who(&self, contender: &Contender) -> String {
        let client = self.identity(contender);
        let nobody = ClientIdentity { unread: client.unread, ..ClientIdentity::default() };
        if client == nobody { short_node(&contender.node) } else { client.in_sentence(self.now) }
    }

    /// Names the client with this node in a lock's queue, in a sentence.
    pub(super) fn who_at(&self, lock: LockId, node: &str, session: SessionId) -> String {
        self.table.identity_at(lock, node, session).in_sentence(self.now)
    }

    /// Names a session in a sentence.
    pub(super) fn who_is(&self, session: SessionId) -> String {
        self.table.identity(session).in_sentence(self.now)
    }

    /// Returns whether a contender's owner is alive, and how long its session has left if it is
    /// silent or has no connection.
    pub fn owner_of(&self, contender: &Contender) -> (OwnerState, Option<Duration>) {
        let Some(session) = contender.session() else {
            let owner = if contender.is_read() { OwnerState::Ownerless } else { OwnerState::Unknown };
            return (owner, None);
        };
        self.owner_state(session, contender.contends_since(self.table.clock_ahead_ms()))
    }

    /// Returns whether a session is alive that had a node at `since`, by this machine's clock.
    ///
    /// A session without a connection is unknown for as long as it may only be moving.
    pub fn owner_state(&self, session: SessionId, since: Timestamp) -> (OwnerState, Option<Duration>) {
        let liveness = self.view().liveness(session);
        match liveness {
            Liveness::Connected => match self.view().silence_of(session) {
                Some(silence) => (OwnerState::Silent, Some(silence.left(self.now))),
                None => (OwnerState::Live, None),
            },
            Liveness::Disconnected { .. } if !self.is_settled() => (OwnerState::Unknown, None),
            Liveness::Disconnected { .. } => (OwnerState::Expiring, liveness.expires_in(self.now)),
            // A list that is older than the node proves nothing about its owner.
            Liveness::NoSession { at } if at > since.plus(GHOSTLY) && self.view().every_member_answered() => {
                (OwnerState::Ghost, None)
            }
            Liveness::NoSession { .. } | Liveness::Exists { .. } | Liveness::Unproven | Liveness::Unknown => {
                (OwnerState::Unknown, None)
            }
        }
    }

    /// Returns the number of watches on children on the server with a session's connection, and
    /// when the server counted them.
    ///
    /// The watch of this table's observer, which servers before 3.9 count too, is subtracted.
    pub(super) fn child_watches_beside(&self, session: SessionId) -> Option<(u64, Timestamp)> {
        let (member, _) = self.view().connection_of(session)?;
        let (count, at) = (member.child_watches()?, member.counted_at?);
        let own = match self.table.connection() {
            ConnectionState::Connected { session, recursive: true } if member.counts_recursive_watches() => {
                let here = member.connections_of(*session).iter();
                here.filter_map(|connection| connection.established).any(|made| at.since(made) > JUST_MADE)
            }
            _ => false,
        };
        Some((count.saturating_sub(u64::from(own)), at))
    }

    /// Returns the sessions that watch the node of a single-node lock, without its holder: they
    /// wait or stand by.
    ///
    /// Returns `None` when no server listed its watches, and for other locks, whose waiters are in
    /// the tree.
    pub fn waiters(&self, lock: &LockQueue) -> Option<Watchers> {
        if lock.kind() != LockKind::SingleNode {
            return None;
        }
        let mut watchers = self.view().watchers_of(lock.path())?;
        let holder = lock.first_holder().and_then(Contender::session);
        let observer = match self.table.connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        let others = [holder, observer, self.view().own_session];
        watchers.sessions.retain(|session| !others.contains(&Some(*session)));
        Some(watchers)
    }
}

/// Returns the name of a node for a sentence: its number if it has one, otherwise its full name.
pub(super) fn short_node(node: &str) -> String {
    match Sequence::split(node) {
        Some((_, Sequence(number))) => format!("node {number}"),
        None => format!("node {}", escaped(node)),
    }
}

/// The end of a sentence that rests on a plain-text answer beside a session over TLS.
pub(super) const IN_PLAIN_TEXT: &str = " (told in plain text, which proves nothing beside TLS)";

/// A watch or connection that was made this shortly before a count may be missing from it.
pub(super) const JUST_MADE: Duration = Duration::from_secs(2);

/// Returns the part of a node's name that identifies its attempt, without the number. `None` for
/// names without an id, and for those with a session id, which all attempts of a session share.
pub(super) fn attempt<'n>(lock: &LockQueue, node: &'n str) -> Option<&'n str> {
    let name = match lock.recipe() {
        Recipe::Own(own) => own.read(node),
        _ => recipe::read(node),
    };
    let id = name?.attempt?;
    let digits = id.bytes().filter(u8::is_ascii_hexdigit).count();
    (digits == 32).then_some(Sequence::split(node)?.0)
}

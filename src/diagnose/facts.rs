use std::time::Duration;

use crate::queue::{Contender, LockQueue, LockTable, Row};
use crate::server_view::{Connection, Liveness, ServerView};
use crate::znode::{SessionId, Timestamp};

/// How long a session must have been in nobody's list before its node is a ghost: members answer one after the other, and a
/// follower may lag.
const GHOSTLY: Duration = Duration::from_secs(2);

/// Whether a contender's owner lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    /// A server holds a connection of it.
    Live,
    /// Its session has no connection: it expires by itself, unless its client comes back.
    Expiring,
    /// It is proved that there is no such session, though its node is still there.
    Ghost,
    /// No session owns the node.
    Ownerless,
    /// The servers did not tell enough.
    Unknown,
}

impl Life {
    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Expiring => "expiring",
            Self::Ghost => "ghost",
            Self::Ownerless => "ownerless",
            Self::Unknown => "unknown",
        }
    }
}

/// What a contender's owner watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watching {
    /// The node that it waits for.
    Predecessor,
    /// The lock parent's children: a herd.
    Parent,
    /// Neither.
    Nothing,
    /// The servers did not tell enough. It is so for whoever holds, too: nothing is to be watched then.
    Unknown,
}

impl Watching {
    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Predecessor => "predecessor",
            Self::Parent => "parent",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// What the servers say about a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Whether its owner lives.
    pub life: Life,
    /// Its owner's connection.
    pub connection: Option<&'a Connection>,
    /// How long its session still has, if it has no connection and that is known.
    pub expires_in: Option<Duration>,
    /// What its owner watches.
    pub watching: Watching,
}

/// A table and what the servers say, seen together at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    table: &'a LockTable,
    now: Timestamp,
}

impl<'a> Sight<'a> {
    /// The table, with the view that it was told last.
    pub fn new(table: &'a LockTable, now: Timestamp) -> Self {
        Self { table, now }
    }

    /// The table.
    pub fn table(&self) -> &'a LockTable {
        self.table
    }

    /// What the servers told.
    pub fn view(&self) -> &'a ServerView {
        self.table.view()
    }

    /// This moment, by this machine's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// What the servers say about a contender. It costs a search by halves for each member and each node that is waited for.
    pub fn facts(&self, lock: &LockQueue, row: &Row<'a>) -> Facts<'a> {
        let contender = row.contender;
        let (life, expires_in) = self.life(contender);
        let connection =
            contender.session.and_then(|session| self.view().connection_of(session)).map(|(_, found)| found);
        Facts { life, connection, expires_in, watching: self.watching(lock, row) }
    }

    /// Whether a contender's owner lives, and how long its session still has without a connection.
    pub fn life(&self, contender: &Contender) -> (Life, Option<Duration>) {
        let Some(session) = contender.session else { return (Life::Ownerless, None) };
        self.life_of(session, contender.contends_since(self.table.clock_ahead_ms()))
    }

    /// Whether a session lives that had a node at that time, by this machine's clock.
    pub fn life_of(&self, session: SessionId, since: Timestamp) -> (Life, Option<Duration>) {
        let liveness = self.view().liveness(session);
        match liveness {
            Liveness::Connected => (Life::Live, None),
            Liveness::Disconnected { .. } => (Life::Expiring, liveness.expires_in(self.now)),
            // A list that is older than the node says nothing about its owner.
            Liveness::NoSession { at } if at > since.plus(GHOSTLY) && self.view().every_member_answered() => {
                (Life::Ghost, None)
            }
            Liveness::NoSession { .. } | Liveness::Exists { .. } | Liveness::Unknown => (Life::Unknown, None),
        }
    }

    /// What a waiter watches, as far as the servers' lists show it. They never show who watches children, only how many such
    /// watches there are in all.
    fn watching(&self, lock: &LockQueue, row: &Row<'a>) -> Watching {
        let Some(session) = row.contender.session else { return Watching::Unknown };
        let mut known = true;
        for node in lock.waits_for(row.position, 1) {
            match self.view().watches(session, &lock.queue_path().child(node)) {
                Some(true) => return Watching::Predecessor,
                Some(false) => {}
                None => known = false,
            }
        }
        let waits = row.state == crate::queue::State::Waits;
        match self.view().child_watches() {
            Some(0) if known && waits => Watching::Nothing,
            _ => Watching::Unknown,
        }
    }
}

//! The memory of sessions that contend or wait by a watch: their clients' names, the connections
//! that they lost, and the ends that the servers may still settle.
//!
//! How ends are settled is in [`clients`](super::clients).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{ClientIdentity, Contender, ContenderId, LockName};
use crate::server_view::{Connection, EndLedger, ExpiredSession, Listing, MemberView, ServerView};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of sessions in memory that have no contender. They had one, or were seen to wait
/// for a single-node lock. The session whose last contender left first, or that was seen to wait
/// the longest ago, is forgotten first.
pub const MAX_DEPARTED: usize = 2_000;

/// A session's connection, as a server lists it now or listed it last.
#[derive(Clone, Copy, Debug)]
pub struct LastConnection<'a> {
    /// The connection.
    pub connection: &'a Connection,
    /// The address of the server that holds or held the connection.
    pub server: &'a str,
    /// When the connection was last listed, by this machine's clock; `None` while it is listed.
    pub last_listed: Option<Timestamp>,
}

/// A connection that is no longer listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unlisted {
    connection: Connection,
    server: String,
    at: Timestamp,
}

impl Unlisted {
    fn new(member: &MemberView, connection: &Connection) -> Self {
        let at = member.connections.as_ref().map(|listing| listing.at).unwrap_or_default();
        Self { connection: connection.clone(), server: member.address.clone(), at }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct KnownSession {
    /// The number of the session's contenders.
    contenders: u32,
    /// The client's name, from the data of the last contender.
    name: Option<Arc<str>>,
    /// The last connection, once no server lists it any more.
    unlisted: Option<Box<Unlisted>>,
    /// The session's place in the order of forgetting; `None` while it has contenders.
    departed: Option<u64>,
}

/// Every session with a contender, and at most [`MAX_DEPARTED`] sessions that had one or were seen
/// to wait by a watch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sessions {
    known: FxHashMap<SessionId, KnownSession>,
    departed: BTreeMap<u64, SessionId>,
    next: u64,
    were_listed: bool,
    /// The sessions of an ensemble that exist without a connection, and when this was first seen.
    /// Recordings store this apart, because older ones have no place for it here.
    #[serde(skip)]
    disconnected: BTreeMap<SessionId, Timestamp>,
}

impl Sessions {
    /// Updates the client's name from a contender's data.
    fn named(&mut self, contender: &Contender, recipe: Recipe) -> Option<&mut KnownSession> {
        let known = self.known.entry(contender.session()?).or_default();
        if let Some(name) = ClientIdentity::name_by(recipe, contender.data.bytes())
            && known.name.as_deref() != Some(&*name)
        {
            known.name = Some(name.into());
        }
        Some(known)
    }

    /// Adds a contender.
    pub fn add(&mut self, contender: &Contender, recipe: Recipe) {
        let Some(known) = self.named(contender, recipe) else { return };
        known.contenders += 1;
        if let Some(number) = known.departed.take() {
            self.departed.remove(&number);
        }
    }

    /// Updates the session after a contender's data changed.
    pub fn changed(&mut self, contender: &Contender, recipe: Recipe) {
        self.named(contender, recipe);
    }

    /// Removes a contender.
    pub fn remove(&mut self, contender: &Contender) {
        let Some(session) = contender.session() else { return };
        let Some(known) = self.known.get_mut(&session) else { return };
        known.contenders = known.contenders.saturating_sub(1);
        self.depart(session);
    }

    /// Notes that a session watches the node of a single-node lock. No other evidence shows its
    /// wait.
    pub fn seen_to_wait(&mut self, session: SessionId) {
        self.known.entry(session).or_default();
        self.depart(session);
    }

    /// Moves a session to the end of the order of forgetting, unless it has a contender.
    fn depart(&mut self, session: SessionId) {
        let Some(known) = self.known.get_mut(&session).filter(|known| known.contenders == 0) else { return };
        if let Some(before) = known.departed.replace(self.next) {
            self.departed.remove(&before);
        }
        self.departed.insert(self.next, session);
        self.next += 1;
        while self.departed.len() > MAX_DEPARTED {
            let Some((_, oldest)) = self.departed.pop_first() else { return };
            self.known.remove(&oldest);
        }
    }

    /// Takes over the servers' new answers, and remembers the connections that are no longer
    /// listed.
    ///
    /// Linear in the connections that were listed before.
    pub fn surveyed(&mut self, before: &ServerView, view: &ServerView) {
        self.were_listed |= view.members.iter().any(|member| member.connections.is_some());
        for member in &before.members {
            for connection in member.connections.iter().flat_map(Listing::items) {
                let Some(known) = self.known.get_mut(&connection.session) else { continue };
                if view.connection_of(connection.session).is_some() {
                    known.unlisted = None;
                } else if let Some((member, connection)) = before.connection_of(connection.session) {
                    known.unlisted = Some(Box::new(Unlisted::new(member, connection)));
                }
            }
        }
        self.note_disconnected(view);
    }

    /// Updates the sessions without a connection. Linear in the listed sessions.
    fn note_disconnected(&mut self, view: &ServerView) {
        let before = std::mem::take(&mut self.disconnected);
        if view.is_standalone() {
            return;
        }
        for listed in view.members.iter().filter_map(|member| member.sessions.as_ref()).flat_map(Listing::items) {
            if self.known.contains_key(&listed.id) && view.connection_of(listed.id).is_none() {
                self.disconnected.insert(listed.id, before.get(&listed.id).copied().unwrap_or(view.at));
            }
        }
    }

    /// Returns the sessions of an ensemble that exist without a connection, and when this was first
    /// seen.
    pub fn disconnected(&self) -> &BTreeMap<SessionId, Timestamp> {
        &self.disconnected
    }

    /// Restores the sessions without a connection from a recording.
    pub fn set_disconnected(&mut self, disconnected: BTreeMap<SessionId, Timestamp>) {
        self.disconnected = disconnected;
    }

    /// Returns whether a session has a contender.
    pub fn contends(&self, session: SessionId) -> bool {
        self.known.get(&session).is_some_and(|known| known.contenders > 0)
    }

    /// Returns whether any server has ever listed its connections.
    pub fn were_listed(&self) -> bool {
        self.were_listed
    }

    /// Returns the last connection of a session that lost it, even while its server does not
    /// answer.
    pub fn last_of(&self, session: SessionId) -> Option<&Connection> {
        Some(&self.known.get(&session)?.unlisted.as_deref()?.connection)
    }

    /// Returns the client's name from the data of the session's last contender.
    pub fn name(&self, session: SessionId) -> Option<&Arc<str>> {
        self.known.get(&session)?.name.as_ref()
    }

    /// Returns the last connection of a session that no server lists any more.
    ///
    /// Returns `None` while the server that listed it last does not answer: the client may still be
    /// connected there.
    pub fn unlisted(&self, session: SessionId, view: &ServerView) -> Option<LastConnection<'_>> {
        let Unlisted { connection, server, at } = self.known.get(&session)?.unlisted.as_deref()?;
        let member = view.members.iter().find(|member| member.address == *server);
        if member.is_some_and(|member| !member.knows_connections()) {
            return None;
        }
        Some(LastConnection { connection, server, last_listed: Some(*at) })
    }

    /// Keeps only the sessions that have a contender or satisfy `stays`.
    pub fn retain_departed(&mut self, stays: impl Fn(SessionId) -> bool) {
        self.known.retain(|session, known| known.departed.is_none() || stays(*session));
        self.departed.retain(|_, session| stays(*session));
    }

    /// Forgets the names of all clients.
    pub fn forget_names(&mut self) {
        for known in self.known.values_mut() {
            known.name = None;
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }
}

/// Maximum number of ends that wait for answers of the servers, and of sessions whose nodes are
/// waited for. Beyond it the oldest ends stay unknown.
const MAX_PENDING: usize = 10_000;

/// Maximum time for which they are kept: that of the ledger, and some rounds.
const MAX_PENDING_AGE: Duration = Duration::from_secs(15);

/// What is known of the ends of sessions that may still be settled. Recordings store it beside the
/// table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingEnds {
    pub ledger: EndLedger,
    /// The sessions that expired lately, and when this was learned. The deletions of their nodes may
    /// be seen later.
    expired: BTreeMap<SessionId, (Timestamp, ExpiredSession)>,
    pub ends: VecDeque<PendingEnd>,
}

/// A node that went, though it is not known whether its session expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingEnd {
    pub lock: LockName,
    pub contender: ContenderId,
    pub node: Arc<str>,
    pub session: SessionId,
    pub client: ClientIdentity,
    pub at: Timestamp,
    pub held: bool,
}

impl PendingEnds {
    /// Returns when a session expired, if it was one of the last.
    pub fn expired(&self, session: SessionId) -> Option<ExpiredSession> {
        self.expired.get(&session).map(|(_, expired)| *expired)
    }

    /// Remembers sessions that expired.
    pub fn learned(&mut self, expired: &[ExpiredSession], now: Timestamp) {
        self.expired.retain(|_, (at, _)| now.since(*at) <= MAX_PENDING_AGE);
        let room = MAX_PENDING.saturating_sub(self.expired.len());
        self.expired.extend(expired.iter().take(room).map(|expired| (expired.session, (now, *expired))));
    }

    /// Adds an end.
    pub fn push(&mut self, end: PendingEnd) {
        if self.ends.len() == MAX_PENDING {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// Takes the ends that satisfy `is_settled`, and drops those that are too old.
    pub fn take(&mut self, now: Timestamp, is_settled: impl Fn(&PendingEnd) -> bool) -> Vec<PendingEnd> {
        let (settled, ends) = std::mem::take(&mut self.ends).into_iter().partition(is_settled);
        self.ends = ends;
        self.ends.retain(|end| now.since(end.at) <= MAX_PENDING_AGE);
        Vec::from(settled)
    }

    /// Keeps only the ends of sessions that satisfy `stays`.
    pub fn retain(&mut self, stays: impl Fn(SessionId) -> bool) {
        self.ends.retain(|end| stays(end.session));
    }

    pub fn forget_names(&mut self) {
        self.ends.iter_mut().for_each(|end| end.client.name = None);
    }
}

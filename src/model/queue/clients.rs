//! The clients behind the contenders: who they are, and whether their sessions had expired when
//! their nodes were deleted.
//!
//! A client is identified by its nodes, by the servers' lists, and by the memory of both.
//!
//! # Ends of sessions
//!
//! The table claims nothing that the servers can contradict. A session lives at least until its
//! timeout has passed since it was last heard. It certainly expired if its time had just run out
//! and no connected client could have deleted the node. An unknown timeout counts as the shortest
//! that the servers grant.
//!
//! At the deletion of a node it is often unknown whether its session expired. When the server that
//! ends sessions no longer lists the session, its count of expired sessions may prove it later
//! ([`EndLedger`](crate::server_view::EndLedger)), and the end is settled. The node went at that
//! expiry if it went no earlier: one that went before was deleted by somebody else.
//!
//! A client whose session expired while it held may not know that it lost the lock, until it is
//! seen with a new session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::event::SessionAtEnd;
use super::sessions::PendingEnd;
use super::{
    ClientIdentity, Contender, Happening, LastConnection, LockEvent, LockId, LockQueue, LockTable, SessionExpired,
};
use crate::server_view::{Connection, ExpiredSession, Liveness, ServerView, SessionTiming};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of holders that are searched for one session. A read lock may have very many.
const MAX_HOLDERS_SEARCHED: usize = 64;

impl LockTable {
    /// Returns a session's connection as a server lists it, or as a server listed it last.
    ///
    /// A former listing is only known for sessions that have or recently had a contender. Returns
    /// `None` where no server reported the connection.
    pub fn last_connection(&self, session: SessionId) -> Option<LastConnection<'_>> {
        if let Some((member, connection)) = self.view.connection_of(session) {
            return Some(LastConnection { connection, server: &member.address, last_listed: None });
        }
        self.sessions.unlisted(session, &self.view)
    }

    /// Returns the address of a session's client, as a server lists it or listed it last. Also
    /// works while that server does not answer.
    pub fn address_of(&self, session: SessionId) -> Option<&str> {
        let connection = self.last_connection(session).map(|last| last.connection);
        connection.or_else(|| self.sessions.last_of(session)).map(|connection| connection.client.as_str())
    }

    /// Returns whether a session has a contender in any lock.
    pub fn contends(&self, session: SessionId) -> bool {
        self.sessions.contends(session)
    }

    /// Returns whether any server has listed its connections since the start.
    pub fn has_listed_clients(&self) -> bool {
        self.sessions.were_listed()
    }

    /// Returns the client of a session that has or recently had a contender.
    pub fn identity(&self, session: SessionId) -> ClientIdentity {
        let name = self.sessions.name(session).cloned();
        let connection = self.last_connection(session);
        ClientIdentity {
            name,
            address: self.address_of(session).map(Arc::from),
            last_listed: connection.and_then(|last| last.last_listed),
            session: Some(session),
            unread: false,
        }
    }

    /// Returns the client of a contender.
    pub fn identity_of(&self, contender: &Contender) -> ClientIdentity {
        let session = contender.session().map(|session| self.identity(session)).unwrap_or_default();
        let own = ClientIdentity::of_node(contender);
        ClientIdentity { name: own.name.or(session.name.clone()), unread: own.unread, ..session }
    }

    /// Returns the client with this node in the queue of a lock. Falls back to the session's client
    /// when there is no such node.
    pub fn identity_at(&self, lock: LockId, node: &str, session: SessionId) -> ClientIdentity {
        let contender = self.lock(lock).and_then(|queue| self.standing_at(queue, node));
        let contender = contender.filter(|contender| contender.session() == Some(session));
        contender.map_or_else(|| self.identity(session), |contender| self.identity_of(contender))
    }

    /// Returns whether a contender with this node stands in a lock.
    pub fn stands(&self, lock: LockId, node: &str) -> bool {
        self.lock(lock).is_some_and(|queue| self.standing_at(queue, node).is_some())
    }

    /// Returns the client of a session that holds a lock, named by its node there.
    pub fn identity_of_holder(&self, lock: LockId, session: SessionId) -> ClientIdentity {
        let held = self.lock(lock).and_then(|lock| {
            let mut holders = lock.rows(0..lock.holding().min(MAX_HOLDERS_SEARCHED));
            holders.find(|row| row.contender.session() == Some(session))
        });
        held.map_or_else(|| self.identity(session), |row| self.identity_of(row.contender))
    }

    /// Returns the contender with this node. A semaphore's holders stand below another parent than
    /// its waiters.
    fn standing_at<'a>(&'a self, queue: &'a LockQueue, node: &str) -> Option<&'a Contender> {
        let paths = [queue.queue_path().child(node), queue.lease_parent().child(node), queue.path().clone()];
        let found = paths.iter().filter_map(|path| self.position(path)).find(|(id, _)| *id == queue.id())?;
        queue.row(found.1).map(|row| row.contender).filter(|contender| &*contender.node == node)
    }

    /// Takes over the servers' new answers. Returns the former ones.
    pub(super) fn surveyed(&mut self, view: Arc<ServerView>) -> Arc<ServerView> {
        self.sessions.surveyed(&self.view, &view);
        self.line.surveyed(&view);
        let listed = |view: &ServerView| view.members.iter().map(|member| Some(member.watched.as_ref()?.at)).collect();
        let (before, now): (Vec<_>, Vec<_>) = (listed(&self.view), listed(&view));
        if let Some((least, most)) = view.clock_ahead() {
            self.clock.measured(least, most);
        }
        let former = std::mem::replace(&mut self.view, view);
        if before != now {
            self.remember_who_waits();
        }
        former
    }

    /// Remembers who waits for single-node locks: these waiters are only visible while they watch
    /// the node. Linear in the number of locks.
    fn remember_who_waits(&mut self) {
        let single = self.locks().filter(|lock| lock.kind() == LockKind::SingleNode);
        let watchers = single.filter_map(|lock| self.view.watchers_of(lock.path()));
        let sessions: Vec<_> = watchers.flat_map(|watchers| watchers.sessions).collect();
        for session in sessions {
            self.sessions.seen_to_wait(session);
        }
    }

    /// Adds the client to each event that has a session, as far as it is known now.
    pub(super) fn name_clients(&self, happenings: &mut [Happening]) {
        for happening in happenings {
            let Some(session) = happening.session else { continue };
            let known = self.identity(session);
            happening.client = ClientIdentity { name: happening.client.name.take().or(known.name.clone()), ..known };
        }
    }
}

/// Maximum delay between the end of a session's timeout and our seeing the deletion. A node that is
/// deleted later was deleted for another reason.
const MAX_EXPIRY_DELAY: Duration = Duration::from_millis(500);

/// Maximum age of the servers' answers. After that the client may have come back.
const MAX_VIEW_AGE: Duration = Duration::from_secs(10);

/// Maximum delay of the event for a node that was never read.
const MAX_EVENT_DELAY: Duration = Duration::from_secs(1);

/// A request may wait in the server before it counts as a sign of life: at most the session timeout
/// divided by this.
const WAIT_PART: u32 = 8;

/// The expiry time of a disconnected session must be known to within its timeout divided by this.
/// Otherwise another client may have deleted the node before the session expired.
const EXPIRY_PART: u32 = 2;

/// Maximum uncertainty of an expiry time. Servers print times with a resolution of a second; with
/// our own errors, no usable time is less certain than this.
const MAX_EXPIRY_ERROR: Duration = Duration::from_secs(2);

/// The same divisor as [`EXPIRY_PART`] for a connected session, which may be heard at any moment.
const CONNECTED_EXPIRY_PART: u32 = 10;

/// The evidence about the ends of sessions, as a recording stores it. The evidence is stored beside
/// the table, because older recordings have no place for it in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvidence {
    members: Vec<SessionTiming>,
    /// Since when sessions have no connection.
    disconnected: BTreeMap<SessionId, Timestamp>,
}

impl LockTable {
    /// Returns the evidence about the ends of sessions. It is not part of the serialized table.
    pub fn session_evidence(&self) -> SessionEvidence {
        SessionEvidence { members: self.view.timings(), disconnected: self.sessions.disconnected().clone() }
    }

    /// Returns the table with the evidence that was stored beside it.
    #[must_use]
    pub fn with_session_evidence(mut self, evidence: SessionEvidence) -> Self {
        Arc::make_mut(&mut self.view).set_timings(&evidence.members);
        self.sessions.set_disconnected(evidence.disconnected);
        self
    }

    /// Returns what is known about the session of a contender whose node was just deleted.
    pub(super) fn session_at_end(&self, contender: &Contender, now: Timestamp) -> SessionAtEnd {
        let session = contender.session();
        if session.is_none() && contender.is_read() {
            return SessionAtEnd::Lived;
        }
        if session.is_some_and(|session| self.was_counted_as_expired(session, now)) {
            return SessionAtEnd::Expired;
        }
        let by_list = session.and_then(|session| self.view.expiry_of(session)).map(|(expiry, _)| expiry.earliest);
        if by_list.max(self.lives_by_its_node(session, contender)).is_some_and(|until| now < until) {
            return SessionAtEnd::Lived;
        }
        let expired = session.and_then(|session| self.session_expired(session, now));
        expired.map_or(SessionAtEnd::MayHaveExpired, |()| SessionAtEnd::Expired)
    }

    /// Returns `Some` if a session that just lost a node certainly expired, and did not release.
    ///
    /// The servers must have said shortly before that the session has no connection or missed its
    /// heartbeats, and its expiry time must just have come.
    fn session_expired(&self, session: SessionId, now: Timestamp) -> Option<()> {
        let view = &*self.view;
        let (expiry, asked) = view.expiry_of(session)?;
        let timeout = self.timeout_of(session)?;
        let (is_silent, part) = match view.liveness(session) {
            Liveness::Disconnected { .. } => (self.is_disconnected_for_certain(session), EXPIRY_PART),
            // Clients send a heartbeat in each third of the timeout, so more than a third of it is
            // always left.
            Liveness::Connected => (expiry.latest.since(asked) < timeout / 3, CONNECTED_EXPIRY_PART),
            Liveness::Exists { .. } | Liveness::NoSession { .. } | Liveness::Unproven | Liveness::Unknown => {
                return None;
            }
        };
        let error = expiry.latest.since(expiry.earliest);
        let is_known = error <= MAX_EXPIRY_ERROR.min(timeout / part) && now.since(view.at) <= MAX_VIEW_AGE;
        let has_come = now >= expiry.earliest && now <= expiry.latest.plus(MAX_EXPIRY_DELAY);
        (is_silent && is_known && has_come).then_some(())
    }

    /// Returns whether the session of a node that goes now expired, by the servers' count.
    fn was_counted_as_expired(&self, session: SessionId, now: Timestamp) -> bool {
        let expired = self.pending_ends.expired(session);
        expired.is_some_and(|expired| self.is_end_of_node(expired, now))
    }

    /// Returns whether the expiry of a session deleted its node, which went at a time.
    ///
    /// Before the expiry, another client may have deleted the node of a client that was gone.
    fn is_end_of_node(&self, expired: ExpiredSession, went_at: Timestamp) -> bool {
        let Some(timeout) = self.timeout_of(expired.session) else { return false };
        let error = expired.at.latest.since(expired.at.earliest);
        error <= MAX_EXPIRY_ERROR.min(timeout / EXPIRY_PART) && went_at >= expired.at.earliest
    }

    /// Returns whether the session has no connection on any member.
    ///
    /// The members of an ensemble answer at different times. A client that moves between them, or
    /// is new, seems to be disconnected until each member was asked again.
    fn is_disconnected_for_certain(&self, session: SessionId) -> bool {
        let view = &*self.view;
        let asked_again = || Some(view.connections_as_of()? >= *self.sessions.disconnected().get(&session)?);
        view.is_standalone() || asked_again().unwrap_or(false)
    }

    /// Returns the session's timeout, or the shortest that the servers grant.
    fn timeout_of(&self, session: SessionId) -> Option<Duration> {
        let connected = self.view.connection_of(session).map(|(_, connection)| connection);
        let connection = connected.or_else(|| self.sessions.last_of(session));
        connection.and_then(Connection::timeout).or_else(|| self.view.min_session_timeout())
    }

    /// Returns the time until which the contender's session was certainly alive, since it was heard
    /// when it created its node.
    ///
    /// Only a standalone server hears the session itself. In an ensemble the leader expires
    /// sessions, and followers tell it late or never which sessions they heard. So there the node
    /// only proves that a session which the leader did not list is new.
    fn lives_by_its_node(&self, session: Option<SessionId>, contender: &Contender) -> Option<Timestamp> {
        let view = &*self.view;
        if !view.provenance().can_prove() {
            return None;
        }
        let timeout = match session {
            Some(session) => self.timeout_of(session)?,
            None => view.min_session_timeout()?,
        };
        let made_at = if contender.is_read() {
            Timestamp(contender.created_at.0.saturating_add(self.clock.ahead_at_least()))
        } else {
            // Events may be late as well while the servers do not answer.
            contender.enqueued_at()?.min(view.at).minus(MAX_EVENT_DELAY)
        };
        let heard_at = if view.is_standalone() { made_at } else { view.began_after(session?, made_at)? };
        Some(heard_at.plus(timeout / WAIT_PART * (WAIT_PART - 1)))
    }
}

/// Maximum delay between an expiry and our seeing the deletion of a node, where the count alone does
/// not tell which sessions expired.
const MAX_COUNTED_DELAY: Duration = Duration::from_secs(1);

impl LockTable {
    /// Remembers the end of a contender that may have expired, if a server's count can settle it.
    pub(super) fn end_is_pending(&mut self, lock: LockId, contender: &Contender, held: bool, now: Timestamp) {
        let counts = self.pending_ends.ledger.is_counting();
        let (Some(session), Some(lock), true) = (contender.session(), self.lock(lock), counts) else { return };
        let end = PendingEnd {
            lock: lock.lock_name(),
            contender: contender.id(),
            node: Arc::clone(&contender.node),
            session,
            client: self.identity_of(contender),
            at: now,
            held,
        };
        self.pending_ends.push(end);
    }

    /// Settles ends by the servers' new answers, which the table has taken over.
    pub(super) fn settle_ends(&mut self, before: &ServerView, now: Timestamp, out: &mut Vec<Happening>) {
        let mut pending = std::mem::take(&mut self.pending_ends);
        let mut expired = pending.ledger.look(before, &self.view);
        let went = pending.ends.iter().map(|end| (end.session, end.at)).collect::<FxHashMap<_, _>>();
        expired.extend(pending.ledger.settle(|expired| {
            let went_at = went.get(&expired.session);
            went_at.is_some_and(|at| {
                self.is_end_of_node(*expired, *at) && *at <= expired.at.latest.plus(MAX_COUNTED_DELAY)
            })
        }));
        pending.learned(&expired, now);
        let expired: FxHashMap<_, _> = expired.into_iter().map(|expired| (expired.session, expired)).collect();
        let settled = pending
            .take(now, |end| expired.get(&end.session).is_some_and(|expired| self.is_end_of_node(*expired, end.at)));
        self.pending_ends = pending;
        self.settle(settled, now, out);
    }

    /// Reports the settled ends.
    fn settle(&mut self, settled: Vec<PendingEnd>, now: Timestamp, out: &mut Vec<Happening>) {
        let mut last_holds: FxHashMap<LockId, SessionExpired> = FxHashMap::default();
        for PendingEnd { lock, contender, node, session, client, at, held } in settled {
            if held {
                let expired = SessionExpired { at, node: Arc::clone(&node), session, client: client.clone() };
                last_holds.insert(lock.id, expired);
            }
            let queue = self.lock(lock.id).map_or(0, LockQueue::len);
            out.push(Happening {
                lock: Some(lock),
                contender: Some(contender),
                node: Some(node),
                session: Some(session),
                client,
                queue,
                ..Happening::of_connection(LockEvent::Settled, now)
            });
        }
        for (id, expired) in last_holds {
            self.touched.insert(id);
            if let Some(lock) = self.locks.get_mut(&id) {
                lock.settle_expiry(expired);
            }
        }
    }
}

impl LockQueue {
    /// Forgets the last expiry if this newly read contender is the expired client.
    ///
    /// The client has a new session, so it knows that it lost the lock.
    pub(super) fn note_client_is_back(&mut self, slot: usize) {
        if self.last_expiry().zip(self.contender(slot)).is_some_and(|(expired, came)| self.is_back(expired, came)) {
            self.rare_mut().session_expired = None;
        }
    }

    /// Records afterwards that a holder's session expired, unless its client is back or another
    /// holder's session expired since. Linear in the number of contenders.
    fn settle_expiry(&mut self, expired: SessionExpired) {
        let is_older = self.last_expiry().is_some_and(|known| known.at >= expired.at);
        let is_back = || self.contenders.iter().any(|(_, came)| self.is_back(&expired, came));
        if !is_older && !is_back() {
            self.rare_mut().session_expired = Some(Box::new(expired));
        }
    }

    /// Returns whether `came` is the expired client.
    ///
    /// The client is recognized by its name, unless other sessions in this lock use the same name.
    fn is_back(&self, expired: &SessionExpired, came: &Contender) -> bool {
        let name_of = |contender: &Contender| ClientIdentity::name_by(self.recipe(), contender.data.bytes());
        let Some(name) = expired.client.name_of_one_client() else { return false };
        let bears_it = |contender: &Contender| name_of(contender).as_deref() == Some(name);
        let is_other = |other: &Contender| other.session() != came.session();
        let is_shared = || self.contenders.iter().any(|(_, other)| is_other(other) && bears_it(other));
        came.session().is_some_and(|session| session != expired.session) && bears_it(came) && !is_shared()
    }
}

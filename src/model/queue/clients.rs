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

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::client_identity::{GIVEN_MARK, NamedAddress};
use super::event::SessionAtEnd;
use super::hold::Clock;
use super::sessions::{PendingEnd, PendingEnds, Sessions};
use super::{ClientIdentity, Contender, Happening, LastConnection, LockName, LockQueue, SessionExpired};
use crate::ensemble::EnsembleLine;
use crate::server_view::{Connection, ExpiredSession, Liveness, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of names that commands of the user gave.
const MAX_GIVEN_NAMES: usize = 1_000;

/// Maximum number of contenders that are searched for a name.
const MAX_SEARCHED_FOR_NAME: usize = 1_000;

/// The clients behind the contenders, and the servers' answers about them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Clients {
    pub(super) view: Arc<ServerView>,
    pub(super) sessions: Sessions,
    /// Recordings store it beside the table ([`EnsembleState`](super::EnsembleState)).
    #[serde(skip)]
    pub(super) line: Box<EnsembleLine>,
    /// The ends that may still be settled. Recordings store them beside the table too.
    #[serde(skip)]
    pub(super) pending_ends: Box<PendingEnds>,
    pub(super) clock: Clock,
    /// The names that commands of the user gave, with their mark.
    #[serde(skip)]
    given: Arc<FxHashMap<SessionId, Arc<str>>>,
    /// The names that the user's settings give.
    #[serde(skip)]
    pub(super) named: Arc<[NamedAddress]>,
}

impl Clients {
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
        let address = self.address_of(session);
        ClientIdentity {
            name,
            given: self.given.get(&session).or_else(|| self.name_by_settings(address?)).cloned(),
            address: address.map(Arc::from),
            last_listed: connection.and_then(|last| last.last_listed),
            session: Some(session),
            unread: false,
        }
    }

    /// Returns the name that the user's settings give to the client of an address, with its mark.
    pub fn name_by_settings(&self, address: &str) -> Option<&Arc<str>> {
        self.named.iter().find_map(|named| named.name_of(address))
    }

    /// Returns the name that a command of the user gave to a session's client, without its mark.
    pub fn given_name(&self, session: SessionId) -> Option<&str> {
        self.given.get(&session)?.strip_prefix(GIVEN_MARK)
    }

    /// Names the client of a session for as long as the session lasts. Returns `false` where
    /// [`MAX_GIVEN_NAMES`] living sessions have names.
    pub(super) fn give_name(&mut self, session: SessionId, name: &str) -> bool {
        let Self { given, sessions, view, .. } = self;
        let given = Arc::make_mut(given);
        if given.len() >= MAX_GIVEN_NAMES {
            given.retain(|other, _| sessions.contends(*other) || view.connection_of(*other).is_some());
        }
        let has_room = given.len() < MAX_GIVEN_NAMES || given.contains_key(&session);
        if has_room {
            given.insert(session, format!("{GIVEN_MARK}{name}").into());
        }
        has_room
    }

    /// Returns the client of a contender.
    pub fn identity_of(&self, contender: &Contender) -> ClientIdentity {
        let session = contender.session().map(|session| self.identity(session)).unwrap_or_default();
        let own = ClientIdentity::of_node(contender);
        ClientIdentity { name: own.name.or(session.name.clone()), unread: own.unread, ..session }
    }

    /// Takes over the servers' new answers. Returns the former ones.
    pub(super) fn surveyed(&mut self, view: Arc<ServerView>) -> Arc<ServerView> {
        self.sessions.surveyed(&self.view, &view);
        self.line.surveyed(&view);
        if let Some((least, most)) = view.clock_ahead() {
            self.clock.measured(least, most);
        }
        std::mem::replace(&mut self.view, view)
    }

    /// Returns the number of the client's last request, as a server listed it before the event.
    ///
    /// A list may be newer than the event that is being taken in: a last request that can delete may
    /// be the one that deleted the node.
    pub(super) fn last_request(&self, happening: &Happening) -> Option<i64> {
        let (_, connection) = self.view.connection_of(happening.session?)?;
        let deletes = |operation: &str| operation.starts_with("DEL") || operation.starts_with("MUL");
        connection.last_cxid.filter(|_| !connection.last_operation.as_deref().is_some_and(deletes))
    }

    /// Returns whether the client of a node that went is in the queue by another node.
    pub(super) fn queue_again(&self, lock: &LockQueue, happening: &Happening) -> bool {
        happening.client.name_of_one_client().is_some_and(|name| self.is_queued(lock, name))
    }

    /// Returns whether the client of this name is in the queue of a lock, by any session. Linear in
    /// the queue, of which it looks at the first [`MAX_SEARCHED_FOR_NAME`].
    ///
    /// A word that contenders of several hosts bear at once is the name of none of them.
    pub(crate) fn is_queued(&self, lock: &LockQueue, name: &str) -> bool {
        let clients = lock.rows(0..lock.len().min(MAX_SEARCHED_FOR_NAME)).map(|row| self.identity_of(row.contender));
        let mut bearers = clients.filter(|client| client.name_of_one_client() == Some(name));
        let Some(first) = bearers.next() else { return false };
        bearers.all(|other| first.host().zip(other.host()).is_none_or(|(first, other)| first == other))
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

impl Clients {
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

impl Clients {
    /// Remembers the end of a contender that may have expired, if a server's count can settle it.
    pub(super) fn end_is_pending(&mut self, lock: LockName, contender: &Contender, held: bool, now: Timestamp) {
        let (Some(session), true) = (contender.session(), self.pending_ends.ledger.is_counting()) else { return };
        let end = PendingEnd {
            lock,
            contender: contender.id(),
            node: Arc::clone(&contender.node),
            session,
            client: self.identity_of(contender),
            at: now,
            held,
        };
        self.pending_ends.push(end);
    }

    /// Takes the ends that the servers' new answers settle. The table has taken these answers over.
    pub(super) fn take_settled(&mut self, before: &ServerView, now: Timestamp) -> Vec<PendingEnd> {
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
        settled
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
    pub(super) fn settle_expiry(&mut self, expired: SessionExpired) {
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

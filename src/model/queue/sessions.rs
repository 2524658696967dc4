//! The memory of the sessions that contend, and of those that wait by a watch alone: what they call themselves, and where they
//! were connected from when they no longer are.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use super::{ClientIdentity, Contender};
use crate::server_view::{Connection, Listing, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

/// How many sessions are remembered that have no contender: those that had one, and those that were seen to wait for a
/// single-node lock. Beyond that the one is forgotten whose last contender went first, or that was seen to wait the longest ago.
pub(super) const MAX_DEPARTED: usize = 2_000;

/// A session's connection, as a server lists it or last listed it.
#[derive(Clone, Copy, Debug)]
pub struct LastConnection<'a> {
    /// The connection.
    pub connection: &'a Connection,
    /// The address of the server that holds or held it.
    pub server: &'a str,
    /// When it was last listed, by this machine's clock; `None` while it is.
    pub last_listed: Option<Timestamp>,
}

/// The same for a connection that is no longer listed.
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
    /// How many contenders it has.
    contenders: u32,
    /// The last one's name of its client.
    name: Option<Arc<str>>,
    /// Its connection, if it had one and no server lists it any more.
    unlisted: Option<Box<Unlisted>>,
    /// While it has no contender: its place among those that are forgotten.
    departed: Option<u64>,
}

/// Every session that has a contender, and at most [`MAX_DEPARTED`] that had one or were seen to wait by a watch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sessions {
    known: FxHashMap<SessionId, KnownSession>,
    departed: BTreeMap<u64, SessionId>,
    next: u64,
    were_listed: bool,
    /// Those of an ensemble that exist without a connection, and when that was first seen. A recording has it apart, since older
    /// ones have no place for it here.
    #[serde(skip)]
    disconnected: BTreeMap<SessionId, Timestamp>,
}

impl Sessions {
    /// A contender came, or its data changed.
    fn named(&mut self, contender: &Contender) -> Option<&mut KnownSession> {
        let known = self.known.entry(contender.session()?).or_default();
        if let Some(name) = ClientIdentity::name_in(contender.data.bytes())
            && known.name.as_deref() != Some(name)
        {
            known.name = Some(name.into());
        }
        Some(known)
    }

    /// A contender came.
    pub fn came(&mut self, contender: &Contender) {
        let Some(known) = self.named(contender) else { return };
        known.contenders += 1;
        if let Some(number) = known.departed.take() {
            self.departed.remove(&number);
        }
    }

    /// A contender's data changed.
    pub fn changed(&mut self, contender: &Contender) {
        self.named(contender);
    }

    /// A contender is gone.
    pub fn went(&mut self, contender: &Contender) {
        let Some(session) = contender.session() else { return };
        let Some(known) = self.known.get_mut(&session) else { return };
        known.contenders = known.contenders.saturating_sub(1);
        self.depart(session);
    }

    /// A session watches the node of a single-node lock: nothing else tells that it waits.
    pub fn seen_to_wait(&mut self, session: SessionId) {
        self.known.entry(session).or_default();
        self.depart(session);
    }

    /// Puts a session behind the others that may be forgotten, unless it has a contender.
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

    /// The servers answered anew: of the sessions that they list no more, the connections are remembered.
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

    /// Linear in the sessions that are listed.
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

    /// The sessions of an ensemble that exist without a connection, and when that was first seen.
    pub fn disconnected(&self) -> &BTreeMap<SessionId, Timestamp> {
        &self.disconnected
    }

    /// Takes what a recording has of them.
    pub fn set_disconnected(&mut self, disconnected: BTreeMap<SessionId, Timestamp>) {
        self.disconnected = disconnected;
    }

    /// Whether any server listed its connections.
    pub fn were_listed(&self) -> bool {
        self.were_listed
    }

    /// The connection that a session had last, also while its server does not answer.
    pub fn last_of(&self, session: SessionId) -> Option<&Connection> {
        Some(&self.known.get(&session)?.unlisted.as_deref()?.connection)
    }

    /// What the last contender of a session called its client.
    pub fn name(&self, session: SessionId) -> Option<&Arc<str>> {
        self.known.get(&session)?.name.as_ref()
    }

    /// The connection of a session that no server lists any more. `None` while the server that listed it last does not answer:
    /// it may be connected there still.
    pub fn unlisted(&self, session: SessionId, view: &ServerView) -> Option<LastConnection<'_>> {
        let Unlisted { connection, server, at } = self.known.get(&session)?.unlisted.as_deref()?;
        let member = view.members.iter().find(|member| member.address == *server);
        if member.is_some_and(|member| !member.knows_connections()) {
            return None;
        }
        Some(LastConnection { connection, server, last_listed: Some(*at) })
    }

    /// Forgets those without a contender of which that is not true.
    pub fn retain_departed(&mut self, stays: impl Fn(SessionId) -> bool) {
        self.known.retain(|session, known| known.departed.is_none() || stays(*session));
        self.departed.retain(|_, session| stays(*session));
    }

    /// Forgets what they called their clients.
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

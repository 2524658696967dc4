//! A simulated ensemble: one leader that orders all writes, and members that may lag behind it.
//!
//! Pure: it has no clock and no task. Each function is one step that the explorer chooses. All
//! members have the leader's history, cut off at different places, as the followers of a real
//! ensemble do. A read is answered from the member's own prefix. A write goes to the leader, and
//! the member has caught up with it before it replies.
//!
//! Servers also do things for reasons of their own: they refuse requests, spoil replies, and delete
//! empty containers. And they may permit less than everything, and know less than new servers do.

mod replicas;
mod request;

use std::collections::BTreeMap;
use std::rc::Rc;

use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::{Owner, Tree};
use replicas::{Refused, Replicas, carry_out, without_ephemerals};

pub use replicas::{Replica, is_below};
pub use request::{
    Author, Commit, Committed, CreatedNode, Link, LinkId, ReadOp, Refusal, Request, Response, SimulatedEventKind,
    SimulatedMessage, SimulatedWatchKind, WriteOp,
};

/// The id of the first client's session.
const FIRST_SESSION: i64 = 0x1000;

/// The member that is the leader. It never lags.
pub const LEADER: usize = 0;

/// The servers and all that is under way between them and the clients.
#[derive(Clone, Debug, Hash)]
pub struct SimulatedEnsemble {
    replicas: Replicas,
    /// The member that each living session is connected to, or was last. The leader refuses writes
    /// of the session that another member forwards.
    sessions: BTreeMap<i64, usize>,
    /// The transaction that ended each session that has ended. A member that has not applied it still
    /// takes the session for alive.
    ended: BTreeMap<i64, i64>,
    links: BTreeMap<LinkId, Link>,
    /// Whether replies hold no more than what the lock library reads.
    masks: bool,
    /// What the servers permit, and what they know.
    pub permits: Permits,
}

/// Returns the session of a client.
pub fn session_of(client: usize) -> i64 {
    FIRST_SESSION + i64::try_from(client).unwrap_or(i64::MAX)
}

impl SimulatedEnsemble {
    /// Creates an ensemble of `members` servers without nodes. The first sequential node of each
    /// parent gets the number `first_sequence`.
    ///
    /// If it masks replies, they hold zeros in place of what the lock library never reads: the
    /// zxids of events, and the fields of a stat except for the creation, the version and the owner.
    /// Then more states are equal.
    pub fn new(members: usize, first_sequence: i32, masks: bool) -> Self {
        Self {
            replicas: Replicas::new(members, first_sequence, masks),
            sessions: BTreeMap::new(),
            ended: BTreeMap::new(),
            links: BTreeMap::new(),
            masks,
            permits: Permits::default(),
        }
    }

    /// Returns the number of servers.
    pub fn members(&self) -> usize {
        self.replicas.members.len()
    }

    /// Starts a client's session on a member.
    pub fn start_session(&mut self, client: usize, member: usize) -> LinkId {
        let session = session_of(client);
        self.sessions.insert(session, member);
        let id = LinkId { client, number: 0 };
        self.links.insert(id, Link::new(session, member));
        id
    }

    /// Opens a client's connection to a member. `seen` is the last zxid that the client has seen: a
    /// member that lags behind it refuses the client, so this one has caught up with it. Returns
    /// `false` when the session has expired.
    pub fn connect(&mut self, id: LinkId, member: usize, seen: i64) -> bool {
        let session = session_of(id.client);
        let Some(owner) = self.sessions.get_mut(&session) else { return false };
        *owner = member;
        // The leader learns at once that a session is elsewhere, and closes its connection.
        if member != LEADER {
            let open = |link: &&mut Link| link.session == session && link.member == LEADER && !link.broken;
            self.links.values_mut().filter(open).for_each(Link::close);
        }
        // A server ends the earlier connection of a session that comes back to it, and drops what it
        // has not carried out.
        self.links.retain(|_, link| link.session != session || link.member != member);
        let events = self.replicas.catch_up(member, seen);
        self.deliver(events);
        self.links.insert(id, Link::new(session, member));
        true
    }

    /// Moves a session back to the member of a link that its client has given up: the member has
    /// received a late attempt to connect.
    pub fn move_back(&mut self, id: LinkId) {
        if let Some(link) = self.links.get(&id)
            && let Some(owner) = self.sessions.get_mut(&link.session)
        {
            *owner = link.member;
        }
    }

    /// Returns whether a link's member is not the one that its session is connected to.
    pub fn is_elsewhere(&self, id: LinkId) -> bool {
        self.links
            .get(&id)
            .is_some_and(|link| self.sessions.get(&link.session).is_some_and(|owner| *owner != link.member))
    }

    /// Returns whether a member has a watch of the data or of the creation of a node, or a recursive
    /// watch of it.
    pub fn is_watched(&self, path: &str) -> bool {
        self.replicas.members.iter().any(|member| member.is_watched(path))
    }

    /// Returns a link, while it exists.
    pub fn link(&self, id: LinkId) -> Option<&Link> {
        self.links.get(&id)
    }

    /// Returns all links, in the order of the clients.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        self.links.iter().map(|(id, link)| (*id, link))
    }

    /// Returns whether a session lives, as the leader knows.
    pub fn lives(&self, session: i64) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Returns whether a member knows that a session has ended.
    fn knows_end(&self, session: i64, member: usize) -> bool {
        self.ended.get(&session).is_some_and(|end| *end <= self.replicas.members[member].zxid)
    }

    /// Sends a request over a link.
    ///
    /// The removal of a watch is carried out at once: whenever it happens, its client ignores the
    /// event and the reply.
    pub fn send(&mut self, id: LinkId, xid: u32, request: Request) {
        if let Request::RemoveWatch(..) | Request::RemoveRecursive(_) = request {
            self.remove_watch(id, &request);
            return;
        }
        if let Some(link) = self.links.get_mut(&id).filter(|link| !link.broken) {
            link.requests.push_back((xid, request));
        }
    }

    /// Lets the member carry out the oldest request of a link.
    pub fn carry_out(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some((xid, request)) = link.requests.pop_front() else { return };
        let (session, member, broken) = (link.session, link.member, link.broken);
        let answer = if self.knows_end(session, member) {
            Err(ErrorCode::SessionExpired)
        } else if let Request::Reads(reads) = &request {
            let Some(results) = self.read_next(id, session, member, reads) else {
                self.links.entry(id).and_modify(|link| link.requests.push_front((xid, request)));
                return;
            };
            results
        } else {
            self.answer(id, session, member, &request)
        };
        let answer = if self.masks { answer.map(Response::masked) } else { answer };
        let zxid = self.replicas.members[member].zxid;
        if broken {
            self.replicas.members[member].forget(id);
        }
        let Some(link) = self.links.get_mut(&id) else { return };
        let moved = answer == Err(ErrorCode::SessionMoved);
        if moved {
            // A member closes the connection without a reply.
            link.close();
        } else {
            link.push(zxid, SimulatedMessage::Reply { xid, answer });
        }
        if link.broken && link.requests.is_empty() {
            self.links.remove(&id);
        }
    }

    fn answer(&mut self, id: LinkId, session: i64, member: usize, request: &Request) -> Result<Response, ErrorCode> {
        match request {
            Request::Write(write) => self
                .write(session, member, std::slice::from_ref(write))
                .map_err(|(_, code)| code)
                .map(|mut answers| answers.pop().unwrap_or(Response::Done)),
            Request::Multi(writes) => match self.write(session, member, writes) {
                Ok(answers) => Ok(Response::Results(answers.into_iter().map(Ok).collect())),
                Err((_, code @ (ErrorCode::SessionMoved | ErrorCode::SessionExpired))) => Err(code),
                Err((index, code)) => Ok(Response::Failed { index, code }),
            },
            Request::Sync => {
                self.catch_up(member);
                Ok(Response::Done)
            }
            Request::Read { read, watch } => {
                let answer = self.permits.read(self.replicas.tree_of(member), session, read);
                if *watch && answer.is_ok() {
                    self.replicas.members[member].watch(id, read);
                }
                answer
            }
            Request::WatchRecursively(_) if self.permits.old_servers => Err(ErrorCode::Unimplemented),
            Request::WatchRecursively(root) => {
                self.replicas.members[member].watch_recursively(id, root);
                Ok(Response::Done)
            }
            Request::SetWatches { seen, watches } => {
                let tree = Rc::clone(self.replicas.tree_of(member));
                let missed = self.replicas.members[member].set_watches(&tree, id, *seen, watches, self.masks);
                if let Some(link) = self.links.get_mut(&id) {
                    for event in missed {
                        link.push(0, event);
                    }
                }
                Ok(Response::Done)
            }
            Request::Reads(_) | Request::RemoveWatch(..) | Request::RemoveRecursive(_) => Ok(Response::Done),
        }
    }

    /// Carries out the next read of a batch: other changes may fall between two of its reads. Returns
    /// the results after the last one.
    fn read_next(
        &mut self,
        id: LinkId,
        session: i64,
        member: usize,
        reads: &[ReadOp],
    ) -> Option<Result<Response, ErrorCode>> {
        if self.permits.old_servers {
            return Some(Err(ErrorCode::Unimplemented));
        }
        let link = self.links.get_mut(&id)?;
        if let Some(read) = reads.get(link.partly.len()) {
            let result = self.permits.read(self.replicas.tree_of(member), session, read);
            link.partly.push(result);
        }
        if link.partly.len() < reads.len() {
            return None;
        }
        Some(Ok(Response::Results(std::mem::take(&mut link.partly))))
    }

    fn remove_watch(&mut self, id: LinkId, request: &Request) {
        let Some(member) = self.links.get(&id).map(|link| link.member) else { return };
        match request {
            Request::RemoveWatch(path, kind) => self.replicas.members[member].unwatch(id, path, *kind),
            Request::RemoveRecursive(root) => self.replicas.members[member].unwatch_recursively(id, root),
            _ => {}
        }
    }

    /// Carries out the writes of a session, and lets its member catch up before the reply.
    fn write(&mut self, session: i64, member: usize, writes: &[WriteOp]) -> Result<Vec<Response>, Refused> {
        let done = match self.sessions.get(&session) {
            Some(owner) if *owner == member => self.try_write(Author::Session(session), session, writes),
            Some(_) => Err((0, ErrorCode::SessionMoved)),
            None => Err((0, ErrorCode::SessionExpired)),
        };
        self.catch_up(member);
        done
    }

    fn try_write(&mut self, by: Author, session: i64, writes: &[WriteOp]) -> Result<Vec<Response>, Refused> {
        if let Author::Session(session) = by {
            self.permits.check(self.replicas.tree(), session, writes)?;
        }
        let (answers, changes, tree) = carry_out(self.replicas.tree(), session, self.replicas.next_zxid(), writes)?;
        let events = self.replicas.add(by, changes, tree);
        self.deliver(events);
        Ok(answers)
    }

    /// Carries out the writes of a stranger. Returns whether the servers did not refuse them.
    pub fn stranger(&mut self, writes: &[WriteOp]) -> bool {
        self.try_write(Author::Stranger, 0, writes).is_ok()
    }

    /// Lets a member catch up with the leader.
    fn catch_up(&mut self, member: usize) {
        let events = self.replicas.catch_up(member, i64::MAX);
        self.deliver(events);
    }

    fn deliver(&mut self, events: Vec<(LinkId, SimulatedMessage)>) {
        for (id, event) in events {
            if let Some(link) = self.links.get_mut(&id) {
                link.push(0, event);
            }
        }
        let knows_end = |link: &Link| self.knows_end(link.session, link.member);
        let ended: Vec<LinkId> = self.links.iter().filter(|(_, link)| knows_end(link)).map(|(id, _)| *id).collect();
        for id in ended {
            self.links.entry(id).and_modify(Link::close);
        }
        self.links.retain(|_, link| !link.broken || !link.requests.is_empty());
    }

    /// Lets a member lag behind the leader from now on, until [`advance`](Self::advance) lets it
    /// catch up.
    pub fn lag(&mut self, member: usize) {
        self.replicas.members[member].lags = true;
    }

    /// Lets a lagging member apply the next transaction. It lags no longer once it lacks none.
    pub fn advance(&mut self, member: usize) {
        let events = self.replicas.advance(member);
        self.deliver(events);
    }

    /// Returns whether a member lags, and whether it lacks transactions.
    pub fn lag_of(&self, member: usize) -> (bool, bool) {
        self.replicas.lag_of(member)
    }

    /// Ends a session: the leader deletes its ephemeral nodes in one transaction. Each member closes
    /// the session's connection when it applies that.
    pub fn expire(&mut self, session: i64) {
        if self.sessions.remove(&session).is_some() {
            let (changes, tree) = without_ephemerals(self.replicas.tree(), session, self.replicas.next_zxid());
            self.ended.insert(session, self.replicas.next_zxid());
            let events = self.replicas.add(Author::Expiry(session), changes, tree);
            self.deliver(events);
            self.links.retain(|_, link| link.session != session || !link.broken);
        }
    }

    /// Breaks a link. Messages to the client are lost. The member may have received the first
    /// `arrived` requests, and carries them out later ([`carry_out`](Self::carry_out)); the others
    /// are lost.
    pub fn break_link(&mut self, id: LinkId, arrived: usize) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.requests.truncate(arrived);
        link.partly.clear();
        link.messages.clear();
        link.broken = true;
        let (member, is_done) = (link.member, link.requests.is_empty());
        self.replicas.members[member].forget(id);
        if is_done {
            self.links.remove(&id);
        }
    }

    /// Takes the oldest message to a link's client, with the zxid in the header of a reply.
    pub fn receive(&mut self, id: LinkId) -> Option<(i64, SimulatedMessage)> {
        self.links.get_mut(&id)?.messages.pop_front()
    }

    /// Returns the tree of the leader.
    pub fn tree(&self) -> &Tree {
        self.replicas.tree()
    }

    /// Returns the czxid and the version of the node at a path, as a link's member shows it, if the
    /// link's session owns the node.
    pub fn own_node(&self, id: LinkId, path: &str) -> Option<(i64, i32)> {
        let link = self.links.get(&id)?;
        let stat = self.replicas.tree_of(link.member).node(path).ok()?.stat();
        (stat.ephemeral_owner == link.session).then_some((stat.czxid, stat.version))
    }

    /// Returns the transactions since the last call.
    pub fn take_fresh(&mut self) -> Vec<Rc<Commit>> {
        std::mem::take(&mut self.replicas.fresh)
    }

    /// Lets the member refuse the oldest request of a link, or send a reply that cannot be read.
    pub fn refuse(&mut self, id: LinkId, why: Refusal) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if why == Refusal::Garbled {
            let sent = link.messages.len();
            self.carry_out(id);
            let last = self.links.get_mut(&id).and_then(|link| link.messages.iter_mut().skip(sent).last());
            if let Some((_, message)) = last
                && let SimulatedMessage::Reply { xid, answer: Ok(_) } = *message
            {
                *message = SimulatedMessage::Refused { xid, why };
            }
        } else if let Some((xid, _)) = link.requests.pop_front() {
            link.partly.clear();
            let zxid = self.replicas.members[link.member].zxid;
            link.push(zxid, SimulatedMessage::Refused { xid, why });
        }
    }

    /// Lets the servers delete an empty container. Returns whether there was one.
    pub fn reap(&mut self, path: &str) -> bool {
        let is_due = self.is_reapable(path);
        is_due && self.try_write(Author::Servers, 0, &[WriteOp::Delete { path: path.into(), version: None }]).is_ok()
    }

    /// Returns whether the servers may delete a node because it is a container that has become empty.
    pub fn is_reapable(&self, path: &str) -> bool {
        self.tree().due(0).iter().any(|due| &**due == path)
    }
}

/// What differs from servers that permit everything to everybody.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct Permits {
    /// Only its owner may read and write an ephemeral node.
    pub private: bool,
    /// The node that nobody may write.
    pub fixed: Option<&'static str>,
    /// The servers know neither recursive watches nor batches of reads.
    pub old_servers: bool,
}

impl Permits {
    /// Answers a read from a tree, if it is permitted. To look at a node needs no permission.
    fn read(self, tree: &Tree, session: i64, read: &ReadOp) -> Result<Response, ErrorCode> {
        match read {
            ReadOp::Data(path) if self.is_closed(tree, session, path) => Err(ErrorCode::NoAuth),
            _ => replicas::read(tree, read),
        }
    }

    /// Refuses writes to the data of a node that are not permitted. A deletion needs the permission
    /// of the parent, which everybody has.
    fn check(self, tree: &Tree, session: i64, writes: &[WriteOp]) -> Result<(), Refused> {
        let is_refused = |write: &WriteOp| match write {
            WriteOp::SetData { path, .. } => self.is_closed(tree, session, path) || self.fixed == Some(&**path),
            _ => false,
        };
        writes.iter().position(is_refused).map_or(Ok(()), |index| Err((index, ErrorCode::NoAuth)))
    }

    fn is_closed(self, tree: &Tree, session: i64, path: &str) -> bool {
        let is_others = |owner: &Owner| matches!(owner, Owner::Session(owner) if *owner != session);
        self.private && tree.node(path).is_ok_and(|node| is_others(&node.owner))
    }
}

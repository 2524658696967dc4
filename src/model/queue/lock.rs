//! A lock and its contenders, in order, and the identity that names the lock in its table and after
//! it is gone.
//!
//! A table has very many locks, so the fields that few of them need are stored apart, in
//! [`RareParts`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slab::Slab;

use super::compact::{OptionalNumber, OrderKey, RankedKeys};
use super::event::Activity;
use super::handover::Handover;
use super::hold::LastHandover;
use super::{ClientIdentity, Contender, ContenderState, HeldSince, Rates, WatchEvents};
use lockscope_base::recipe::{Classification, LockKind, Recipe, RequestMode, Role};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

/// The id of a lock in its table. Ids are not reused during the table's lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockId(pub u64);

/// The identity of a queue: its path, its recipe family, and its name where the parent has several.
pub type LockKey = (ZnodePath, Recipe, Option<Arc<str>>);

/// Returns the identity of the queue at a place.
pub fn key_of(place: &Classification) -> LockKey {
    (place.lock.clone(), place.family(), place.name.as_deref().map(Arc::from))
}

/// A lock's id, path and name: enough to name the lock after it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LockName {
    /// The lock's id in the table.
    pub id: LockId,
    /// The lock's path.
    pub path: ZnodePath,
    /// The queue's name; `None` where the parent has one queue.
    pub name: Option<Arc<str>>,
}

/// Formats as `/locks/orders`, or as `/locks/orders [db]` where the parent has several queues.
impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} [{name}]", self.path),
            None => self.path.fmt(f),
        }
    }
}

/// Stands in for the transaction number of an unread contender. Above all real numbers, with room
/// for as many more.
const NOT_READ: i64 = i64::MAX / 2;

/// The read requests of a lock without any.
static NO_KEYS: RankedKeys = RankedKeys::Few(Vec::new());

/// A contender, with what follows from its position in the queue.
#[derive(Clone, Copy, Debug)]
pub struct ContenderRow<'a> {
    /// The position in the queue, from 0.
    pub position: usize,
    /// The contender.
    pub contender: &'a Contender,
    /// The access that the contender asks for. kazoo's `Lock` and `WriteLock` create the same
    /// names: with readers in the queue, such a contender is a writer.
    pub mode: RequestMode,
    /// Whether the contender holds.
    pub state: ContenderState,
}

/// A lock: its contenders in the order in which the recipe serves them.
///
/// Holders always come first. In a semaphore the leases come before the queue. The last lease may
/// be *pending*: its session still heads the queue, so the lease does not hold yet. The queue node
/// of that session is then *hidden*, which means that it is left out of the order, so that no
/// contender stands there twice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockQueue {
    id: LockId,
    path: ZnodePath,
    own_name: Option<Arc<str>>,
    family: Recipe,
    pub(super) several: bool,
    pub(super) free_listed: bool,
    #[serde(with = "super::compact")]
    pub(super) contenders: Slab<Contender>,
    pub(super) order: RankedKeys,
    /// How many contenders hold.
    pub(super) holding: u32,
    next_sequence: OptionalNumber,
    /// Boxed, because most locks are idle.
    activity: Option<Box<Activity>>,
    /// Boxed, because few locks need it.
    pub(super) rare: Option<Box<RareParts>>,
    /// Kept only where several contenders may hold at once. Otherwise the holder itself has the
    /// data.
    pub(super) last_handover: Option<Box<LastHandover>>,
}

impl LockQueue {
    pub(super) fn new(id: LockId, path: ZnodePath, own_name: Option<Arc<str>>, family: Recipe) -> Self {
        Self {
            id,
            path,
            own_name,
            family,
            several: false,
            free_listed: false,
            contenders: Slab::new(),
            order: RankedKeys::default(),
            holding: 0,
            next_sequence: OptionalNumber::default(),
            activity: None,
            rare: None,
            last_handover: None,
        }
    }

    /// Returns the lock's id in the table.
    pub fn id(&self) -> LockId {
        self.id
    }

    /// Returns a name that stays usable after the lock is gone.
    pub fn lock_name(&self) -> LockName {
        LockName { id: self.id, path: self.path.clone(), name: self.name().map(Arc::from) }
    }

    /// Returns the path: the lock parent, the semaphore's own path, or the node of a single-node
    /// lock.
    pub fn path(&self) -> &ZnodePath {
        &self.path
    }

    /// Returns the queue's name where the parent has several queues.
    pub fn name(&self) -> Option<&str> {
        self.several.then(|| self.label())
    }

    /// Returns the queue's name, whether or not the parent has several queues.
    pub(super) fn label(&self) -> &str {
        self.own_name.as_deref().unwrap_or(self.family.id())
    }

    /// Returns the name that the nodes' names contain, for recipes where one parent can have
    /// several queues. Unlike [`name`](Self::name), also set when the parent has one queue.
    pub fn own_name(&self) -> Option<&Arc<str>> {
        self.own_name.as_ref()
    }

    /// Changes what the lock's nodes are, while it has none.
    pub(super) fn take_family(&mut self, family: Recipe, own_name: Option<Arc<str>>) {
        (self.family, self.own_name) = (family, own_name);
    }

    pub(super) fn key_in_table(&self) -> LockKey {
        (self.path.clone(), self.family, self.own_name.clone())
    }

    /// Returns the parent of a semaphore's leases.
    pub(super) fn lease_parent(&self) -> ZnodePath {
        if self.family == Recipe::CuratorSemaphore { self.path.child("leases") } else { self.path.clone() }
    }

    pub(super) fn family(&self) -> Recipe {
        self.family
    }

    /// Returns the recipe of the lock's nodes.
    pub fn recipe(&self) -> Recipe {
        // kazoo's `Lock` and `WriteLock` create the same names. Only a reader tells them apart.
        match self.family {
            Recipe::KazooLock if self.readers().len() > 0 => Recipe::KazooReadWrite,
            family => family,
        }
    }

    /// Returns whether the rules of this queue are unknown. Its first contender is then assumed to
    /// hold.
    pub fn is_assumed(&self) -> bool {
        self.recipe() == Recipe::UnknownQueue
    }

    /// Returns the kind of the lock.
    pub fn kind(&self) -> LockKind {
        self.recipe().kind()
    }

    /// Returns the number of contenders, holders included. A session between its queue node and its
    /// lease counts once.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether the lock has no contenders.
    pub fn is_empty(&self) -> bool {
        self.order.len() == 0
    }

    /// Returns the number of holders.
    pub fn holding(&self) -> usize {
        self.holding as usize
    }

    /// Returns the number of contenders that are known to wait: none in a queue of unknown rules.
    pub fn waiting(&self) -> usize {
        if self.is_assumed() { 0 } else { self.behind() }
    }

    /// Returns the number of contenders behind the holders, whether or not they wait.
    pub(crate) fn behind(&self) -> usize {
        self.len() - self.holding()
    }

    /// Returns a semaphore's maximum number of leases, where the recipe tells or stores it.
    pub fn maximum(&self) -> Option<u32> {
        self.family.leases_in_queue().or_else(|| self.rare.as_ref()?.maximum)
    }

    /// Returns how many contenders hold at most, where the first of a semaphore's queue do.
    pub(super) fn leases_in_queue(&self) -> Option<usize> {
        Some(self.family.leases_in_queue()? as usize)
    }

    pub(super) fn set_maximum(&mut self, maximum: Option<u32>) {
        if self.family.leases_in_queue().is_none() && maximum != self.maximum() {
            self.rare_mut().maximum = maximum;
        }
    }

    /// Returns the watch by which the first contender waits, where the servers show that it does not
    /// hold.
    pub fn head_wait(&self) -> Option<&HeadWait> {
        let wait = self.rare.as_ref()?.head_wait.as_deref().filter(|wait| wait.settled)?;
        self.contender_at(0).is_some_and(|head| head.czxid == wait.head).then_some(wait)
    }

    /// Returns the first holder in queue order.
    pub fn first_holder(&self) -> Option<&Contender> {
        if self.holding() == 0 { None } else { self.contender_at(0) }
    }

    /// Returns the first waiter in queue order. In a queue of unknown rules nobody is known to wait.
    pub fn first_waiter(&self) -> Option<&Contender> {
        if self.is_assumed() { None } else { self.contender_at(self.holding()) }
    }

    /// Returns since when the first holder holds.
    pub fn held(&self) -> HeldSince {
        self.first_holder().map_or(HeldSince::Free, Contender::held)
    }

    /// Returns the last holder that lost this lock because its session expired, among those that
    /// the table saw.
    pub fn last_expiry(&self) -> Option<&SessionExpired> {
        self.rare.as_ref()?.session_expired.as_deref()
    }

    /// Returns how many contenders [returned](Contender::returned) after their deletion. If there
    /// are any, the order is that of the member that shows them, not the ensemble's.
    pub fn returned(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.returned)
    }

    /// Returns the sequence number of the next contender, where it is known.
    pub fn next_sequence(&self) -> Option<i64> {
        self.next_sequence.get()
    }

    pub(super) fn set_next_sequence(&mut self, next: Option<i64>) {
        self.next_sequence = next.into();
    }

    /// Returns the contender at a position. Logarithmic in the length of the queue.
    pub fn contender_at(&self, position: usize) -> Option<&Contender> {
        self.contenders.get(self.order.get(position)?.slot as usize)
    }

    /// Returns the full path of a contender's node.
    pub fn path_of(&self, contender: &Contender) -> ZnodePath {
        match (self.family, contender.role) {
            (_, Role::SingleNode) => self.path.clone(),
            (_, Role::Lease) => self.lease_parent().child(&contender.node),
            (_, Role::Queue) => self.queue_path().child(&contender.node),
        }
    }

    /// Returns the parent of the queue's nodes. For a semaphore, this is not the parent of its
    /// leases.
    pub fn queue_path(&self) -> ZnodePath {
        match self.family {
            Recipe::CuratorSemaphore => self.path.child("locks"),
            Recipe::KazooSemaphore => {
                let parent = self.path.parent().unwrap_or_else(ZnodePath::root);
                parent.child(&format!("{}-__lock__", self.path.name()))
            }
            _ => self.path.clone(),
        }
    }

    /// Returns the nodes whose children are this lock's contenders; none for a single node.
    pub fn parents(&self) -> Vec<ZnodePath> {
        match self.kind() {
            LockKind::SingleNode => Vec::new(),
            LockKind::Semaphore if self.family.has_lease_nodes() => vec![self.queue_path(), self.lease_parent()],
            _ => vec![self.path.clone()],
        }
    }

    /// Returns the lock's rates per second.
    pub fn rates(&self, now: Timestamp) -> Rates {
        self.activity.as_deref().copied().unwrap_or_default().rates(now)
    }

    /// Returns a time within the last ten seconds before the last acquisition that was seen, by this
    /// machine's clock.
    pub fn acquired_after(&self) -> Option<Timestamp> {
        self.activity.as_deref()?.acquired_after()
    }

    /// Returns when a contender last arrived or left while others waited, by this machine's clock.
    /// Every client that watched the parent's children was woken then.
    pub fn woke_herd_at(&self) -> Option<Timestamp> {
        self.activity.as_deref()?.woke_herd_at()
    }

    /// Returns the position of a contender; `None` for a hidden one.
    pub(super) fn position_of_slot(&self, slot: usize) -> Option<usize> {
        let key = self.key(slot);
        let rank = self.order.rank(key);
        (self.order.get(rank) == Some(key)).then_some(rank)
    }

    pub(super) fn contender(&self, slot: usize) -> Option<&Contender> {
        self.contenders.get(slot)
    }

    pub(super) fn contender_mut(&mut self, slot: usize) -> Option<&mut Contender> {
        self.contenders.get_mut(slot)
    }

    pub(super) fn order(&self) -> &RankedKeys {
        &self.order
    }

    pub(super) fn readers(&self) -> &RankedKeys {
        self.rare.as_ref().map_or(&NO_KEYS, |rare| &rare.readers)
    }

    pub(super) fn readers_mut(&mut self) -> Option<&mut RankedKeys> {
        self.rare.as_mut().map(|rare| &mut rare.readers)
    }

    pub(super) fn reader_came(&mut self, key: OrderKey) {
        self.rare_mut().readers.insert(key);
    }

    /// Records the cost of a change in watch events.
    pub(super) fn cost(&mut self, events: WatchEvents, now: Timestamp) {
        if events != WatchEvents::default() {
            self.activity.get_or_insert_default().cost(events, now);
        }
    }

    /// Records an acquisition.
    pub(super) fn acquired(&mut self, now: Timestamp) {
        self.activity.get_or_insert_default().acquired(now);
    }

    pub(super) fn leases(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.leases)
    }

    pub(super) fn handover(&self) -> Option<&Handover> {
        self.rare.as_ref()?.handover.as_deref()
    }

    /// Returns the fields that few locks have, creating them if needed.
    pub(super) fn rare_mut(&mut self) -> &mut RareParts {
        self.rare.get_or_insert_default()
    }

    /// Returns the head of a semaphore's queue, even when it already created its lease.
    pub(super) fn semaphore_head(&self) -> Option<&Contender> {
        let key = self.hidden().or_else(|| self.order.get(self.leases()))?;
        self.contenders.get(key.slot as usize)
    }

    /// Returns whether the last lease does not hold yet.
    pub(super) fn is_pending(&self) -> bool {
        self.hidden().is_some()
    }

    /// Returns the queue node that is left out of the order, since its owner stands there by its
    /// lease.
    pub(super) fn hidden(&self) -> Option<OrderKey> {
        self.handover()?.hidden()
    }

    pub(super) fn is_reader(&self, key: OrderKey) -> bool {
        self.contenders[key.slot as usize].mode == RequestMode::Read
    }

    pub(super) fn key(&self, slot: usize) -> OrderKey {
        let contender = &self.contenders[slot];
        // Leases come before the queue. A sequence number has 32 bits, so bit 40 separates the
        // classes.
        let class =
            if contender.role == Role::Queue && self.family().kind() == LockKind::Semaphore { 1_i64 << 40 } else { 0 };
        let number = contender.sequence.map_or(0, |sequence| i64::from(sequence.0));
        // An unread contender came after all others. Its stand-in for the czxid counts down. A server
        // that follows no protocol may send any negative number for it.
        let czxid = if contender.is_read() { contender.czxid.0 } else { NOT_READ.saturating_sub(contender.czxid.0) };
        OrderKey { ordinal: class + number, czxid, slot: u32::try_from(slot).unwrap_or(u32::MAX) }
    }
}

/// The fields of a lock that has or had readers, leases, returned nodes or an expired holder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RareParts {
    /// The read requests in the order. Everything about writers follows from them.
    pub readers: RankedKeys,
    /// The number of contenders with a lease.
    pub leases: usize,
    /// The number of returned contenders.
    pub returned: usize,
    /// The hand-over of a semaphore, kept while a contender is between the queue and a lease.
    pub handover: Option<Box<Handover>>,
    pub maximum: Option<u32>,
    pub session_expired: Option<Box<SessionExpired>>,
    /// The watch by which the first contender waits. A recording stores it beside the table, because
    /// older ones have no place for it here.
    #[serde(skip)]
    pub head_wait: Option<Box<HeadWait>>,
}

/// A holder that lost its lock because its session expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionExpired {
    /// When the deletion of its node was seen, by this machine's clock.
    pub at: Timestamp,
    /// The node's name.
    pub node: Arc<str>,
    /// The expired session.
    pub session: SessionId,
    /// The holder's client.
    pub client: ClientIdentity,
}

/// What the node is that the head of a queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeadAwaits {
    /// A request behind it.
    Behind,
    /// A node that is gone.
    Gone,
    /// A node of another recipe.
    Foreign,
}

/// The watch by which the head of a queue waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadWait {
    /// The transaction that created the head's node.
    pub(super) head: Zxid,
    /// The node that it waits for, by its name in the same parent.
    pub node: Arc<str>,
    /// What that node is.
    pub awaits: HeadAwaits,
    /// When a server first listed the watch after the head's turn, by this machine's clock.
    pub since: Timestamp,
    /// Whether two lists showed it.
    pub(super) settled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_stays_small() {
        assert!(size_of::<LockQueue>() <= 160, "{} bytes", size_of::<LockQueue>());
    }
}

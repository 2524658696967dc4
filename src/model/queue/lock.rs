//! One lock: its contenders in order, and what is read from it.

use std::sync::Arc;

use slab::Slab;

use serde::{Deserialize, Serialize};

use super::handover::Handover;
use super::hold::LastHandover;
use super::lock_name::LockKey;
use super::optional::OptionalNumber;
use super::order::{OrderKey, RankedKeys};
use super::rare::{RareParts, SessionExpired};
use super::rate::Activity;
use super::{Contender, ContenderState, HeldSince, LockId, LockName, Rates, WatchEvents};
use lockscope_base::recipe::{LockKind, Recipe, RequestMode, Role};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// Above all transactions' numbers, with room for as many more.
const NOT_READ: i64 = i64::MAX / 2;

/// The requests for reading of a lock that has none.
static NO_KEYS: RankedKeys = RankedKeys::Few(Vec::new());

/// One contender, with what its place in the queue says.
#[derive(Clone, Copy, Debug)]
pub struct ContenderRow<'a> {
    /// Its place in the queue, from 0.
    pub position: usize,
    /// The contender.
    pub contender: &'a Contender,
    /// What it asks for. The names of kazoo's `Lock` and `WriteLock` are the same: beside readers it is a writer.
    pub mode: RequestMode,
    /// Whether it holds.
    pub state: ContenderState,
}

/// One lock: its contenders in the order in which the recipe serves them.
///
/// Holders are always the first of the order. In a semaphore the leases stand before the queue; the last of them
/// may be *pending*: its session still heads the queue, so it does not hold yet. That session's queue node is
/// then *hidden*: out of the order, so that nobody stands in it twice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockQueue {
    id: LockId,
    path: ZnodePath,
    own_name: Option<Arc<str>>,
    family: Recipe,
    pub(super) several: bool,
    pub(super) free_listed: bool,
    #[serde(with = "super::slots")]
    pub(super) contenders: Slab<Contender>,
    pub(super) order: RankedKeys,
    /// How many of them hold.
    pub(super) holding: u32,
    next_sequence: OptionalNumber,
    /// In a box: most locks of many are idle.
    activity: Option<Box<Activity>>,
    /// In a box: few locks have any of it.
    pub(super) rare: Option<Box<RareParts>>,
    /// Where several may hold at once: else the holder itself tells.
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

    /// Its place in the table.
    pub fn id(&self) -> LockId {
        self.id
    }

    /// How it is named, for those who outlive it.
    pub fn lock_name(&self) -> LockName {
        LockName { id: self.id, path: self.path.clone(), name: self.name().map(Arc::from) }
    }

    /// Its path: the lock parent, the semaphore's own path, or the node of a single-node lock.
    pub fn path(&self) -> &ZnodePath {
        &self.path
    }

    /// Which queue, where its parent holds several.
    pub fn name(&self) -> Option<&str> {
        self.several.then(|| self.label())
    }

    /// Its name among the queues of its parent, if there are several.
    pub(super) fn label(&self) -> &str {
        self.own_name.as_deref().unwrap_or(self.family.id())
    }

    /// What the names of its nodes call it, where a parent can hold several queues; unlike [`name`](Self::name) also when it holds one.
    pub fn own_name(&self) -> Option<&Arc<str>> {
        self.own_name.as_ref()
    }

    pub(super) fn key_in_table(&self) -> LockKey {
        (self.path.clone(), self.family, self.own_name.clone())
    }

    /// The parent of a semaphore's leases.
    pub(super) fn lease_parent(&self) -> ZnodePath {
        if self.family == Recipe::CuratorSemaphore { self.path.child("leases") } else { self.path.clone() }
    }

    pub(super) fn family(&self) -> Recipe {
        self.family
    }

    /// Who made it.
    pub fn recipe(&self) -> Recipe {
        // kazoo's Lock and WriteLock give one name; only a reader beside them shows which it is.
        match self.family {
            Recipe::KazooLock if self.readers().len() > 0 => Recipe::KazooReadWrite,
            family => family,
        }
    }

    /// Whether nobody knows the rules of this queue: that the first of it holds is assumed.
    pub fn is_assumed(&self) -> bool {
        self.recipe() == Recipe::UnknownQueue
    }

    /// What it grants.
    pub fn kind(&self) -> LockKind {
        self.recipe().kind()
    }

    /// Contenders, holders among them; a session between its queue node and its lease counts once.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nobody contends.
    pub fn is_empty(&self) -> bool {
        self.order.len() == 0
    }

    /// How many hold.
    pub fn holding(&self) -> usize {
        self.holding as usize
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.len() - self.holding()
    }

    /// The most leases that a semaphore grants, where its recipe stores that.
    pub fn maximum(&self) -> Option<u32> {
        self.rare.as_ref()?.maximum
    }

    pub(super) fn set_maximum(&mut self, maximum: Option<u32>) {
        if maximum != self.maximum() {
            self.rare_mut().maximum = maximum;
        }
    }

    /// The first holder in queue order.
    pub fn first_holder(&self) -> Option<&Contender> {
        if self.holding() == 0 { None } else { self.contender_at(0) }
    }

    /// The first waiter in queue order.
    pub fn first_waiter(&self) -> Option<&Contender> {
        self.contender_at(self.holding())
    }

    /// Since when the first holder holds.
    pub fn held(&self) -> HeldSince {
        self.first_holder().map_or(HeldSince::Free, Contender::held)
    }

    /// The last holder that lost this lock to the end of its session, since the table is fed.
    pub fn last_expiry(&self) -> Option<&SessionExpired> {
        self.rare.as_ref()?.session_expired.as_deref()
    }

    /// How many of its contenders [returned](Contender::returned) after their deletion. While there are any, its order is that
    /// of the member that shows them, and not the ensemble's.
    pub fn returned(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.returned)
    }

    /// The number that the next contender gets, where known.
    pub fn next_sequence(&self) -> Option<i64> {
        self.next_sequence.get()
    }

    pub(super) fn set_next_sequence(&mut self, next: Option<i64>) {
        self.next_sequence = next.into();
    }

    /// The contender at a position. Logarithmic.
    pub fn contender_at(&self, position: usize) -> Option<&Contender> {
        self.contenders.get(self.order.get(position)?.slot as usize)
    }

    /// Full path of one of its contenders.
    pub fn path_of(&self, contender: &Contender) -> ZnodePath {
        match (self.family, contender.role) {
            (_, Role::SingleNode) => self.path.clone(),
            (_, Role::Lease) => self.lease_parent().child(&contender.node),
            (_, Role::Queue) => self.queue_path().child(&contender.node),
        }
    }

    /// The parent of those who queue; of a semaphore, not that of its leases.
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

    /// What it does per second.
    pub fn rates(&self, now: Timestamp) -> Rates {
        self.activity.as_deref().copied().unwrap_or_default().rates(now)
    }

    /// When somebody was last seen to come or to leave while others waited: whoever watched the parent's children then was
    /// woken. By this machine's clock.
    pub fn woke_herd_at(&self) -> Option<Timestamp> {
        self.activity.as_deref()?.woke_herd_at()
    }

    /// The position of a contender; `None` for one that is hidden.
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

    /// A change cost these watch events.
    pub(super) fn cost(&mut self, events: WatchEvents, now: Timestamp) {
        if events != WatchEvents::default() {
            self.activity.get_or_insert_default().cost(events, now);
        }
    }

    /// Somebody acquired it.
    pub(super) fn acquired(&mut self, now: Timestamp) {
        self.activity.get_or_insert_default().acquired(now);
    }

    pub(super) fn leases(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.leases)
    }

    pub(super) fn handover(&self) -> Option<&Handover> {
        self.rare.as_ref()?.handover.as_deref()
    }

    /// What few locks have.
    pub(super) fn rare_mut(&mut self) -> &mut RareParts {
        self.rare.get_or_insert_default()
    }

    /// Who heads a semaphore's queue, also when it has made its lease already.
    pub(super) fn semaphore_head(&self) -> Option<&Contender> {
        let key = self.hidden().or_else(|| self.order.get(self.leases()))?;
        self.contenders.get(key.slot as usize)
    }

    /// Whether the last lease does not hold yet.
    pub(super) fn is_pending(&self) -> bool {
        self.hidden().is_some()
    }

    /// The node in the queue that is out of the order, since its owner stands there by its lease.
    pub(super) fn hidden(&self) -> Option<OrderKey> {
        self.handover()?.hidden()
    }

    pub(super) fn is_reader(&self, key: OrderKey) -> bool {
        self.contenders[key.slot as usize].mode == RequestMode::Read
    }

    pub(super) fn key(&self, slot: usize) -> OrderKey {
        let contender = &self.contenders[slot];
        // Leases stand before the queue: a sequence has 32 bits, so bit 40 sets the classes apart.
        let class =
            if contender.role == Role::Queue && self.family().kind() == LockKind::Semaphore { 1_i64 << 40 } else { 0 };
        let number = contender.sequence.map_or(0, |sequence| i64::from(sequence.0));
        // A contender that is not read yet came after all that are; what stands in for its czxid counts down.
        let czxid = if contender.is_read() { contender.czxid.0 } else { NOT_READ - contender.czxid.0 };
        OrderKey { ordinal: class + number, czxid, slot: u32::try_from(slot).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_small() {
        assert!(size_of::<LockQueue>() <= 160, "{} bytes", size_of::<LockQueue>());
    }
}

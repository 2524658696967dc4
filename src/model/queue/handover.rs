//! The hand-over of a semaphore: a contender moves from its node in the queue to its lease, and
//! stays one contender throughout.
//!
//! In both recipes only the head of the queue creates a lease, and it leaves the queue once the
//! lease is its own. The server reports the creation of the lease first, and then the deletion of
//! the queue node.
//!
//! Only a read of the lease shows its session, and with it the owner. The answer may arrive before
//! the deletion, after it, or never if the lease is returned at once. During a cut both events are
//! missed, and the next complete reading finds the result of both.
//!
//! The states of one contender:
//!
//! ```text
//!   queue node read
//!         |
//!         v
//!   +------------+  queue node gone, every lease is read          +--------+
//!   |   QUEUED   |----------------------------------------------->|  LEFT  |
//!   +------------+                                                +--------+
//!     |   ^    |                                                       ^
//!     |   |    | queue node gone,                                      | all leases that
//!     |   |    | a lease is unread                                     | may be its own
//!     |   |    v                                                       | are others'
//!     |   |  +------------+                                            |
//!     |   |  |  DEPARTED  |--------------------------------------------+
//!     |   |  +------------+
//!     |   |      |     |  its lease gone, unread                     +----------+
//!     |   |      |     +-------------- acquires, and releases ------>| RELEASED |
//!     |   |      | its lease read                                    +----------+
//!     |   |      v                                                        ^
//!     |   |  +------------+  lease gone                                   |
//!     |   |  |   HOLDS    |-----------------------------------------------+
//!     |   |  +------------+
//!     |   |      ^
//!     |   |      | queue node gone
//!     |   |  +------------+
//!     |   +--|  PENDING   |  both nodes exist: the lease is in the order, the queue node hidden
//!     |      +------------+
//!     |  lease     ^
//!     |  gone      |
//!     +------------+
//!       its lease read
//! ```
//!
//! An expired session takes all its nodes with it, in any order. A contender that loses a node in
//! this way is reported as expired at once; a pending contender, only once both nodes are gone. The
//! number of available leases does not affect any of this.
//!
//! [`Handover`] is the state machine of one semaphore. It takes [`HandoverInput`]s, returns
//! [`HandoverOutput`]s, and does not know the table that feeds it and carries out its outputs.
//!
//! Architecture invariant: its memory is bounded by the observer's pending reads, plus the
//! contenders that one complete reading finds gone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::queue::compact::OrderKey;
use crate::queue::contender::Queued;
use crate::queue::event::SessionAtEnd;
use crate::queue::{Contender, ContenderId, Deleter, LockEvent, WatchEvents};
use lockscope_base::recipe::Role;

#[cfg(test)]
mod tests;

/// An event at a semaphore.
#[derive(Clone, Debug)]
pub(super) enum HandoverInput<'a> {
    /// A lease was created and is about to be read.
    LeaseAnnounced {
        /// The lease's name.
        node: &'a str,
        /// The head of the queue at that time; `None` when the queue was empty.
        head: Option<ContenderId>,
    },
    /// A lease was read.
    LeaseRead(&'a Contender),
    /// A lease is gone. It may never have been read.
    LeaseGone {
        /// The lease's name.
        node: &'a str,
    },
    /// A lease cannot be read. It may never have been read before.
    LeaseUnreadable {
        /// The lease's name.
        node: &'a str,
    },
    /// Every lease that existed before this point has been announced. Sent for servers without
    /// recursive watches, where leases are listed.
    LeasesListed,
    /// A contender's node, in the queue or a lease, is gone. It is already out of the order.
    NodeGone(NodeGone),
    /// A queue node is gone that was never read.
    UnreadQueueNodeGone,
    /// A complete reading begins. All pending reads are dropped.
    ReadingBegins,
    /// The running complete reading found a lease. The lease may also have been announced since the
    /// reading began.
    LeaseFound {
        /// The lease's slot among the contenders.
        slot: usize,
        /// The lease as it was read.
        lease: &'a Contender,
    },
    /// The complete reading is finished.
    ReadingEnds {
        /// All leases with their slots among the contenders.
        leases: &'a [(usize, &'a Contender)],
    },
    /// A node is about to be added to the order or removed from it.
    OrderChanges,
    /// The order has changed, and there are both a lease and a head of the queue.
    OrderChanged {
        /// The second-to-last lease, if there is one.
        before_last: Option<InOrder<'a>>,
        /// The last lease.
        last: InOrder<'a>,
        /// The head of the queue.
        head: InOrder<'a>,
    },
    /// The semaphore no longer exists.
    LockGone,
}

/// A contender and its place in the order of its lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct InOrder<'a> {
    /// The place.
    pub key: OrderKey,
    pub contender: &'a Contender,
}

/// An action for the caller.
#[derive(Clone, Debug)]
pub(super) enum HandoverOutput {
    /// Report that a contender is gone.
    Report(Box<GoneContender>),
    /// Report that a contender acquired and released by a lease that was never read.
    ReportHeld {
        /// The lease's name.
        lease: Arc<str>,
        /// The contender that left the queue for the lease.
        owner: Box<GoneContender>,
    },
    /// The lease that was read belongs to the known contender with this place in the queue.
    LeaseIsOf(Queued),
    /// A lease that a complete reading found belongs to a known contender.
    FoundLeaseIsOf {
        /// The lease's slot among the contenders.
        slot: usize,
        /// The owner's place in the queue.
        owner: Queued,
    },
    /// A lease that a complete reading found belongs to no known contender. Its owner is a new one.
    FoundLeaseIsNew {
        /// The lease's slot among the contenders.
        slot: usize,
    },
    /// A lease that was attributed to the head of the queue belongs to another contender.
    Unbind {
        /// The lease's slot among the contenders.
        lease: usize,
    },
    /// The lease belongs to the head of the queue.
    Bind {
        /// The lease's slot among the contenders.
        lease: usize,
        /// The head's slot among the contenders.
        head: usize,
    },
    /// Remove this queue node from the order: the owner stands there by its lease.
    Hide(OrderKey),
    /// Put this queue node back into the order.
    Show(OrderKey),
}

/// A contender whose node is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GoneContender {
    /// The contender in its last state.
    pub contender: Contender,
    /// The event if this was its only node: left, released or expired.
    pub event: LockEvent,
    /// What is known about its session. A recording does not store this, so it is unknown after a
    /// keyframe.
    #[serde(skip)]
    pub at_end: SessionAtEnd,
    /// The deleter of the node, if it is known. Not stored either.
    #[serde(skip)]
    pub deleter: Option<Deleter>,
    /// The cost of the departure.
    pub cost: WatchEvents,
}

/// The place of a node in the semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodesBefore {
    /// At the head of the queue. Only this contender creates a lease.
    Head,
    /// Hidden, since the owner stands in the order by its lease.
    Hidden,
    /// Among the leases, while the owner still waits and also has a node in the queue.
    PendingLease,
    /// Any other place: a lease that holds, or a place behind the head.
    Elsewhere,
}

/// A contender's node is gone, with what the table knows about it.
#[derive(Clone, Debug)]
pub(super) struct NodeGone {
    /// The node's contender.
    pub gone: Box<GoneContender>,
    /// The slot of the node among the contenders.
    pub slot: usize,
    /// The place of the node in the semaphore.
    pub stood: NodesBefore,
    /// Whether the table is in step with the ensemble. If not, any contender may have moved on.
    pub live: bool,
    /// Whether changes are reported. The findings of the first reading are not.
    pub reporting: bool,
    /// Whether leases are found by listing them instead of by a watch event each.
    pub lists: bool,
}

/// The contenders of one semaphore that are between the queue and their leases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Handover {
    /// The leases that were announced but not read.
    unread: UnreadLeases,
    /// The contenders that departed and may have an unknown lease, in order of departure.
    departed: VecDeque<Departed>,
    /// The slots of the leases that the running complete reading found.
    found: Vec<usize>,
    /// The queue node of the pending contender. It is left out of the order.
    hidden: Option<OrderKey>,
}

/// A contender that departed from the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Departed {
    /// `None` when its node in the queue was deleted before it could be read.
    contender: Option<Box<GoneContender>>,
    awaits: Awaits,
}

/// The event after which it is certain that a departed contender has no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Awaits {
    /// All leases up to this number are read or gone.
    Leases(u64),
    /// The leases are listed.
    Listing,
    /// The complete reading ends.
    Reading,
}

impl Handover {
    /// Handles one input. Returns the outputs in the order in which the caller must carry them out.
    #[must_use]
    pub fn handle(&mut self, input: HandoverInput<'_>) -> Vec<HandoverOutput> {
        match input {
            HandoverInput::LeaseAnnounced { node, head } => self.unread.insert(node, head),
            HandoverInput::LeaseRead(lease) => return self.lease_read(lease),
            HandoverInput::LeaseGone { node } => return self.lease_gone(node),
            HandoverInput::LeaseUnreadable { node } => return self.lease_unreadable(node),
            HandoverInput::LeasesListed => return self.no_more_leases_come(Awaits::Listing),
            HandoverInput::NodeGone(node) => return self.node_gone(node),
            HandoverInput::UnreadQueueNodeGone => self.unread_queue_node_gone(),
            HandoverInput::ReadingBegins => self.reading_begins(),
            HandoverInput::LeaseFound { slot, lease } => self.lease_found(slot, lease),
            HandoverInput::ReadingEnds { leases } => return self.reading_ends(leases),
            HandoverInput::OrderChanges => return self.hidden.take().map(HandoverOutput::Show).into_iter().collect(),
            HandoverInput::OrderChanged { before_last, last, head } => {
                return self.order_changed(before_last, last, head);
            }
            HandoverInput::LockGone => return self.lock_gone(),
        }
        Vec::new()
    }

    /// Feeds the hand-over in `kept`, creating one if there is none. Keeps it only while a
    /// contender is between the queue and a lease.
    pub fn feed(kept: &mut Option<Box<Self>>, input: HandoverInput<'_>) -> Vec<HandoverOutput> {
        let mut handover = kept.take().unwrap_or_default();
        let outputs = handover.handle(input);
        *kept = (!handover.is_idle()).then_some(handover);
        outputs
    }

    /// Returns the slots of the leases that the running complete reading found.
    pub fn found(&self) -> &[usize] {
        &self.found
    }

    /// Returns the queue node of the pending contender, if there is one.
    pub fn hidden(&self) -> Option<OrderKey> {
        self.hidden
    }

    /// Returns whether no contender is between the queue and a lease. Nothing needs to be kept
    /// then.
    pub fn is_idle(&self) -> bool {
        self.hidden.is_none() && !self.awaits_something()
    }

    /// Returns whether a lease, or the owner of a lease, is still unknown.
    pub fn awaits_something(&self) -> bool {
        !(self.unread.is_empty() && self.departed.is_empty() && self.found.is_empty())
    }

    /// Handles the deletion of a contender's node.
    ///
    /// A pending contender goes on with its other node. A contender in the queue departs or has
    /// left. All others are reported.
    fn node_gone(&mut self, node: NodeGone) -> Vec<HandoverOutput> {
        let NodeGone { gone, slot, stood, live, reporting, lists } = node;
        let was_found = self.forget_found(slot);
        let goes_on = matches!(stood, NodesBefore::Hidden | NodesBefore::PendingLease);
        // The deletion of a returned node was reported when it first happened. The arrival of a
        // found node is not reported yet.
        if goes_on || was_found || !reporting || gone.contender.returned {
            return Vec::new();
        }
        let may_have_lease = gone.contender.role == Role::Queue && (stood == NodesBefore::Head || !live);
        let awaits = match self.unread.last() {
            _ if gone.event != LockEvent::Left || !may_have_lease => None,
            _ if !live => Some(Awaits::Reading),
            _ if lists => Some(Awaits::Listing),
            last => last.map(Awaits::Leases),
        };
        match awaits {
            Some(awaits) => {
                self.departed.push_back(Departed { contender: Some(gone), awaits });
                Vec::new()
            }
            None => vec![HandoverOutput::Report(gone)],
        }
    }

    /// Lets a contender depart that was never seen in the queue, if an unread lease may be its own.
    fn unread_queue_node_gone(&mut self) {
        if let Some(last) = self.unread.last() {
            self.departed.push_back(Departed { contender: None, awaits: Awaits::Leases(last) });
        }
    }

    /// Finds the owner of a lease that was read.
    ///
    /// The owner is the first departed contender that has the lease's session and, where this is
    /// known, headed the queue when the lease was created. Without such a contender, the owner is a
    /// new one.
    fn lease_read(&mut self, lease: &Contender) -> Vec<HandoverOutput> {
        let owner = match self.unread.remove(&lease.node) {
            None => self.take_departed(|departed| is_known_and(departed, |gone| may_own(gone, lease))),
            Some((number, head)) => self.take_departed(|departed| {
                departed.may_have(number)
                    && match (&departed.contender, &head) {
                        (Some(gone), Some(head)) => gone.contender.id() == *head && may_own(gone, lease),
                        (Some(gone), None) => may_own(gone, lease),
                        (None, head) => head.is_none(),
                    }
            }),
        };
        let owner = owner.map(|departed| match departed.contender {
            Some(gone) => gone.contender.as_queued(),
            // The owner was not seen in the queue: only the lease is known. It does not belong to
            // the head.
            None => lease.as_queued(),
        });
        owner.map(HandoverOutput::LeaseIsOf).into_iter().chain(self.take_left()).collect()
    }

    /// Notes a lease for the end of the reading, when its owner can be found. The owner of a
    /// returned lease is known from before its deletion.
    fn lease_found(&mut self, slot: usize, lease: &Contender) {
        self.unread.remove(&lease.node);
        if !lease.returned {
            self.found.push(slot);
        }
    }

    /// Reports an unread lease that is gone: the first departed contender that headed the queue at
    /// its creation acquired and released.
    fn lease_gone(&mut self, node: &str) -> Vec<HandoverOutput> {
        let Some(owner) = self.forget_unread(node) else { return Vec::new() };
        let held = owner.map(|owner| HandoverOutput::ReportHeld { lease: node.into(), owner });
        held.into_iter().chain(self.take_left()).collect()
    }

    /// Handles a lease that cannot be read as if it were no lease: its owner left the queue.
    fn lease_unreadable(&mut self, node: &str) -> Vec<HandoverOutput> {
        let Some(owner) = self.forget_unread(node) else { return Vec::new() };
        let mut left = self.take_left();
        left.extend(owner.map(HandoverOutput::Report));
        left
    }

    /// Starts a complete reading. Departed contenders now wait for its end. Leases that an
    /// interrupted reading found are not reported yet.
    fn reading_begins(&mut self) {
        self.unread = UnreadLeases::default();
        self.departed.retain(|departed| departed.contender.is_some());
        for departed in &mut self.departed {
            departed.awaits = Awaits::Reading;
        }
    }

    /// Ends a complete reading.
    ///
    /// The found leases, in order of creation, go to the contenders that departed before. A
    /// departed contender without a lease has left.
    fn reading_ends(&mut self, leases: &[(usize, &Contender)]) -> Vec<HandoverOutput> {
        let known: FxHashSet<ContenderId> = leases.iter().map(|(_, lease)| lease.id()).collect();
        self.departed.retain(|departed| !is_known_and(departed, |gone| known.contains(&gone.contender.id())));
        let found: FxHashSet<usize> = std::mem::take(&mut self.found).into_iter().collect();
        let mut found: Vec<_> = leases.iter().filter(|(slot, _)| found.contains(slot)).collect();
        found.sort_by_key(|(_, lease)| (lease.czxid, lease.sequence));
        let mut outputs = Vec::new();
        for (slot, lease) in found {
            let owner = self.take_departed(|departed| is_known_and(departed, |gone| may_own(gone, lease)));
            outputs.push(match owner.and_then(|departed| departed.contender) {
                Some(gone) => HandoverOutput::FoundLeaseIsOf { slot: *slot, owner: gone.contender.as_queued() },
                None => HandoverOutput::FoundLeaseIsNew { slot: *slot },
            });
        }
        outputs.extend(self.no_more_leases_come(Awaits::Reading));
        outputs
    }

    /// Hides the head of the queue if it is pending.
    ///
    /// The head is pending when its session created the last lease after the head joined the queue:
    /// it still has to check whether there is room. A lease that held before belongs to another
    /// thread of that session.
    fn order_changed(
        &mut self,
        before_last: Option<InOrder<'_>>,
        InOrder { key: last_key, contender: last }: InOrder<'_>,
        InOrder { key: head_key, contender: head }: InOrder<'_>,
    ) -> Vec<HandoverOutput> {
        let is_bound = last.queued().is_some();
        let is_its = if is_bound {
            last.id() == head.id()
        } else {
            let is_newer = last_key.czxid > head_key.czxid;
            !last.holds() && head.session().is_some() && last.session() == head.session() && is_newer
        };
        if self.hidden.is_some() || !is_its {
            return Vec::new();
        }
        self.hidden = Some(head_key);
        let mut outputs = Vec::new();
        if !is_bound {
            // The lease that was attributed to the head so far belongs to another contender.
            let wrong = before_last.filter(|lease| lease.contender.id() == head.id());
            outputs.extend(wrong.map(|lease| HandoverOutput::Unbind { lease: lease.key.slot as usize }));
            outputs.push(HandoverOutput::Bind { lease: last_key.slot as usize, head: head_key.slot as usize });
        }
        outputs.push(HandoverOutput::Hide(head_key));
        outputs
    }

    /// Reports all departed contenders as having left.
    fn lock_gone(&mut self) -> Vec<HandoverOutput> {
        let Self { departed, .. } = std::mem::take(self);
        departed.into_iter().filter_map(|departed| departed.contender).map(HandoverOutput::Report).collect()
    }

    /// Notes that every lease which the contenders that wait for `awaited` may own is announced by
    /// now.
    fn no_more_leases_come(&mut self, awaited: Awaits) -> Vec<HandoverOutput> {
        let last = self.unread.last().unwrap_or(0);
        for departed in self.departed.iter_mut().filter(|departed| departed.awaits == awaited) {
            departed.awaits = Awaits::Leases(last);
        }
        self.take_left()
    }

    fn forget_found(&mut self, slot: usize) -> bool {
        let at = self.found.iter().position(|found| *found == slot);
        at.map(|at| self.found.swap_remove(at)).is_some()
    }

    /// Forgets an unread lease and returns its owner. The outer `None` means that the lease was not
    /// announced, or was read.
    #[expect(clippy::option_option, reason = "a lease that was not announced differs from one without an owner")]
    fn forget_unread(&mut self, node: &str) -> Option<Option<Box<GoneContender>>> {
        let (number, head) = self.unread.remove(node)?;
        let owner = self.take_departed(|departed| {
            departed.may_have(number)
                && match (&departed.contender, &head) {
                    (Some(gone), Some(head)) => gone.contender.id() == *head,
                    _ => true,
                }
        });
        Some(owner.and_then(|departed| departed.contender))
    }

    fn take_departed(&mut self, is_it: impl Fn(&Departed) -> bool) -> Option<Departed> {
        let at = self.departed.iter().position(is_it)?;
        self.departed.remove(at)
    }

    /// Takes the departed contenders whose leases would have been read by now: they have left.
    fn take_left(&mut self) -> Vec<HandoverOutput> {
        let first = self.unread.first().unwrap_or(u64::MAX);
        let has_left = |departed: &Departed| matches!(departed.awaits, Awaits::Leases(last) if last < first);
        if !self.departed.iter().any(has_left) {
            return Vec::new();
        }
        let (left, stays): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.departed).into_iter().partition(has_left);
        self.departed = stays;
        left.into_iter().filter_map(|departed| departed.contender).map(HandoverOutput::Report).collect()
    }
}

impl Departed {
    /// Returns whether the lease with this number may belong to the contender. A lease that was
    /// announced after the departure does not.
    fn may_have(&self, number: u64) -> bool {
        !matches!(self.awaits, Awaits::Leases(last) if last < number)
    }
}

fn is_known_and(departed: &Departed, is_it: impl Fn(&GoneContender) -> bool) -> bool {
    departed.contender.as_deref().is_some_and(is_it)
}

/// Returns whether a lease may belong to a departed contender.
fn may_own(gone: &GoneContender, lease: &Contender) -> bool {
    gone.contender.session() == lease.session() && gone.contender.czxid < lease.czxid
}

/// The announced but unread leases, numbered in order of announcement, each with the head of the
/// queue at that time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct UnreadLeases {
    heads: BTreeMap<u64, Option<ContenderId>>,
    numbers: FxHashMap<Arc<str>, u64>,
    newest: u64,
}

impl UnreadLeases {
    fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    fn insert(&mut self, node: &str, head: Option<ContenderId>) {
        self.newest += 1;
        if let Some(before) = self.numbers.insert(node.into(), self.newest) {
            self.heads.remove(&before);
        }
        self.heads.insert(self.newest, head);
    }

    fn remove(&mut self, node: &str) -> Option<(u64, Option<ContenderId>)> {
        let number = self.numbers.remove(node)?;
        Some((number, self.heads.remove(&number)?))
    }

    fn first(&self) -> Option<u64> {
        self.heads.first_key_value().map(|(number, _)| *number)
    }

    fn last(&self) -> Option<u64> {
        self.heads.last_key_value().map(|(number, _)| *number)
    }
}

//! The state machine of the hand-over: what is kept of a semaphore, and what each input does to it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use serde::{Deserialize, Serialize};

use super::{Gone, Input, NodeGone, Output, Stood};
use crate::queue::order::OrderKey;
use crate::queue::{Contender, ContenderId, LockEvent};
use lockscope_base::recipe::Role;

/// Contenders of one semaphore between the queue and their leases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::queue) struct Handover {
    /// The leases that were announced and not read.
    unread: UnreadLeases,
    /// The contenders that departed, in that order, and may have a lease that is not known yet.
    departed: VecDeque<Departed>,
    /// Where the leases lie that were found while everything is read anew.
    found: Vec<usize>,
    /// The node of the pending contender in the queue, which is out of the order.
    hidden: Option<OrderKey>,
}

/// A contender that departed from the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Departed {
    /// `None` when its node in the queue was gone before it could be read.
    contender: Option<Box<Gone>>,
    awaits: Awaits,
}

/// What must happen before it is known that a departed contender has no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Awaits {
    /// The leases up to the one with this number are read, or are gone.
    Leases(u64),
    /// The leases are listed.
    Listing,
    /// Everything is read.
    Reading,
}

impl Handover {
    /// Takes one input and says what follows, in the order in which it is to be carried out.
    #[must_use]
    pub fn handle(&mut self, input: Input<'_>) -> Vec<Output> {
        match input {
            Input::LeaseAnnounced { node, head } => self.unread.insert(node, head),
            Input::LeaseRead(lease) => return self.lease_read(lease),
            Input::LeaseGone { node } => return self.lease_gone(node),
            Input::LeaseUnreadable { node } => return self.lease_unreadable(node),
            Input::LeasesListed => return self.no_more_leases_come(Awaits::Listing),
            Input::NodeGone(node) => return self.node_gone(node),
            Input::UnreadQueueNodeGone => self.unread_queue_node_gone(),
            Input::ReadingBegins => self.reading_begins(),
            Input::LeaseFound { slot, lease } => self.lease_found(slot, lease),
            Input::ReadingEnds { leases } => return self.reading_ends(leases),
            Input::OrderChanges => return self.hidden.take().map(Output::Show).into_iter().collect(),
            Input::OrderChanged { before_last, last, head } => return self.order_changed(before_last, last, head),
            Input::LockGone => return self.lock_gone(),
        }
        Vec::new()
    }

    /// Feeds the hand-over that is kept in this place, if one is; keeps one only as long as a contender is between the queue and a lease.
    pub fn feed(kept: &mut Option<Box<Self>>, input: Input<'_>) -> Vec<Output> {
        let mut handover = kept.take().unwrap_or_default();
        let outputs = handover.handle(input);
        *kept = (!handover.is_idle()).then_some(handover);
        outputs
    }

    /// Where the leases lie that were found while everything is read anew.
    pub fn found(&self) -> &[usize] {
        &self.found
    }

    /// The node in the queue of the contender that is pending, if one is.
    pub fn hidden(&self) -> Option<OrderKey> {
        self.hidden
    }

    /// Whether no contender is between the queue and a lease: then nothing is kept.
    pub fn is_idle(&self) -> bool {
        self.hidden.is_none() && !self.awaits_something()
    }

    /// Whether a lease is awaited, or who it belongs to.
    pub fn awaits_something(&self) -> bool {
        !(self.unread.is_empty() && self.departed.is_empty() && self.found.is_empty())
    }

    /// From pending: the contender goes on by its other node. From the queue: it departs, or has left. Otherwise it is reported.
    fn node_gone(&mut self, node: NodeGone) -> Vec<Output> {
        let NodeGone { gone, slot, stood, live, reporting, lists } = node;
        let was_found = self.forget_found(slot);
        let goes_on = matches!(stood, Stood::Hidden | Stood::PendingLease);
        // That a returned node is gone was reported when it was deleted; that a found one came is not reported yet.
        if goes_on || was_found || !reporting || gone.contender.returned {
            return Vec::new();
        }
        let may_have_lease = gone.contender.role == Role::Queue && (stood == Stood::Head || !live);
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
            None => vec![Output::Report(gone)],
        }
    }

    /// A contender that was never seen in the queue departs, when a lease may be its own.
    fn unread_queue_node_gone(&mut self) {
        if let Some(last) = self.unread.last() {
            self.departed.push_back(Departed { contender: None, awaits: Awaits::Leases(last) });
        }
    }

    /// The lease belongs to the first departed contender that has its session and, where that is known, headed the queue when the
    /// lease was created. Otherwise its owner is a contender of its own.
    fn lease_read(&mut self, lease: &Contender) -> Vec<Output> {
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
            // It was not seen in the queue: the lease is all that is known of it, and it is not that of the head.
            None => lease.as_queued(),
        });
        owner.map(Output::LeaseIsOf).into_iter().chain(self.take_left()).collect()
    }

    /// Whose it is shows at the end of the reading, unless that was known before its node was deleted and came back.
    fn lease_found(&mut self, slot: usize, lease: &Contender) {
        self.unread.remove(&lease.node);
        if !lease.returned {
            self.found.push(slot);
        }
    }

    /// The unread lease belonged to the first departed contender that headed the queue when it was created: that one acquired, and
    /// released.
    fn lease_gone(&mut self, node: &str) -> Vec<Output> {
        let Some(owner) = self.forget_unread(node) else { return Vec::new() };
        let held = owner.map(|owner| Output::ReportHeld { lease: node.into(), owner });
        held.into_iter().chain(self.take_left()).collect()
    }

    /// What cannot be read is taken for no lease: its owner left the queue.
    fn lease_unreadable(&mut self, node: &str) -> Vec<Output> {
        let Some(owner) = self.forget_unread(node) else { return Vec::new() };
        let mut left = self.take_left();
        left.extend(owner.map(Output::Report));
        left
    }

    /// Departed contenders await the end of the reading. Leases that the last one found, which was cut short, are not reported yet.
    fn reading_begins(&mut self) {
        self.unread = UnreadLeases::default();
        self.departed.retain(|departed| departed.contender.is_some());
        for departed in &mut self.departed {
            departed.awaits = Awaits::Reading;
        }
    }

    /// The leases that were found, in the order in which they were created, belong to the contenders that departed before. A departed
    /// contender without one has left.
    fn reading_ends(&mut self, leases: &[(usize, &Contender)]) -> Vec<Output> {
        let known: FxHashSet<ContenderId> = leases.iter().map(|(_, lease)| lease.id()).collect();
        self.departed.retain(|departed| !is_known_and(departed, |gone| known.contains(&gone.contender.id())));
        let found: FxHashSet<usize> = std::mem::take(&mut self.found).into_iter().collect();
        let mut found: Vec<_> = leases.iter().filter(|(slot, _)| found.contains(slot)).collect();
        found.sort_by_key(|(_, lease)| (lease.czxid, lease.sequence));
        let mut outputs = Vec::new();
        for (slot, lease) in found {
            let owner = self.take_departed(|departed| is_known_and(departed, |gone| may_own(gone, lease)));
            outputs.push(match owner.and_then(|departed| departed.contender) {
                Some(gone) => Output::FoundLeaseIsOf { slot: *slot, owner: gone.contender.as_queued() },
                None => Output::FoundLeaseIsNew { slot: *slot },
            });
        }
        outputs.extend(self.no_more_leases_come(Awaits::Reading));
        outputs
    }

    /// The head of the queue is pending when its session made the last lease after it came to queue: it still has to see whether
    /// there is room. A lease that held once is that of another thread of that session.
    fn order_changed(
        &mut self,
        before_last: Option<(OrderKey, &Contender)>,
        (last_key, last): (OrderKey, &Contender),
        (head_key, head): (OrderKey, &Contender),
    ) -> Vec<Output> {
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
            // The lease that it had made before, as it seemed, is not its own.
            let wrong = before_last.filter(|(_, lease)| lease.id() == head.id());
            outputs.extend(wrong.map(|(key, _)| Output::Unbind { lease: key.slot as usize }));
            outputs.push(Output::Bind { lease: last_key.slot as usize, head: head_key.slot as usize });
        }
        outputs.push(Output::Hide(head_key));
        outputs
    }

    /// All departed contenders have left.
    fn lock_gone(&mut self) -> Vec<Output> {
        let Self { departed, .. } = std::mem::take(self);
        departed.into_iter().filter_map(|departed| departed.contender).map(Output::Report).collect()
    }

    /// Every lease is announced by now that the contenders which awaited this may have.
    fn no_more_leases_come(&mut self, awaited: Awaits) -> Vec<Output> {
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

    /// The owner of a lease that will never be read; the outer `None` when it was not announced, or was read.
    #[expect(clippy::option_option, reason = "a lease that nobody announced and one without an owner are two things")]
    fn forget_unread(&mut self, node: &str) -> Option<Option<Box<Gone>>> {
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

    /// Takes the departed contenders whose lease would have been read by now: they have left.
    fn take_left(&mut self) -> Vec<Output> {
        let first = self.unread.first().unwrap_or(u64::MAX);
        let has_left = |departed: &Departed| matches!(departed.awaits, Awaits::Leases(last) if last < first);
        if !self.departed.iter().any(has_left) {
            return Vec::new();
        }
        let (left, stays): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.departed).into_iter().partition(has_left);
        self.departed = stays;
        left.into_iter().filter_map(|departed| departed.contender).map(Output::Report).collect()
    }
}

impl Departed {
    /// Whether the lease with that number may be its own: one that was announced after it departed is not.
    fn may_have(&self, number: u64) -> bool {
        !matches!(self.awaits, Awaits::Leases(last) if last < number)
    }
}

fn is_known_and(departed: &Departed, is_it: impl Fn(&Gone) -> bool) -> bool {
    departed.contender.as_deref().is_some_and(is_it)
}

/// Whether a lease may be that of a departed contender.
fn may_own(gone: &Gone, lease: &Contender) -> bool {
    gone.contender.session() == lease.session() && gone.contender.czxid < lease.czxid
}

/// The leases that were announced and not read, numbered in that order, with who headed the queue at that time.
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

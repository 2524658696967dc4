//! Combines reads into requests: the part of the observer that knows the cost of requests, and no
//! client and no clock.
//!
//! [`ReadScheduler`] takes reads from a [`Follower`] and combines them into requests. Its rules:
//!
//! **Together.** One request (`multiRead`) takes all waiting reads, up to [`MAX_OPERATIONS`]
//! operations and an expected reply of [`MAX_REQUEST_WEIGHT`]. Expected sizes are learned from
//! earlier replies ([`ExpectedWeights`]); while nothing is known about the nodes, the first
//! requests take few reads.
//!
//! **Under way.** At most [`MAX_REQUESTS_UNDER_WAY`] requests are under way, and fewer when their
//! replies reach the bound on bytes. While others are under way, a request that is not full waits
//! for more reads to join it.
//!
//! **Pace.** While the follower is synced, a request is sent at once as long as the budget of
//! requests allows it ([`ReadPace`]). Otherwise reads are gathered until the budget allows a
//! request or the oldest read is too old. A node that is deleted meanwhile is never read.
//!
//! Two cases wait for no budget: the reading at the start and after a cut, and reads after a
//! semaphore's node was created. The owner of a lease is known only from the sessions, so an unread
//! semaphore node cannot be shown.
//!
//! When more reads wait than fit into one request, the contenders of the open queue come first,
//! then the first contender of each other queue ([`Follower::arrange_reads`]).
//!
//! **One by one.** Where the server does not know `multiRead`, each read is a request of its own,
//! and at most [`MAX_SINGLE_READS_UNDER_WAY`] of them are under way.
//!
//! **Cuts.** A connection that is cut while a `multiRead` is under way may have been cut because of
//! it: the server may not know the request, or the reply was too large for us. Each such cut halves
//! the number of operations in a request, and each complete reading doubles it again. After
//! [`CUTS_BEFORE_SINGLE_READS`] cuts in a row without any answered `multiRead`, nodes are read one
//! by one.

use std::collections::VecDeque;
use std::time::Duration;

use lockscope_model::follow::{Follower, NodeRead, ReadAnswer};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod pace_tests;

/// The bound on the expected size of all replies under way, in bytes: 16 MiB.
const MAX_WEIGHT_UNDER_WAY: u64 = 16 << 20;

/// The bound on the expected size of one reply, in bytes: 2 MiB.
const MAX_REQUEST_WEIGHT: u64 = 2 << 20;

/// The most requests under way at a time: enough to keep a server busy over a slow line.
const MAX_REQUESTS_UNDER_WAY: usize = 32;

/// With this many requests under way, a request that is not full waits for more reads.
const ENOUGH_UNDER_WAY: usize = 2;

/// The most operations in one request. The server runs them in one go, so a small number lets it
/// answer others soon. The reply also stays below [`MAX_REPLY`](crate::zk::MAX_REPLY) when nodes of
/// the largest size follow many that were nearly empty.
const MAX_OPERATIONS: usize = 60;

/// The most requests under way where each read is a request.
const MAX_SINGLE_READS_UNDER_WAY: usize = 256;

/// Cuts in a row while a request for several reads is under way, after which nodes are read one by
/// one.
const CUTS_BEFORE_SINGLE_READS: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// At least one read. A count stands alone.
    pub(super) reads: Vec<NodeRead>,
    /// The expected size of the reply, in bytes.
    weight: u64,
}

impl ReadRequest {
    /// Returns whether the request holds several reads.
    pub fn is_multiple(&self) -> bool {
        self.reads.len() > 1
    }
}

/// Combines reads into requests. See the [module](self).
#[derive(Debug)]
pub struct ReadScheduler {
    /// Whether the server may know requests for several reads.
    together: bool,
    /// Whether this server has answered such a request.
    proven: bool,
    cuts: u32,
    max_operations: usize,
    expected: ExpectedWeights,
    under_way: usize,
    multiple_under_way: usize,
    weight_under_way: u64,
    pace: ReadPace,
    wakes_at: Option<Duration>,
}

impl Default for ReadScheduler {
    fn default() -> Self {
        Self {
            together: true,
            proven: false,
            cuts: 0,
            max_operations: MAX_OPERATIONS,
            expected: ExpectedWeights::default(),
            under_way: 0,
            multiple_under_way: 0,
            weight_under_way: 0,
            pace: ReadPace::default(),
            wakes_at: None,
        }
    }
}

impl ReadScheduler {
    /// Returns whether several reads share a request.
    pub fn reads_together(&self) -> bool {
        self.together
    }

    /// Sends each read as a request of its own from now on.
    pub fn read_one_by_one(&mut self) {
        self.together = false;
    }

    /// Starts over: forgets the requests under way and the expected sizes.
    pub fn begin(&mut self) {
        self.expected = ExpectedWeights::default();
        (self.pace, self.wakes_at) = (ReadPace::default(), None);
        (self.under_way, self.multiple_under_way, self.weight_under_way) = (0, 0, 0);
    }

    /// Records that the connection was cut.
    pub fn cut(&mut self) {
        if self.multiple_under_way > 0 {
            self.cuts += 1;
            self.max_operations = (self.max_operations / 2).max(2);
            self.together &= self.proven || self.cuts < CUTS_BEFORE_SINGLE_READS;
        }
        self.begin();
    }

    /// Records that everything was read on one connection.
    pub fn synced(&mut self) {
        self.cuts = 0;
        self.max_operations = (self.max_operations * 2).min(MAX_OPERATIONS);
    }

    /// Returns the next request to send. Returns `None` when there is nothing to read, or when the
    /// request must wait: for answers, or until [`wakes_at`](Self::wakes_at). `now` is the time
    /// since the connection began.
    pub fn next(&mut self, follower: &mut Follower, now: Duration) -> Option<ReadRequest> {
        self.wakes_at = None;
        if !self.together {
            return self.next_single(follower);
        }
        if !follower.is_synced() {
            return self.next_together(follower, true);
        }
        if follower.waiting() == (0, 0) {
            self.pace.nothing_waits();
            return None;
        }
        let due = self.pace.due(now);
        let urgent = follower.is_urgent();
        if due > now && !urgent {
            self.wakes_at = Some(due);
            return None;
        }
        if follower.waiting().0 > self.max_operations {
            follower.arrange_reads();
        }
        let request = self.next_together(follower, urgent);
        let left = follower.waiting() != (0, 0);
        match request {
            Some(_) => self.pace.sent(now, left),
            None if !left => self.pace.nothing_waits(),
            None => {}
        }
        request
    }

    /// Returns when to call [`next`](Self::next) again if nothing happens before. Set when `next`
    /// returned `None`.
    pub fn wakes_at(&self) -> Option<Duration> {
        self.wakes_at
    }

    fn next_single(&mut self, follower: &mut Follower) -> Option<ReadRequest> {
        if self.under_way >= MAX_SINGLE_READS_UNDER_WAY {
            return None;
        }
        let read = follower.next_read(|_| true)?;
        let request = ReadRequest { weight: self.expected.of(&read), reads: vec![read] };
        self.sent(&request);
        Some(request)
    }

    /// Returns the next request for several reads. With `waits_while_busy`, one that is not full
    /// waits while others are under way, so that more reads gather in it: urgent reads are not
    /// paced, where paced ones have gathered before.
    fn next_together(&mut self, follower: &mut Follower, waits_while_busy: bool) -> Option<ReadRequest> {
        let waits = waits_while_busy && self.under_way >= ENOUGH_UNDER_WAY && !self.fills(follower);
        if waits || self.under_way >= MAX_REQUESTS_UNDER_WAY {
            return None;
        }
        self.gather(|takes| follower.next_read(|read| takes(read)))
    }

    /// Returns the next request for samples. Samples are sent one after the other while nothing
    /// else is read.
    pub fn next_sample(&mut self, waiting: &mut VecDeque<NodeRead>) -> Option<ReadRequest> {
        self.gather(|takes| if takes(waiting.front()?) { waiting.pop_front() } else { None })
    }

    /// Fills a request with as many reads as fit. `next` returns the next read if the given check
    /// accepts it.
    fn gather(&mut self, mut next: impl FnMut(&dyn Fn(&NodeRead) -> bool) -> Option<NodeRead>) -> Option<ReadRequest> {
        let room = MAX_WEIGHT_UNDER_WAY.saturating_sub(self.weight_under_way);
        let bound = MAX_REQUEST_WEIGHT.min(room);
        let max_operations = if self.together { self.max_operations } else { 1 };
        let mut request = ReadRequest { reads: Vec::new(), weight: 0 };
        let mut operations = 0;
        loop {
            let read = next(&|read| {
                let (more, heavier) = (operations + operations_of(read), request.weight + self.expected.of(read));
                if request.reads.is_empty() {
                    // A read whose expected reply exceeds the whole bound is sent alone.
                    heavier <= room || self.under_way == 0
                } else {
                    !is_count(read) && more <= max_operations && heavier <= bound
                }
            });
            let Some(read) = read else { break };
            operations += operations_of(&read);
            request.weight += self.expected.of(&read);
            let stands_alone = is_count(&read);
            request.reads.push(read);
            if stands_alone {
                break;
            }
        }
        (!request.reads.is_empty()).then(|| {
            self.sent(&request);
            request
        })
    }

    /// Returns whether enough reads wait for a full request.
    fn fills(&self, follower: &Follower) -> bool {
        let (nodes, lists) = follower.waiting();
        let weight = nodes as u64 * self.expected.node() + lists as u64 * self.expected.listing();
        nodes + 2 * lists >= self.max_operations || weight >= MAX_REQUEST_WEIGHT
    }

    fn sent(&mut self, request: &ReadRequest) {
        self.under_way += 1;
        self.multiple_under_way += usize::from(request.is_multiple());
        self.weight_under_way += request.weight;
    }

    pub fn answered<'a>(&mut self, request: &ReadRequest, answers: impl Iterator<Item = &'a ReadAnswer>) {
        self.closed(request);
        self.proven |= request.is_multiple();
        self.expected.learn(answers);
    }

    /// Records that a request for several reads was refused as a whole. Returns its reads as
    /// requests of their own, which must be sent.
    pub fn refused(&mut self, request: ReadRequest) -> Vec<ReadRequest> {
        self.closed(&request);
        let single = request.reads.into_iter().map(|read| {
            let single = ReadRequest { weight: self.expected.of(&read), reads: vec![read] };
            self.sent(&single);
            single
        });
        single.collect()
    }

    fn closed(&mut self, request: &ReadRequest) {
        self.under_way = self.under_way.saturating_sub(1);
        self.multiple_under_way = self.multiple_under_way.saturating_sub(usize::from(request.is_multiple()));
        self.weight_under_way = self.weight_under_way.saturating_sub(request.weight);
    }
}

fn is_count(read: &NodeRead) -> bool {
    matches!(read, NodeRead::Count(_))
}

/// Returns the number of operations of a read within a `multiRead`. A listing needs a second
/// operation, because it comes without the stat.
fn operations_of(read: &NodeRead) -> usize {
    match read {
        NodeRead::Node(_) | NodeRead::Count(_) => 1,
        NodeRead::List(_) => 2,
    }
}

/// The most requests for live reads per second, as long as no read waits longer than
/// [`MAX_READ_AGE`].
const REQUESTS_PER_SECOND: u32 = 50;

/// The longest wait of a read while there is room for another request.
const MAX_READ_AGE: Duration = Duration::from_millis(25);

/// The most requests sent at once after a quiet time: on a quiet ensemble each change is seen at
/// once.
const MAX_BURST: u32 = 10;

/// The time in which the budget grows by one request.
const COST: Duration = Duration::from_millis(1000 / REQUESTS_PER_SECOND as u64);

/// Decides when the next request may be sent. Times are since the connection began.
#[derive(Clone, Copy, Debug)]
struct ReadPace {
    /// The unused budget, as time.
    credit: Duration,
    counted_at: Duration,
    /// Since when reads have been waiting.
    waiting_since: Option<Duration>,
}

impl Default for ReadPace {
    fn default() -> Self {
        Self { credit: COST * MAX_BURST, counted_at: Duration::ZERO, waiting_since: None }
    }
}

impl ReadPace {
    /// Returns when a request may be sent for the waiting reads, which may be in the past.
    fn due(&mut self, now: Duration) -> Duration {
        self.count(now);
        let since = *self.waiting_since.get_or_insert(now);
        let affordable = now + COST.saturating_sub(self.credit);
        affordable.min(since + MAX_READ_AGE)
    }

    /// Records a sent request. `left` says whether reads remain.
    fn sent(&mut self, now: Duration, left: bool) {
        self.count(now);
        self.credit = self.credit.saturating_sub(COST);
        if !left {
            self.waiting_since = None;
        }
    }

    /// Records that no reads wait any more.
    fn nothing_waits(&mut self) {
        self.waiting_since = None;
    }

    fn count(&mut self, now: Duration) {
        self.credit = (self.credit + now.saturating_sub(self.counted_at)).min(COST * MAX_BURST);
        self.counted_at = now;
    }
}

/// The assumed size of an unread node, in bytes: the largest node that a server accepts with its
/// default settings.
const UNKNOWN_WEIGHT: u64 = 1 << 20;

/// The size of each answer besides its data and names, in bytes: a header, the stat, a length.
const FRAME: u64 = 81;

/// The expected sizes of the next answers, in bytes, for nodes and listings separately.
///
/// Each is the size of the largest answer in the last reply, but never less than half of the
/// previous expectation. One large node makes the next requests small; they grow again, each to at
/// most twice the size.
#[derive(Clone, Copy, Debug)]
struct ExpectedWeights {
    node: u64,
    listing: u64,
}

impl Default for ExpectedWeights {
    fn default() -> Self {
        Self { node: UNKNOWN_WEIGHT, listing: UNKNOWN_WEIGHT }
    }
}

impl ExpectedWeights {
    /// Returns the estimate for nodes known to be nearly empty.
    #[cfg(test)]
    fn light() -> Self {
        Self { node: FRAME, listing: FRAME }
    }

    /// Returns the expected size of the answer to a read.
    fn of(&self, read: &NodeRead) -> u64 {
        match read {
            NodeRead::Node(_) => self.node,
            NodeRead::List(_) => self.listing,
            NodeRead::Count(_) => FRAME,
        }
    }

    /// Returns the expected size of the next node.
    fn node(&self) -> u64 {
        self.node
    }

    /// Returns the expected size of the next listing.
    fn listing(&self) -> u64 {
        self.listing
    }

    /// Learns from the answers of one reply.
    fn learn<'a>(&mut self, answers: impl Iterator<Item = &'a ReadAnswer>) {
        let (mut node, mut listing) = (None, None);
        for answer in answers {
            let heaviest = match answer {
                ReadAnswer::Node(_) => &mut node,
                ReadAnswer::Children(..) => &mut listing,
                // Such an answer says nothing about nodes that can be read.
                ReadAnswer::Descendants(_) | ReadAnswer::NoNode | ReadAnswer::Refused(_) | ReadAnswer::Unsupported => {
                    continue;
                }
            };
            *heaviest = (*heaviest).max(Some(weight(answer)));
        }
        for (expected, heaviest) in [(&mut self.node, node), (&mut self.listing, listing)] {
            *expected = heaviest.map_or(*expected, |heaviest| heaviest.max(*expected / 2));
        }
    }
}

fn weight(answer: &ReadAnswer) -> u64 {
    let of_data = |length: i32| u64::try_from(length).unwrap_or_default();
    FRAME
        + match answer {
            ReadAnswer::Node(node) => of_data(node.stat.data_length),
            ReadAnswer::Children(names, stat) => {
                names.iter().map(|name| name.len() as u64 + 4).sum::<u64>() + of_data(stat.data_length)
            }
            ReadAnswer::Descendants(_) | ReadAnswer::NoNode | ReadAnswer::Refused(_) | ReadAnswer::Unsupported => 0,
        }
}

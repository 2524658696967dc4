//! Which reads go into one request: the part of the observer that knows what requests cost, and no client and no clock.
//!
//! [`ReadScheduler`] takes reads out of a [`Follower`] and makes requests of them. Its rules:
//!
//! **Together.** One request (`multiRead`) takes as many reads as wait, at most [`MAX_OPERATIONS`] operations, and as many as will
//! not weigh more than [`MAX_REQUEST_WEIGHT`] in the reply. What replies weigh is learned from those that came
//! ([`ExpectedWeights`]); of nodes of which nothing is known the first requests take few.
//!
//! **Under way.** At most [`MAX_REQUESTS_UNDER_WAY`] requests are under way, and no more of them than the bound on the bytes
//! of their replies allows. A request that is not full waits while others are under way, for more reads to join it.
//!
//! **Pace.** While everything is known, a request is sent at once as long as the budget of requests allows it ([`pace`]); else the reads
//! that come are gathered until it does, or until the oldest of them is too old. What is deleted meanwhile is never read. At
//! the start and after a cut nothing is held back, nor when a semaphore's node was created: which lease is whose only the sessions
//! say, so what of it was not read cannot be shown. When more waits than one request takes, the contenders of the queue that
//! somebody looks at come first, then the first contender of each other queue ([`Follower::arrange_reads`]).
//!
//! **One by one.** Where the server does not know `multiRead`, each read is a request of its own, and
//! [`MAX_SINGLE_READS_UNDER_WAY`] of them are under way at most.
//!
//! **Cuts.** A connection that is cut while such a request is under way may have been cut because of it: by a server that does not know it,
//! or since the reply was too large to be taken. So each such cut halves the number of operations of a request, each complete reading
//! doubles it again, and when [`CUTS_BEFORE_SINGLE_READS`] come in a row and no such request was ever answered, reads go
//! one by one.

mod pace;
mod weight;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use self::pace::ReadPace;
use self::weight::ExpectedWeights;
use super::follow::{Follower, NodeRead, ReadAnswer};

/// The bound on what the replies under way are expected to weigh, in bytes: 16 MiB.
pub(super) const MAX_WEIGHT_UNDER_WAY: u64 = 16 << 20;

/// What one reply is expected to weigh at most, in bytes: 2 MiB.
const MAX_REQUEST_WEIGHT: u64 = 2 << 20;

/// Requests under way at the same time: enough to keep a server busy over a slow line.
const MAX_REQUESTS_UNDER_WAY: usize = 32;

/// With so many requests under way, one that is not full waits for more reads.
const ENOUGH_UNDER_WAY: usize = 2;

/// Operations in one request. Few enough that the server, which does them in one go, can answer others soon, and that the reply is not
/// larger than what is taken ([`MAX_REPLY`](crate::zk::MAX_REPLY)) where nodes turn out to be as heavy as a server allows after many that
/// weighed next to nothing.
const MAX_OPERATIONS: usize = 60;

/// The same where each read is a request.
const MAX_SINGLE_READS_UNDER_WAY: usize = 256;

/// How often in a row a connection may be cut while a request for several reads is under way, before they are given up.
const CUTS_BEFORE_SINGLE_READS: u32 = 3;

/// What becomes one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadRequest {
    /// At least one. A count stands alone.
    pub(super) reads: Vec<NodeRead>,
    /// What its reply is expected to weigh, in bytes.
    weight: u64,
}

impl ReadRequest {
    /// Whether it asks for several reads.
    pub(super) fn is_multiple(&self) -> bool {
        self.reads.len() > 1
    }
}

/// Makes requests of reads. See the [module](self).
#[derive(Debug)]
pub(super) struct ReadScheduler {
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
    /// Whether several reads go into one request.
    pub(super) fn reads_together(&self) -> bool {
        self.together
    }

    /// From here on each read is a request of its own.
    pub(super) fn read_one_by_one(&mut self) {
        self.together = false;
    }

    /// All that was under way is dropped, and everything is read anew: nothing is known of what replies weigh.
    pub(super) fn begin(&mut self) {
        self.expected = ExpectedWeights::default();
        (self.pace, self.wakes_at) = (ReadPace::default(), None);
        (self.under_way, self.multiple_under_way, self.weight_under_way) = (0, 0, 0);
    }

    /// The connection was cut.
    pub(super) fn cut(&mut self) {
        if self.multiple_under_way > 0 {
            self.cuts += 1;
            self.max_operations = (self.max_operations / 2).max(2);
            self.together &= self.proven || self.cuts < CUTS_BEFORE_SINGLE_READS;
        }
        self.begin();
    }

    /// Everything was read on one connection.
    pub(super) fn synced(&mut self) {
        self.cuts = 0;
        self.max_operations = (self.max_operations * 2).min(MAX_OPERATIONS);
    }

    /// The next request to send; `None` when there is nothing to read, or when it has to wait: for answers, or until
    /// [`wakes_at`](Self::wakes_at). `now` is the time since the connection began.
    pub(super) fn next(&mut self, follower: &mut Follower, now: Duration) -> Option<ReadRequest> {
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

    /// When [`next`](Self::next) is to be called again, if nothing happens before; it was `None` that it gave last.
    pub(super) fn wakes_at(&self) -> Option<Duration> {
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

    /// `patient`: whether one that is not full waits while others are under way.
    fn next_together(&mut self, follower: &mut Follower, patient: bool) -> Option<ReadRequest> {
        let waits = patient && self.under_way >= ENOUGH_UNDER_WAY && !self.fills(follower);
        if waits || self.under_way >= MAX_REQUESTS_UNDER_WAY {
            return None;
        }
        self.gather(|takes| follower.next_read(|read| takes(read)))
    }

    /// The next request for samples, which are sent one after the other while nothing else is read.
    pub(super) fn next_sample(&mut self, waiting: &mut VecDeque<NodeRead>) -> Option<ReadRequest> {
        self.gather(|takes| if takes(waiting.front()?) { waiting.pop_front() } else { None })
    }

    /// Makes a request of as many reads as fit into it; `next` gives the next one, if that is taken.
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
                    // What is heavier than all that may be under way is read alone.
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

    /// Whether enough reads wait for a full request.
    fn fills(&self, follower: &Follower) -> bool {
        let (nodes, lists) = follower.waiting();
        let weight = nodes as u64 * self.expected.node() + lists as u64 * self.expected.listing();
        nodes + 2 * lists >= self.max_operations || weight >= MAX_REQUEST_WEIGHT
    }

    /// A request is sent.
    fn sent(&mut self, request: &ReadRequest) {
        self.under_way += 1;
        self.multiple_under_way += usize::from(request.is_multiple());
        self.weight_under_way += request.weight;
    }

    /// A request was answered, with these answers.
    pub(super) fn answered<'a>(&mut self, request: &ReadRequest, answers: impl Iterator<Item = &'a ReadAnswer>) {
        self.closed(request);
        self.proven |= request.is_multiple();
        self.expected.learn(answers);
    }

    /// A request for several reads was refused as a whole. Gives its reads as requests of their own, which must be sent.
    pub(super) fn refused(&mut self, request: ReadRequest) -> Vec<ReadRequest> {
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

/// How many operations a read is within a request for several. The stat does not come with a listing: that is the second.
fn operations_of(read: &NodeRead) -> usize {
    match read {
        NodeRead::Node(_) | NodeRead::Count(_) => 1,
        NodeRead::List(_) => 2,
    }
}

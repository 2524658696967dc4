//! The order in which members are tried, and the faults of those tried. Pure, except for random
//! numbers.

use crate::zk::fault::ServerFault;

/// The members in the order in which they are tried, each once in a round.
#[derive(Debug)]
pub(super) struct Round {
    /// The members not tried yet, the next one at the end.
    waiting: Vec<usize>,
    /// The fault of each member that was tried, by its index in the connect string.
    faults: Vec<Option<ServerFault>>,
}

impl Round {
    /// Starts the first round of `members` members.
    pub(super) fn new(members: usize) -> Self {
        let mut round = Self { waiting: Vec::new(), faults: vec![None; members] };
        round.begin(None);
        round
    }

    /// Starts a new round in random order. If `last` is given, that member is tried last.
    pub(super) fn begin(&mut self, last: Option<usize>) {
        self.waiting = (0..self.faults.len()).filter(|member| Some(*member) != last).collect();
        fastrand::shuffle(&mut self.waiting);
        if let Some(last) = last {
            self.waiting.insert(0, last);
        }
        self.faults.fill(None);
    }

    /// Returns the next member to try; `None` when all have been tried.
    pub(super) fn next(&mut self) -> Option<usize> {
        self.waiting.pop()
    }

    /// Puts back a member that could not be tried completely: it is tried again first.
    pub(super) fn put_back(&mut self, member: usize) {
        self.waiting.push(member);
    }

    /// Returns whether all members have been tried.
    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Records that the member gave no session, or none that lasted.
    pub(super) fn fail(&mut self, member: usize, fault: ServerFault) {
        if let Some(known) = self.faults.get_mut(member) {
            *known = Some(fault);
        }
    }

    /// Returns the faults of the members tried, by their index in the connect string.
    pub(super) fn faults(&self) -> impl Iterator<Item = (usize, &ServerFault)> {
        self.faults.iter().enumerate().filter_map(|(member, fault)| Some((member, fault.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_is_tried_once_and_the_last_one_last() {
        let mut round = Round::new(3);
        round.begin(Some(1));
        let mut tried: Vec<usize> = std::iter::from_fn(|| round.next()).collect();
        assert_eq!(tried[2], 1);
        tried.sort_unstable();
        assert_eq!(tried, [0, 1, 2]);
        assert!(round.is_over());
        round.put_back(2);
        assert_eq!((round.next(), round.next()), (Some(2), None));
    }

    #[test]
    fn faults_are_kept_until_the_next_round() {
        let mut round = Round::new(2);
        round.fail(1, ServerFault::Refused);
        assert_eq!(round.faults().collect::<Vec<_>>(), [(1, &ServerFault::Refused)]);
        round.begin(None);
        assert_eq!(round.faults().count(), 0);
    }
}

//! Which member of the ensemble is tried next, and what was the matter with those before. Pure, but for the dice.

use crate::zk::fault::ServerFault;

/// The members in the order in which they are tried, each once in a round.
#[derive(Debug)]
pub(super) struct Round {
    /// Who has not been tried, the next at the end.
    waiting: Vec<usize>,
    /// What was the matter with each member that was tried, by its place in the connect string.
    faults: Vec<Option<ServerFault>>,
}

impl Round {
    /// A first round of so many members.
    pub(super) fn new(members: usize) -> Self {
        let mut round = Self { waiting: Vec::new(), faults: vec![None; members] };
        round.begin(None);
        round
    }

    /// Begins anew, in random order; a member that is given comes last.
    pub(super) fn begin(&mut self, last: Option<usize>) {
        self.waiting = (0..self.faults.len()).filter(|member| Some(*member) != last).collect();
        fastrand::shuffle(&mut self.waiting);
        if let Some(last) = last {
            self.waiting.insert(0, last);
        }
        self.faults.fill(None);
    }

    /// The member to be tried next; `None` when all have been tried.
    pub(super) fn next(&mut self) -> Option<usize> {
        self.waiting.pop()
    }

    /// The member could not be tried to the end: it is tried again first.
    pub(super) fn put_back(&mut self, member: usize) {
        self.waiting.push(member);
    }

    /// Whether all have been tried.
    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The member gave no session, or none that lasted.
    pub(super) fn fail(&mut self, member: usize, fault: ServerFault) {
        if let Some(known) = self.faults.get_mut(member) {
            *known = Some(fault);
        }
    }

    /// What is the matter with those that have been tried, by their place in the connect string.
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

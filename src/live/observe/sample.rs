//! Sampling during an overload: which lock parents are read, and when. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use lockscope_base::znode::ZnodePath;
use lockscope_model::follow::{Follower, NodeRead};

/// The time between the beginnings of two sampling rounds.
pub(super) const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Parents read in one round: about as many as the budget of live reads allows in a second.
pub(super) const MAX_SAMPLED_PARENTS: usize = 3_000;

/// Reads the parents in turn, so that each is read equally often.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    /// The parents in the order in which they are read next.
    parents: VecDeque<ZnodePath>,
    open: Option<ZnodePath>,
    last: Option<ZnodePath>,
}

impl Sampler {
    /// Starts with the parents known now and continues where the last rounds ended. The parent of
    /// the open queue is read in each round.
    pub(super) fn begin(&mut self, follower: &Follower) {
        self.open = follower.open_queue().filter(|open| follower.parents().any(|parent| parent == *open)).cloned();
        let others = follower.parents().filter(|parent| self.open.as_ref() != Some(parent));
        let mut parents: Vec<ZnodePath> = others.cloned().collect();
        parents.sort_unstable();
        let done = self.last.as_ref().map_or(0, |last| parents.partition_point(|parent| parent <= last));
        parents.rotate_left(done);
        self.parents = parents.into();
    }

    /// Returns the reads of the next round.
    pub(super) fn next_round(&mut self) -> VecDeque<NodeRead> {
        let count = self.parents.len().min(MAX_SAMPLED_PARENTS);
        let turn: Vec<ZnodePath> = self.parents.range(..count).cloned().collect();
        self.parents.rotate_left(count);
        self.last = turn.last().cloned().or(self.last.take());
        self.open.iter().cloned().chain(turn).map(NodeRead::Node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;
    use lockscope_base::znode::{Timestamp, ZnodeStat, Zxid};
    use lockscope_model::follow::{ReadAnswer, WatchStyle};

    /// Returns a follower that knows `locks` lock parents.
    fn follower(locks: usize) -> Follower {
        let root = path("/locks");
        let mut follower = Follower::new(std::slice::from_ref(&root), &[]);
        follower.begin(WatchStyle::Recursive);
        let stat = ZnodeStat::of_new(Zxid(1), Timestamp(0), None);
        while let Some(read) = follower.next_read(|_| true) {
            let answer = match &read {
                NodeRead::List(path) if *path == root => {
                    ReadAnswer::Children((0..locks).map(|lock| format!("l{lock:05}")).collect(), stat)
                }
                NodeRead::List(_) => ReadAnswer::Children(vec!["lock-0000000000".to_owned()], stat),
                NodeRead::Count(_) => ReadAnswer::Descendants(2 * locks),
                NodeRead::Node(_) => ReadAnswer::NoNode,
            };
            follower.answer(&read, answer);
        }
        follower
    }

    #[test]
    fn every_parent_is_sampled_even_when_sampling_restarts() {
        let parents = 2 * MAX_SAMPLED_PARENTS + 500;
        let (follower, mut sampler) = (follower(parents - 1), Sampler::default());
        let mut read = std::collections::BTreeSet::new();
        for _ in 0..3 {
            sampler.begin(&follower);
            let round = sampler.next_round();
            assert_eq!(round.len(), MAX_SAMPLED_PARENTS);
            read.extend(round.iter().map(|read| read.path().clone()));
        }
        assert_eq!(read.len(), parents);
        assert_eq!(sampler.next_round().len(), MAX_SAMPLED_PARENTS);
    }

    #[test]
    fn the_open_queue_is_sampled_in_every_round() {
        let (mut follower, mut sampler) = (follower(2 * MAX_SAMPLED_PARENTS), Sampler::default());
        let open = path("/locks/l05999");
        follower.set_open_queue(Some(open.clone()));
        sampler.begin(&follower);
        for _ in 0..3 {
            assert_eq!(sampler.next_round()[0], NodeRead::Node(open.clone()));
        }
    }
}

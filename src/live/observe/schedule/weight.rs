//! What replies weigh: learned from those that came, to foretell the next.

use crate::observe::follow::{NodeRead, ReadAnswer};

/// What the read of a node is taken to weigh while nothing is known, in bytes: the most that a server takes with its default
/// settings.
pub(super) const UNKNOWN_WEIGHT: u64 = 1 << 20;

/// What each answer weighs besides its data and its names, in bytes: a head, the stat, a length.
const FRAME: u64 = 81;

/// What the next replies are expected to weigh, in bytes: nodes and listings apart.
///
/// Each is the weight of the heaviest answer of the last reply, but never less than half of what was expected before it: one heavy node
/// makes the next requests small, and they grow again, each to at most twice the size.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedWeights {
    node: u64,
    listing: u64,
}

impl Default for ExpectedWeights {
    fn default() -> Self {
        Self { node: UNKNOWN_WEIGHT, listing: UNKNOWN_WEIGHT }
    }
}

impl ExpectedWeights {
    /// Those of nodes that are known to weigh next to nothing.
    #[cfg(test)]
    pub(super) fn light() -> Self {
        Self { node: FRAME, listing: FRAME }
    }

    /// What the answer to a read will weigh, as far as that can be known.
    pub(super) fn of(&self, read: &NodeRead) -> u64 {
        match read {
            NodeRead::Node(_) => self.node,
            NodeRead::List(_) => self.listing,
            NodeRead::Count(_) => FRAME,
        }
    }

    /// What the next read of a node will weigh.
    pub(super) fn node(&self) -> u64 {
        self.node
    }

    /// What the next listing will weigh.
    pub(super) fn listing(&self) -> u64 {
        self.listing
    }

    /// Learns from the answers that came in one reply.
    pub(super) fn learn<'a>(&mut self, answers: impl Iterator<Item = &'a ReadAnswer>) {
        let (mut node, mut listing) = (None, None);
        for answer in answers {
            let heaviest = match answer {
                ReadAnswer::Node(_) => &mut node,
                ReadAnswer::Children(..) => &mut listing,
                // Such an answer says nothing of nodes that can be read.
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

//! Estimates the size of replies from the sizes of earlier ones.

use lockscope_model::follow::{NodeRead, ReadAnswer};

/// The assumed size of an unread node, in bytes: the largest node that a server accepts with its
/// default settings.
pub(super) const UNKNOWN_WEIGHT: u64 = 1 << 20;

/// The size of each answer besides its data and names, in bytes: a header, the stat, a length.
const FRAME: u64 = 81;

/// The expected sizes of the next answers, in bytes, for nodes and listings separately.
///
/// Each is the size of the largest answer in the last reply, but never less than half of the
/// previous expectation. One large node makes the next requests small; they grow again, each to at
/// most twice the size.
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
    /// Returns the estimate for nodes known to be nearly empty.
    #[cfg(test)]
    pub(super) fn light() -> Self {
        Self { node: FRAME, listing: FRAME }
    }

    /// Returns the expected size of the answer to a read.
    pub(super) fn of(&self, read: &NodeRead) -> u64 {
        match read {
            NodeRead::Node(_) => self.node,
            NodeRead::List(_) => self.listing,
            NodeRead::Count(_) => FRAME,
        }
    }

    /// Returns the expected size of the next node.
    pub(super) fn node(&self) -> u64 {
        self.node
    }

    /// Returns the expected size of the next listing.
    pub(super) fn listing(&self) -> u64 {
        self.listing
    }

    /// Learns from the answers of one reply.
    pub(super) fn learn<'a>(&mut self, answers: impl Iterator<Item = &'a ReadAnswer>) {
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

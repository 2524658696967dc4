//! Clients that wait for each other over several ensembles: what one of these ensembles is told of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};

/// Why two clients of different ensembles count as one, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SameClient {
    /// They have the same name and the same host.
    NameAndHost,
    /// They have the same name, and the host of one of them is not known.
    Name,
    /// They have the same host, and neither has a name.
    Host,
}

impl SameClient {
    /// All, the surest first.
    pub const ALL: [Self; 3] = [Self::NameAndHost, Self::Name, Self::Host];

    /// Returns what the clients have in common, as a part of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::NameAndHost => "by name and host",
            Self::Name => "by name alone",
            Self::Host => "by host alone",
        }
    }
}

/// A lock of one of several ensembles, and a client's node in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CrossNode {
    /// The name of the ensemble's context.
    pub ensemble: Arc<str>,
    /// The lock's path.
    pub path: ZnodePath,
    /// The queue's name; `None` where the parent has one queue.
    pub name: Option<Arc<str>>,
    /// The client's node.
    pub node: Arc<str>,
    /// The transaction that created the node: another node may have its name later.
    pub czxid: Zxid,
}

/// One client of a cycle: it holds a lock, and waits for one that the next client holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CrossStep {
    /// The client as the ensemble knows it in which it holds, for a sentence.
    pub client: String,
    /// The node by which it holds.
    pub holds: CrossNode,
    /// The node by which it waits.
    pub awaits: CrossNode,
}

/// Clients that wait for each other over several ensembles.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CrossCycle {
    /// How sure it is that the clients are the same in all ensembles.
    pub same: SameClient,
    /// Whether one of the locks may be an election, whose candidates only stand by.
    pub has_election: bool,
    /// Since when all of them have waited and held, by this machine's clock.
    pub since: Timestamp,
    /// The client of each step waits for the lock that the next one holds, the last for the first's.
    pub steps: Vec<CrossStep>,
}

/// The cycles over several ensembles in which an ensemble takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossWaits {
    /// When the ensembles were compared, by this machine's clock.
    pub at: Timestamp,
    /// The name of this ensemble's context.
    pub ensemble: Arc<str>,
    /// The cycles.
    pub cycles: Vec<CrossCycle>,
}

impl CrossWaits {
    /// Returns the memory that this takes, in bytes.
    pub fn memory(&self) -> u64 {
        let of_node = |node: &CrossNode| node.path.as_str().len() + node.node.len() + node.ensemble.len();
        let of_step = |step: &CrossStep| {
            size_of::<CrossStep>() + step.client.len() + of_node(&step.holds) + of_node(&step.awaits)
        };
        let of_cycle = |cycle: &CrossCycle| size_of::<CrossCycle>() + cycle.steps.iter().map(of_step).sum::<usize>();
        (size_of::<Self>() + self.cycles.iter().map(of_cycle).sum::<usize>()) as u64
    }
}

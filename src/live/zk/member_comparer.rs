//! Compares the trees of the members.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::sleep;

use super::ConnectOptions;
use super::connect_string::BadConnectString;
use super::member_trees::MemberSessions;
use lockscope_base::time::now;
use lockscope_base::znode::ZnodePath;
use lockscope_model::members::{ComparedNodes, MemberReading, NodesSeen, differences, lasting, suspects};
use lockscope_model::server_view::{ComparedMember, Difference, MemberComparison};

/// How long to wait until a difference is read again. Members apply a transaction within
/// milliseconds.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Compares the chosen nodes on each member of the connect string, with at most `pace` requests a
/// second to each.
///
/// A difference counts only if two further readings show it. Takes some seconds; a member that does
/// not answer is named. Cancel safe: the sessions then end by their timeout.
///
/// # Errors
///
/// Returns an error if the connect string cannot be used.
pub async fn compare_members(
    options: &ConnectOptions,
    nodes: &ComparedNodes,
    pace: u32,
) -> Result<MemberComparison, BadConnectString> {
    let mut comparer = Comparer { sessions: MemberSessions::connect(options, pace).await?, members: Vec::new() };
    let differences = comparer.compare(nodes).await;
    comparer.sessions.close().await;
    let (members, parents) = (comparer.members, nodes.parents.len());
    Ok(MemberComparison { at: now(), members, differences, parents, left_out: nodes.left_out })
}

struct Comparer {
    sessions: MemberSessions,
    members: Vec<ComparedMember>,
}

impl Comparer {
    /// Returns the differences that all readings show.
    async fn compare(&mut self, chosen: &ComparedNodes) -> Vec<Difference> {
        let first = self.sessions.children(&chosen.parents).await;
        self.note(&first);
        let mut suspected = suspects(&first);
        suspected.extend(chosen.single_nodes.iter().cloned());
        let second = self.read_again(&suspected, chosen).await;
        let suspected = second.iter().map(|difference| difference.path.clone()).collect();
        let mut third = self.read_again(&suspected, chosen).await;
        third.retain(|difference| second.contains(difference));
        third
    }

    /// Reads the suspected nodes after a moment, and returns the differences.
    async fn read_again(&mut self, suspected: &BTreeSet<ZnodePath>, chosen: &ComparedNodes) -> Vec<Difference> {
        if suspected.is_empty() {
            return Vec::new();
        }
        sleep(READ_AGAIN_AFTER).await;
        let mut nodes: Vec<MemberReading<NodesSeen>> = self.sessions.nodes(suspected).await;
        self.note(&nodes);
        nodes.sort_by_key(|reading| Some(&reading.member) != chosen.leader.as_ref());
        lasting(suspected, differences(&nodes))
    }

    /// Notes the members that were read, and the first reason why one was not.
    fn note<T>(&mut self, readings: &[MemberReading<T>]) {
        for MemberReading { member, seen } in readings {
            let error = seen.as_ref().err().cloned();
            match self.members.iter_mut().find(|known| known.address == *member) {
                Some(known) => known.error = known.error.take().or(error),
                None => self.members.push(ComparedMember { address: member.clone(), error }),
            }
        }
    }
}

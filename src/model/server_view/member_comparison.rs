//! The result of a comparison of the members' trees.

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};

/// A node that one member has and most others have not, or the reverse, or another one of the same
/// path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Difference {
    /// The node's path.
    pub path: ZnodePath,
    /// The member that differs from the others.
    pub member: String,
    /// Whether that member has a node at the path.
    pub has: bool,
    /// The transaction that created the node: of that member's node, or else of the others'.
    pub czxid: Option<Zxid>,
}

/// Whether a member's nodes could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedMember {
    /// The member's address.
    pub address: String,
    /// The first reason why the member was not read, as a part of a sentence.
    pub error: Option<String>,
}

/// What the members of the connect string showed of the same nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberComparison {
    /// When the last reading ended, by this machine's clock.
    pub at: Timestamp,
    /// The members that were to be read.
    pub members: Vec<ComparedMember>,
    /// The differences that lasted over two readings, ordered by path.
    pub differences: Vec<Difference>,
    /// The number of nodes whose children were compared.
    pub parents: usize,
    /// The number of nodes that were left out, because there are too many.
    pub left_out: usize,
}

impl MemberComparison {
    /// Returns the memory of the comparison, in bytes.
    pub fn memory(&self) -> u64 {
        let of_member = |member: &ComparedMember| member.address.len() + member.error.as_ref().map_or(0, String::len);
        let of_difference = |difference: &Difference| difference.path.as_str().len() + difference.member.len();
        let texts = self.members.iter().map(of_member).chain(self.differences.iter().map(of_difference)).sum::<usize>();
        let parts = size_of_val(&*self.members) + size_of_val(&*self.differences);
        (size_of::<Self>() + texts + parts) as u64
    }

    /// Returns the differences in a node itself.
    pub fn of(&self, path: &ZnodePath) -> &[Difference] {
        let from = self.differences.partition_point(|difference| difference.path < *path);
        let found = &self.differences[from..];
        &found[..found.partition_point(|difference| difference.path == *path)]
    }

    /// Returns the differences in the children of a node.
    pub fn below(&self, parent: &ZnodePath) -> Vec<&Difference> {
        // A path sorts before those below it, but names with a lower character than the slash lie
        // between them.
        let from = self.differences.partition_point(|difference| difference.path <= *parent);
        let near = self.differences[from..].iter();
        let near = near.take_while(|difference| difference.path.as_str().starts_with(parent.as_str()));
        near.filter(|difference| difference.path.parent().as_ref() == Some(parent)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;

    #[test]
    fn the_differences_of_a_node_and_of_its_children_are_found_among_others() {
        let mut differences: Vec<Difference> =
            ["/", "/a", "/l", "/l", "/l-1", "/l/x", "/l/x/y", "/l/z", "/m/x"].map(difference).into();
        differences.sort();
        let compared = MemberComparison { at: Timestamp(0), members: Vec::new(), differences, parents: 1, left_out: 0 };
        assert_eq!((compared.of(&path("/l")).len(), compared.of(&path("/l/q")).len()), (2, 0));
        let below = |at: &str| -> Vec<String> {
            compared.below(&path(at)).into_iter().map(|found| found.path.to_string()).collect()
        };
        assert_eq!(below("/l"), ["/l/x", "/l/z"]);
        assert_eq!(below("/"), ["/a", "/l", "/l", "/l-1"]);
        assert_eq!(below("/q"), [""; 0]);
    }

    fn difference(at: &str) -> Difference {
        Difference { path: path(at), member: "zk1:2181".to_owned(), has: true, czxid: None }
    }
}

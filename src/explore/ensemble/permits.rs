//! What the servers permit to a session, and what they do not know.

use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::{Owner, Tree};

use super::member;
use super::request::{Answer, ReadOp, WriteOp};
use super::write::Refused;

/// What differs from servers that permit everything to everybody.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct Permits {
    /// Only its owner may read and write an ephemeral node.
    pub private: bool,
    /// The node that nobody may write.
    pub fixed: Option<&'static str>,
    /// The servers know neither recursive watches nor batches of reads.
    pub old_servers: bool,
}

impl Permits {
    /// Answers a read from a tree, if it is permitted. To look at a node needs no permission.
    pub(super) fn read(self, tree: &Tree, session: i64, read: &ReadOp) -> Result<Answer, ErrorCode> {
        match read {
            ReadOp::Data(path) if self.is_closed(tree, session, path) => Err(ErrorCode::NoAuth),
            _ => member::read(tree, read),
        }
    }

    /// Refuses writes to the data of a node that are not permitted. A deletion needs the permission
    /// of the parent, which everybody has.
    pub(super) fn check(self, tree: &Tree, session: i64, writes: &[WriteOp]) -> Result<(), Refused> {
        let is_refused = |write: &WriteOp| match write {
            WriteOp::SetData { path, .. } => self.is_closed(tree, session, path) || self.fixed == Some(&**path),
            _ => false,
        };
        writes.iter().position(is_refused).map_or(Ok(()), |index| Err((index, ErrorCode::NoAuth)))
    }

    fn is_closed(self, tree: &Tree, session: i64, path: &str) -> bool {
        let is_others = |owner: &Owner| matches!(owner, Owner::Session(owner) if *owner != session);
        self.private && tree.node(path).is_ok_and(|node| is_others(&node.owner))
    }
}

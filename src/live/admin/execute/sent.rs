//! The requests that a run handed to the client library, and what is known about them. The reported
//! result depends on nothing else.
//!
//! [`Raise`] is one of them: it raises the data version of a node by writes that change nothing
//! else.

use zookeeper_client::{Error, MultiWriteError, MultiWriteResult, Stat};

use super::super::Action;
use super::super::plan::{MAX_RAISE_BYTES, MAX_RAISES, MIN_RAISES};
use super::{Ending, NodeOutcome};
use crate::admin::PlannedNode;
use lockscope_base::znode::ZnodePath;
use lockscope_requests::{Reply, Requests, Write};

/// A deletion without an answer so far: it may be on its way, or its reply may be lost.
#[derive(Clone, Copy, Debug)]
pub enum UnansweredDeletion {
    /// Only the node's absence could show that the deletion was carried out.
    Plain,
    /// The deletion would also have raised the version of this parent.
    WithParent { czxid: i64, version: i32 },
}

/// The requests that were handed to the client library and are not known to have failed.
#[derive(Debug, Default)]
pub struct Sent {
    /// The deletion without an answer.
    pub deletion: Option<UnansweredDeletion>,
    /// The raise of a version, or the revocation, without an answer.
    pub raise: Option<Raise>,
    /// A raise whose reply was lost, and which had not arrived at the next read. A late attempt of
    /// the client library to connect can still bring it to the leader.
    pub late_raise: Option<Raise>,
    /// The node whose version was raised.
    pub raised: Option<ZnodePath>,
    /// Whether another owner's data were replaced, or may have been.
    pub overwritten: bool,
}

impl Sent {
    /// Returns the result if the work ends now for a reason other than the node's state.
    pub fn cut_off(&self, action: Action, why: &str) -> Ending {
        let why = why.to_owned();
        match action {
            Action::Delete if self.deletion.is_some() => Ending::NotKnown { action, why },
            Action::Revoke if self.raise.is_some() => Ending::NotKnown { action, why },
            _ => Ending::NotDone { action, why },
        }
    }

    /// Returns the outcome for a node, including other changes that the work made.
    pub fn outcome(self, node: &PlannedNode, action: Action, ending: Ending) -> NodeOutcome {
        let raising = self.raise.filter(|_| action == Action::Delete);
        let unanswered = raising.as_ref().and_then(|raise| ZnodePath::new(&raise.path).ok());
        NodeOutcome {
            raised: self.raised.or(unanswered).filter(|_| !ending.is_done()),
            overwritten: self.overwritten || raising.is_some(),
            ..NodeOutcome::new(node, ending)
        }
    }
}

/// A request that writes the same data several times, each on the condition of the version before
/// it.
#[derive(Clone, Debug)]
pub struct Raise {
    pub path: String,
    /// The creating transaction of the intended node.
    pub czxid: i64,
    pub data: Vec<u8>,
    /// The version that the node must have.
    pub version: i32,
    pub times: i32,
    /// The node that had the name right before the write, with its data, if it was read.
    pub read: Option<(Vec<u8>, Stat)>,
}

/// The result of raising a version.
pub enum Raised {
    /// The intended node has this version. `behind` is the result of the read sent right after the
    /// write.
    At { version: i32, behind: Result<Option<Stat>, Error> },
    /// Nothing was written, since something changed.
    Again,
    /// Another node had the name and got the data. Its own data were restored if possible.
    Other(Stat),
    /// The server refuses the write, for lack of a permission or for another lasting reason.
    Refused(Error),
}

/// Returns the total number of raises, and the number that one request with these data carries.
pub fn counts(data: &[u8]) -> (i32, i32) {
    let times = fastrand::i32(MIN_RAISES..=MAX_RAISES);
    let at_once = i32::try_from(MAX_RAISE_BYTES / data.len().max(1)).unwrap_or(MAX_RAISES);
    (times, at_once.clamp(1, times))
}

impl Raise {
    /// Returns the version after the raise. It wraps like the servers' counter.
    pub fn reached(&self) -> i32 {
        self.version.wrapping_add(self.times)
    }

    /// Hands the write to the client library. `check` is the version that another node must have.
    pub fn write<'a>(&self, client: &'a dyn Requests, check: Option<(&str, i32)>) -> Reply<'a, Stat, MultiWriteError> {
        let set = |raised| Write::SetData(&self.path, &self.data, Some(self.version.wrapping_add(raised)));
        let check = check.map(|(path, version)| Write::Check(path, version));
        let writes: Vec<Write<'_>> = (0..self.times).map(set).chain(check).collect();
        let reply = client.write(&writes);
        Box::pin(async move {
            let mut results = reply.await?.into_iter().rev();
            results
                .find_map(|result| if let MultiWriteResult::SetData { stat } = result { Some(stat) } else { None })
                .ok_or_else(|| Error::UnexpectedError("a write was not answered".to_owned()).into())
        })
    }

    /// Returns the data that another node had before the write, if they were read. Data of another
    /// version are older: somebody has written since, and the write has hit that.
    pub fn data_of(&self, other: &Stat) -> Option<&[u8]> {
        let is_hit = |read: &Stat| read.czxid == other.czxid && read.version == self.version;
        self.read.as_ref().filter(|(_, read)| is_hit(read)).map(|(data, _)| data.as_slice())
    }

    /// Returns whether this write explains the version from which a later one of the same data
    /// starts.
    pub fn has_come_before(&self, later: &Self) -> bool {
        (&self.path, self.czxid, &self.data) == (&later.path, later.czxid, &later.data)
            && self.reached() == later.version
    }

    /// Returns whether another node's present data can be those of this write, whose reply was
    /// lost.
    pub fn may_have_hit(&self, data: &[u8], other: &Stat) -> bool {
        // A later write has already replaced the data.
        other.mzxid != other.czxid && other.version == self.reached() && data == self.data
    }
}

/// Returns whether an error is the server's answer to a change, so that the change was not made.
pub fn is_answer(error: &Error) -> bool {
    matches!(
        error,
        Error::NoNode
            | Error::NoAuth
            | Error::BadVersion
            | Error::NotEmpty
            | Error::NoChildrenForEphemerals
            | Error::NotReadOnly
            | Error::QuotaExceeded
            | Error::Throttled
            | Error::Unimplemented
            | Error::BadArguments(_)
            | Error::RuntimeInconsistent
    )
}

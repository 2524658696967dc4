//! Transactions: the entry of a log's record, its header, its body, and the parts of bodies.

use std::borrow::Cow;

use crate::disk::file::NodeKind;
use crate::wire::{ErrorCode, Malformed, Reader, op};
use crate::znode::{SessionId, Timestamp, Zxid};

#[cfg(test)]
mod tests;

/// The contents of a record.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The head.
    pub header: TxnHeader,
    /// What it does.
    pub txn: Txn<'a>,
    /// The digest behind it, if the server wrote one.
    pub digest: Option<TxnDigest>,
}

impl<'a> Entry<'a> {
    /// Decodes an entry. All parts of it are checked, so that walking through them cannot fail.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(bytes);
        let header = TxnHeader::read(&mut from)?;
        let txn = Txn::read(header.op, header.session, &mut from)?;
        let digest = if matches!(txn, Txn::Other(_)) { None } else { TxnDigest::read(from) };
        Ok(Self { header, txn, digest })
    }
}

/// The head of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnHeader {
    /// The session that asked for it, or that it begins or ends.
    pub session: SessionId,
    /// The number of the client's request; 0 if the servers began it.
    pub cxid: i32,
    /// The id of the transaction.
    pub zxid: Zxid,
    /// The time of the leader's clock.
    pub time: Timestamp,
    /// The type: a number of [`op`].
    pub op: i32,
}

impl TxnHeader {
    /// The size of the head, in bytes.
    pub const BYTES: usize = 8 + 4 + 8 + 8 + 4;

    /// Returns whether the servers end a session whose client was silent for too long. A client
    /// that closes its session does so by a request of its own.
    pub fn is_expiry(&self) -> bool {
        self.op == op::CLOSE_SESSION && self.cxid == 0
    }

    /// Reads a head.
    pub fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            session: SessionId(from.long()?),
            cxid: from.int()?,
            zxid: Zxid(from.long()?),
            time: Timestamp(from.long()?),
            op: from.int()?,
        })
    }
}

/// A digest of the whole tree after a transaction, from 3.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnDigest {
    /// The way in which it was made.
    pub version: i32,
    /// The digest.
    pub digest: i64,
}

impl TxnDigest {
    /// The size of a digest, in bytes.
    const BYTES: usize = 4 + 8;

    /// Reads what follows a body. Servers ignore bytes that are no digest, and so does this.
    fn read(mut from: Reader<'_>) -> Option<Self> {
        Some(Self { version: from.int().ok()?, digest: from.long().ok()? })
    }
}

/// What a transaction does.
#[derive(Clone, Debug)]
pub enum Txn<'a> {
    /// Creates a node.
    Create(CreateTxn<'a>),
    /// Deletes a node.
    Delete {
        /// The node's path.
        path: Cow<'a, str>,
        /// Whether the servers delete an empty container, or a TTL node whose time is over.
        by_servers: bool,
    },
    /// Writes a node's data.
    SetData {
        /// The node's path.
        path: Cow<'a, str>,
        /// The data.
        data: &'a [u8],
        /// The node's `version` afterwards.
        version: i32,
    },
    /// Writes a node's ACL.
    SetAcl {
        /// The node's path.
        path: Cow<'a, str>,
        /// The ACL.
        acl: Acl<'a>,
        /// The node's `aversion` afterwards.
        version: i32,
    },
    /// Checks a node's version, as part of a [`MultiTxn`].
    Check {
        /// The node's path.
        path: Cow<'a, str>,
        /// The version.
        version: i32,
    },
    /// Does several things at once, or none of them.
    Multi(MultiTxn<'a>),
    /// Changes the members of the ensemble, which stand in the data of a node.
    Reconfig {
        /// The node's path, `/zookeeper/config`.
        path: Cow<'a, str>,
        /// The members.
        data: &'a [u8],
        /// The version of the members' list.
        version: i32,
    },
    /// Refuses a request, or a part of a [`MultiTxn`], with this number of an
    /// [`ErrorCode`].
    Error(i32),
    /// Begins a session.
    CreateSession {
        /// The session's timeout, in milliseconds.
        timeout: i32,
    },
    /// Ends a session, and deletes its ephemeral nodes.
    CloseSession {
        /// The nodes; `None` before 3.6, where they are those that the session owns.
        deleted: Option<Paths<'a>>,
    },
    /// Has a type that is not known.
    Other(i32),
}

/// The creation of a node.
#[derive(Clone, Debug)]
pub struct CreateTxn<'a> {
    /// The node's path, with the number of a sequential node.
    pub path: Cow<'a, str>,
    /// The node's data.
    pub data: &'a [u8],
    /// The node's ACL.
    pub acl: Acl<'a>,
    /// What makes the node go.
    pub kind: NodeKind,
    /// How many children the parent has ever had, this one included. A sequential node's number is
    /// one less. `None` in files from before 3.4.
    ///
    /// A server's answers have another `cversion`, which counts deletions, too: twice this number,
    /// less the number of children.
    pub parent_cversion: Option<i32>,
}

impl<'a> Txn<'a> {
    /// Returns whether a create was refused because its node existed. No other request fails so.
    pub fn is_refused_as_existing(&self) -> bool {
        let code = match self {
            Self::Error(code) => Some(*code),
            Self::Multi(multi) => multi.failure(),
            _ => None,
        };
        code == Some(ErrorCode::NodeExists.number())
    }

    /// Reads the body of a transaction of this session.
    fn read(kind: i32, session: SessionId, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            op::MULTI => Self::Multi(MultiTxn::read(session, from)?),
            op::CREATE_SESSION => Self::CreateSession { timeout: from.int()? },
            op::CLOSE_SESSION => Self::CloseSession { deleted: closed(from) },
            _ => Self::read_part(kind, session, from)?,
        })
    }

    /// Reads the body of a transaction that can be part of another.
    fn read_part(kind: i32, session: SessionId, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            op::CREATE | op::CREATE2 | op::CREATE_CONTAINER | op::CREATE_TTL => {
                Self::Create(CreateTxn::read(kind, session, from)?)
            }
            op::DELETE => Self::Delete { path: from.some_text()?, by_servers: false },
            op::DELETE_CONTAINER => Self::Delete { path: from.some_text()?, by_servers: true },
            op::SET_DATA => Self::SetData { path: from.some_text()?, data: data(from)?, version: from.int()? },
            op::RECONFIG => Self::Reconfig { path: from.some_text()?, data: data(from)?, version: from.int()? },
            op::SET_ACL => Self::SetAcl { path: from.some_text()?, acl: Acl::read(from)?, version: from.int()? },
            op::CHECK => Self::Check { path: from.some_text()?, version: from.int()? },
            op::ERROR => Self::Error(from.int()?),
            _ => Self::Other(kind),
        })
    }
}

impl<'a> CreateTxn<'a> {
    fn read(kind: i32, session: SessionId, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (path, data, acl) = (from.some_text()?, data(from)?, Acl::read(from)?);
        let is_ephemeral = matches!(kind, op::CREATE | op::CREATE2) && from.bool()?;
        let parent_cversion = match kind {
            // Before 3.4, the body ends here.
            op::CREATE => from.int().ok(),
            _ => Some(from.int()?),
        };
        let kind = match kind {
            op::CREATE_CONTAINER => NodeKind::Container,
            op::CREATE_TTL => NodeKind::of_ttl(from.long()?),
            _ if is_ephemeral => NodeKind::Ephemeral(session),
            _ => NodeKind::Persistent,
        };
        Ok(Self { path, data, acl, kind, parent_cversion })
    }
}

/// Reads data; nodes without any have an empty one.
fn data<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    from.buffer().map(Option::unwrap_or_default)
}

/// Reads the paths of a closed session, if there are any.
///
/// A server can be told to write none (`zookeeper.closeSessionTxn.enabled`), and may still write a
/// digest. That cannot be read as paths: it would have to be two, and has no room for their
/// slashes.
fn closed<'a>(from: &mut Reader<'a>) -> Option<Paths<'a>> {
    let mut ahead = from.clone();
    let paths = Paths::read(&mut ahead).ok()?;
    let is_end = matches!(ahead.rest().len(), 0 | TxnDigest::BYTES..);
    is_end.then(|| {
        *from = ahead;
        paths
    })
}

/// Several operations that are one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiTxn<'a> {
    parts: Several<'a>,
    session: SessionId,
    failure: Option<i32>,
}

impl<'a> MultiTxn<'a> {
    /// Reads the parts of a transaction of this session.
    fn read(session: SessionId, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut failure = None;
        let parts = Several::read(from, |from| {
            if let Txn::Error(code) = part(session, from)? {
                failure = failure.or(Some(code));
            }
            Ok(())
        })?;
        Ok(Self { parts, session, failure })
    }

    /// Returns the parts, each with what it would do if [none failed](Self::failure).
    pub fn parts(&self) -> impl Iterator<Item = Txn<'a>> {
        let session = self.session;
        self.parts.walk(move |from| part(session, from))
    }

    /// Returns the number of the error because of which nothing of this happened. The parts before
    /// the one that failed still say what they would have done.
    pub fn failure(&self) -> Option<i32> {
        self.failure
    }
}

fn part<'a>(session: SessionId, from: &mut Reader<'a>) -> Result<Txn<'a>, Malformed> {
    let kind = from.int()?;
    let body = from.buffer()?.unwrap_or_default();
    Txn::read_part(kind, session, &mut Reader::new(body))
}

/// Checked bytes of several things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Several<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> Several<'a> {
    /// Reads a number and as many things; a number of -1 means none.
    pub fn read(
        from: &mut Reader<'a>,
        mut one: impl FnMut(&mut Reader<'a>) -> Result<(), Malformed>,
    ) -> Result<Self, Malformed> {
        let count = match from.int()? {
            -1 => 0,
            count => usize::try_from(count).map_err(|_| Malformed("list"))?,
        };
        let bytes = from.rest();
        for _ in 0..count {
            one(from)?;
        }
        Ok(Self { count, bytes: &bytes[..bytes.len() - from.rest().len()] })
    }

    /// Walks through the things.
    pub fn walk<T>(self, mut one: impl FnMut(&mut Reader<'a>) -> Result<T, Malformed>) -> impl Iterator<Item = T> {
        let mut from = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| one(&mut from).ok())
    }
}

/// A node's ACL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acl<'a>(Several<'a>);

/// One identity's permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclEntry<'a> {
    /// The permitted operations, as bits.
    pub permissions: i32,
    /// The kind of the identity, such as `world`.
    pub scheme: Cow<'a, str>,
    /// The identity.
    pub id: Cow<'a, str>,
}

impl<'a> Acl<'a> {
    /// Reads an ACL.
    pub(crate) fn read(from: &mut Reader<'a>) -> Result<Self, Malformed> {
        let skip = |from: &mut Reader<'a>| {
            from.int()?;
            from.buffer()?;
            from.buffer().map(drop)
        };
        Several::read(from, skip).map(Self)
    }

    /// Returns the identities with their permissions.
    pub fn entries(&self) -> impl Iterator<Item = AclEntry<'a>> {
        self.0.walk(|from| {
            let text = |from: &mut Reader<'a>| from.text().map(Option::unwrap_or_default);
            Ok(AclEntry { permissions: from.int()?, scheme: text(from)?, id: text(from)? })
        })
    }
}

/// Paths of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths<'a>(Several<'a>);

impl<'a> Paths<'a> {
    /// Reads paths; each begins with a slash.
    fn read(from: &mut Reader<'a>) -> Result<Self, Malformed> {
        let path = |from: &mut Reader<'a>| match from.buffer()? {
            Some([b'/', ..]) => Ok(()),
            _ => Err(Malformed("path")),
        };
        Several::read(from, path).map(Self)
    }

    /// Returns the paths.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.0.walk(Reader::some_text)
    }
}

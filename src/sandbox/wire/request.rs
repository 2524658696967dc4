//! Requests, as they stand in frames.

use std::borrow::Cow;

use super::{Malformed, Reader, op};
use crate::tree::{Acl, Id};

/// A request's number and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub xid: i32,
    pub op: i32,
}

impl Header {
    pub fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { xid: from.int()?, op: from.int()? })
    }
}

/// A client's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    pub last_zxid: i64,
    /// In milliseconds.
    pub timeout: i32,
    /// Zero when a new session is wanted.
    pub session: i64,
    pub password: &'a [u8],
    /// Whether the client says if it would accept a read-only server. Old clients do not, and get no such flag in the answer either.
    pub says_read_only: bool,
}

impl<'a> Connect<'a> {
    pub fn read(frame: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(frame);
        from.int()?; // the protocol's version, always 0
        Ok(Self {
            last_zxid: from.long()?,
            timeout: from.int()?,
            session: from.long()?,
            password: from.buffer()?.unwrap_or_default(),
            says_read_only: from.bool().is_ok(),
        })
    }
}

/// What a connection offers to prove who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthRequest<'a> {
    pub scheme: Cow<'a, str>,
    pub credentials: &'a [u8],
}

impl<'a> AuthRequest<'a> {
    pub fn read(from: &mut Reader<'a>) -> Result<Self, Malformed> {
        from.int()?; // a type that no server reads
        Ok(Self { scheme: from.some_text()?, credentials: from.buffer()?.unwrap_or_default() })
    }
}

/// A node that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create<'a> {
    /// One of the four operations that make a node.
    pub op: i32,
    pub path: Cow<'a, str>,
    pub data: Option<&'a [u8]>,
    pub acls: Vec<Acl>,
    /// The number of a mode.
    pub flags: i32,
    /// In milliseconds; -1 where the operation has none.
    pub ttl: i64,
}

/// What changes the tree, alone or within a multi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write<'a> {
    Create(Create<'a>),
    Delete { path: Cow<'a, str>, version: i32 },
    SetData { path: Cow<'a, str>, data: Option<&'a [u8]>, version: i32 },
    SetAcl { path: Cow<'a, str>, acls: Vec<Acl>, version: i32 },
    Check { path: Cow<'a, str>, version: i32 },
}

impl<'a> Write<'a> {
    pub fn is(op: i32) -> bool {
        matches!(
            op,
            op::CREATE
                | op::CREATE2
                | op::CREATE_CONTAINER
                | op::CREATE_TTL
                | op::DELETE
                | op::SET_DATA
                | op::SET_ACL
                | op::CHECK
        )
    }

    /// As [`read`](Self::read), within a multi, where the flags of a node that is to be made count for more than the
    /// operation, and ACLs cannot be set.
    pub fn read_of_multi(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        match Self::read(op, from)? {
            Self::SetAcl { .. } => Err(Malformed("operation of a multi")),
            Self::Create(create) => {
                let op = match create.flags {
                    4 => op::CREATE_CONTAINER,
                    5 | 6 if op == op::CREATE_TTL => op,
                    // One that does not say how long. The server finds out when it comes to it.
                    5 | 6 => op::ERROR,
                    _ => op::CREATE,
                };
                let ttl = if op == op::CREATE_TTL { create.ttl } else { -1 };
                Ok(Self::Create(Create { op, ttl, ..create }))
            }
            write => Ok(write),
        }
    }

    pub fn read(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match op {
            op::CREATE | op::CREATE2 | op::CREATE_CONTAINER | op::CREATE_TTL => Self::Create(Create {
                op,
                path: from.some_text()?,
                data: from.buffer()?,
                acls: from.list(acl)?,
                flags: from.int()?,
                ttl: if op == op::CREATE_TTL { from.long()? } else { -1 },
            }),
            op::DELETE => Self::Delete { path: from.some_text()?, version: from.int()? },
            op::SET_DATA => Self::SetData { path: from.some_text()?, data: from.buffer()?, version: from.int()? },
            op::SET_ACL => Self::SetAcl { path: from.some_text()?, acls: from.list(acl)?, version: from.int()? },
            op::CHECK => Self::Check { path: from.some_text()?, version: from.int()? },
            _ => return Err(Malformed("operation that writes")),
        })
    }
}

/// A read that a multi may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup<'a> {
    pub op: i32,
    pub path: Cow<'a, str>,
    pub watch: bool,
}

impl<'a> Lookup<'a> {
    /// As [`read`](Self::read), within a multi, where no watch is left.
    pub fn read_of_multi(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        match op {
            op::GET_DATA | op::GET_CHILDREN => Ok(Self { watch: false, ..Self::read(op, from)? }),
            _ => Err(Malformed("operation of a multi-read")),
        }
    }

    pub fn read(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self { op, path: from.some_text()?, watch: from.bool()? })
    }
}

/// The watches that a client had on a connection that it lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetWatches<'a> {
    /// What the client saw last.
    pub zxid: i64,
    pub data: Vec<Cow<'a, str>>,
    pub exist: Vec<Cow<'a, str>>,
    pub child: Vec<Cow<'a, str>>,
    pub persistent: Vec<Cow<'a, str>>,
    pub recursive: Vec<Cow<'a, str>>,
}

impl<'a> SetWatches<'a> {
    pub fn read(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut watches = Self {
            zxid: from.long()?,
            data: from.list(Reader::some_text)?,
            exist: from.list(Reader::some_text)?,
            child: from.list(Reader::some_text)?,
            ..Self::default()
        };
        if op == op::SET_WATCHES2 {
            watches.persistent = from.list(Reader::some_text)?;
            watches.recursive = from.list(Reader::some_text)?;
        }
        Ok(watches)
    }
}

/// The operations of a multi, each of which `read` reads. A list that does not end as it should is refused whole.
pub fn multi<'a, T>(
    from: &mut Reader<'a>,
    mut read: impl FnMut(i32, &mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    loop {
        let (op, done, _error) = (from.int()?, from.bool()?, from.int()?);
        if done {
            return Ok(items);
        }
        items.push(read(op, from)?);
    }
}

fn acl(from: &mut Reader<'_>) -> Result<Acl, Malformed> {
    let permissions = from.int()?;
    // A scheme or id that is not there is none that is known.
    let (scheme, id) = (from.text()?.unwrap_or_default(), from.text()?.unwrap_or_default());
    Ok(Acl { permissions, id: Id { scheme: scheme.as_ref().into(), id: id.as_ref().into() } })
}

//! The requests of clients, the four-letter words, and the parts of replies that only a server
//! writes.
//!
//! The frames are those of [`lockscope_base::wire`]. A four-letter word takes the place of the
//! first frame.

use std::borrow::Cow;

use crate::tree::{Id, NodeAcl, Stat};
use lockscope_base::wire::{Malformed, Reader, Writer, op};

/// A request to add an identity.
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

/// A request to create a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRequest<'a> {
    /// One of the four create operations.
    pub op: i32,
    pub path: Cow<'a, str>,
    pub data: Option<&'a [u8]>,
    pub acls: Vec<NodeAcl>,
    /// The number of the create mode.
    pub flags: i32,
    /// The time to live in milliseconds; -1 if the operation has none.
    pub ttl: i64,
}

/// A request that changes the tree, alone or within a multi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteRequest<'a> {
    Create(CreateRequest<'a>),
    Delete { path: Cow<'a, str>, version: i32 },
    SetData { path: Cow<'a, str>, data: Option<&'a [u8]>, version: i32 },
    SetAcl { path: Cow<'a, str>, acls: Vec<NodeAcl>, version: i32 },
    Check { path: Cow<'a, str>, version: i32 },
}

impl<'a> WriteRequest<'a> {
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

    /// Reads an operation of a multi. The flags of a create decide its kind, not the operation. An
    /// ACL cannot be set in a multi.
    pub fn read_of_multi(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        match Self::read(op, from)? {
            Self::SetAcl { .. } => Err(Malformed("operation of a multi")),
            Self::Create(create) => {
                let op = match create.flags {
                    4 => op::CREATE_CONTAINER,
                    5 | 6 if op == op::CREATE_TTL => op,
                    // A TTL node without a TTL: as on a real server, it fails when it is applied.
                    5 | 6 => op::ERROR,
                    _ => op::CREATE,
                };
                let ttl = if op == op::CREATE_TTL { create.ttl } else { -1 };
                Ok(Self::Create(CreateRequest { op, ttl, ..create }))
            }
            write => Ok(write),
        }
    }

    pub fn read(op: i32, from: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match op {
            op::CREATE | op::CREATE2 | op::CREATE_CONTAINER | op::CREATE_TTL => Self::Create(CreateRequest {
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

/// A read of a node, alone or within a multi-read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup<'a> {
    pub op: i32,
    pub path: Cow<'a, str>,
    pub watch: bool,
}

impl<'a> Lookup<'a> {
    /// Reads an operation of a multi-read, which never sets a watch.
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

/// The watches that a client restores after a reconnect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetWatches<'a> {
    /// The last zxid that the client saw.
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

/// Reads the operations of a multi with `read`. A list without a valid end is refused as a whole.
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

fn acl(from: &mut Reader<'_>) -> Result<NodeAcl, Malformed> {
    let permissions = from.int()?;
    // A missing scheme or id becomes an empty one, which no ACL accepts.
    let (scheme, id) = (from.text()?.unwrap_or_default(), from.text()?.unwrap_or_default());
    Ok(NodeAcl { permissions, id: Id { scheme: scheme.as_ref().into(), id: id.as_ref().into() } })
}

/// A four-letter word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxWord {
    Ruok,
    Srvr,
    Stat,
    Envi,
    Mntr,
    Cons,
    Dump,
    Wchs,
    Wchp,
    Wchc,
    Conf,
    Isro,
}

impl SandboxWord {
    pub fn of(bytes: [u8; 4]) -> Option<Self> {
        Some(match &bytes {
            b"ruok" => Self::Ruok,
            b"srvr" => Self::Srvr,
            b"stat" => Self::Stat,
            b"envi" => Self::Envi,
            b"mntr" => Self::Mntr,
            b"cons" => Self::Cons,
            b"dump" => Self::Dump,
            b"wchs" => Self::Wchs,
            b"wchp" => Self::Wchp,
            b"wchc" => Self::Wchc,
            b"conf" => Self::Conf,
            b"isro" => Self::Isro,
            _ => return None,
        })
    }
}

/// Writes stats and ACLs.
pub trait NodeWriter {
    fn put_stat(&mut self, stat: &Stat);
    fn put_acls(&mut self, acls: &[NodeAcl]);
}

impl NodeWriter for Vec<u8> {
    fn put_stat(&mut self, stat: &Stat) {
        self.put_long(stat.czxid);
        self.put_long(stat.mzxid);
        self.put_long(stat.ctime);
        self.put_long(stat.mtime);
        self.put_int(stat.version);
        self.put_int(stat.cversion);
        self.put_int(stat.aversion);
        self.put_long(stat.ephemeral_owner);
        self.put_int(stat.data_length);
        self.put_int(stat.num_children);
        self.put_long(stat.pzxid);
    }

    fn put_acls(&mut self, acls: &[NodeAcl]) {
        self.put_length(acls.len());
        for acl in acls {
            self.put_int(acl.permissions);
            self.put_text(&acl.id.scheme);
            self.put_text(&acl.id.id);
        }
    }
}

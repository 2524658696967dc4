//! What stands in a body any number of times. Reading one walks through it once, so that whoever
//! gets it can walk through it without an error.

use std::borrow::Cow;

use crate::wire::{Malformed, Reader};

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
    pub(super) fn read(from: &mut Reader<'a>) -> Result<Self, Malformed> {
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

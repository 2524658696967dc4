//! The contents of a record.

use super::body::Txn;
use super::header::{TxnDigest, TxnHeader};
use crate::wire::{Malformed, Reader};

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

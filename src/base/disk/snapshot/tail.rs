//! What stands behind the nodes: a checksum, a digest with another checksum, the last transaction
//! with a third one. Each checksum is of all bytes before it.

use adler2::Adler32;

use super::item::{Fault, SnapshotEnd, ZxidDigest};
use super::stop::Stop;
use crate::wire::Reader;
use crate::znode::Zxid;

/// More bytes than all of this takes.
pub const MAX_TAIL: usize = 256;

/// A checksum, and the path `/`.
const SEAL: usize = 8 + 4 + 1;

/// The path of a seal, with its length.
const SEAL_PATH: [u8; 5] = [0, 0, 0, 1, b'/'];

/// Reads the bytes behind the nodes; the sum is of the nodes and all before.
pub fn read(tail: &[u8], mut sum: Adler32) -> Result<SnapshotEnd, Stop> {
    let mut rest = tail;
    if !seal(&mut rest, 0, &mut sum)? {
        return Err(Stop::Damaged(Fault::Checksum));
    }
    let digest = parse_digest(rest).and_then(|(digest, length)| part(&mut rest, length, &mut sum).then_some(digest));
    let last_zxid = Reader::new(rest).long().ok().filter(|_| part(&mut rest, 8, &mut sum)).map(Zxid);
    match (rest, last_zxid) {
        ([], _) => Ok(SnapshotEnd::Whole { digest, last_zxid }),
        (_, Some(_)) => Err(Stop::Damaged(Fault::Tail)),
        (_, None) => Err(unread(rest, digest.is_some())),
    }
}

/// Says what is wrong with the next part, which cannot be taken.
fn unread(rest: &[u8], has_digest: bool) -> Stop {
    let length = if has_digest { Some(8) } else { parse_digest(rest).map(|(_, length)| length) };
    match length {
        Some(length) if rest.len() >= length + SEAL => Stop::Damaged(Fault::Checksum),
        _ => Stop::Torn,
    }
}

/// Takes a part of this length and its checksum. Takes nothing if that is not there or wrong.
fn part(rest: &mut &[u8], length: usize, sum: &mut Adler32) -> bool {
    let (mut after, mut sum_after) = (*rest, *sum);
    let is_good = matches!(seal(&mut after, length, &mut sum_after), Ok(true));
    if is_good {
        (*rest, *sum) = (after, sum_after);
    }
    is_good
}

/// Takes a part of this length and the checksum behind it. Returns whether that is right.
fn seal(rest: &mut &[u8], length: usize, sum: &mut Adler32) -> Result<bool, Stop> {
    let (taken, after) = rest.split_at_checked(length + SEAL).ok_or(Stop::Torn)?;
    sum.write_slice(&taken[..length]);
    let is_good = taken[length..][..8] == u64::from(sum.checksum()).to_be_bytes() && taken.ends_with(&SEAL_PATH);
    sum.write_slice(&taken[length..]);
    *rest = after;
    Ok(is_good)
}

/// Reads a digest, and returns its size, too. The first version wrote hexadecimal text.
fn parse_digest(bytes: &[u8]) -> Option<(ZxidDigest, usize)> {
    let mut from = Reader::new(bytes);
    let (zxid, version) = (Zxid(from.long().ok()?), from.int().ok()?);
    let digest = match version {
        ..2 => {
            let text = from.text().ok()?.unwrap_or_default();
            u64::from_str_radix(&text, 16).map_or(0, u64::cast_signed)
        }
        _ => from.long().ok()?,
    };
    Some((ZxidDigest { zxid, version, digest }, bytes.len() - from.rest().len()))
}

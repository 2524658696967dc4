//! Reads a snapshot from its beginning to its end.
//!
//! The values come from a stream that sums what was read. Behind the nodes stand a checksum, a
//! digest with another checksum, and the last transaction with a third one. Each checksum is of all
//! bytes before it.

use std::borrow::Cow;
use std::io;
use std::io::Read;

use adler2::Adler32;

use crate::disk::file::{FileHead, HeadError, NodeKind};
use crate::wire::Reader;
use crate::znode::{MAX_KEPT_DATA, SessionId, Timestamp, ZnodeStat, Zxid};

#[cfg(test)]
mod tests;

/// What stands in a snapshot.
#[derive(Clone, Debug)]
pub enum SnapshotItem<'a> {
    /// A session.
    Session {
        /// The session's id.
        id: SessionId,
        /// The session's timeout, in milliseconds.
        timeout: i32,
    },
    /// A node.
    Node(SnapshotNode<'a>),
    /// Nothing more.
    End(SnapshotEnd),
}

/// A node.
#[derive(Clone, Debug)]
pub struct SnapshotNode<'a> {
    /// The node's path; `/` for the root. The servers' own nodes stand among the others, below
    /// `/zookeeper`.
    pub path: Cow<'a, str>,
    /// The first [`MAX_KEPT_DATA`] bytes of the node's data, of which
    /// `stat.data_length` has the size.
    pub data: &'a [u8],
    /// The stat that a server would give if the node had no children. A snapshot holds no number of
    /// children: `num_children` is 0, and `cversion` counts the creations twice. Whoever counts a
    /// child [adds](Self::add_child) it.
    pub stat: ZnodeStat,
    /// What makes the node go.
    pub kind: NodeKind,
}

impl SnapshotNode<'_> {
    /// Adds a child to a stat of a snapshot. It changes `cversion`, too: that counts creations and
    /// deletions, and a child that is there was not deleted.
    pub fn add_child(stat: &mut ZnodeStat) {
        stat.num_children = stat.num_children.wrapping_add(1);
        stat.cversion = stat.cversion.wrapping_sub(1);
    }
}

/// A digest of the whole tree, from 3.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZxidDigest {
    /// The transaction after which it was made; 0 if the server had none.
    pub zxid: Zxid,
    /// The way in which it was made.
    pub version: i32,
    /// The digest.
    pub digest: i64,
}

/// How a snapshot ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotEnd {
    /// All of it was there, and every checksum is right.
    ///
    /// A file of 3.6 or later that ends exactly behind its first checksum looks like a whole one of
    /// an earlier version; nothing but the digest is missing from it.
    Whole {
        /// The digest, from 3.6.
        digest: Option<ZxidDigest>,
        /// The last transaction that the server had processed, from 3.9.
        last_zxid: Option<Zxid>,
    },
    /// The file ends before. The server was killed while it wrote it, or writes it still.
    Torn {
        /// Where it ends, in unpacked bytes.
        offset: u64,
    },
    /// The file holds wrong bytes.
    Damaged {
        /// Where that was noticed, in unpacked bytes.
        offset: u64,
        /// What was wrong.
        fault: Fault,
    },
}

/// What is wrong with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A length is negative.
    #[error("a length in the snapshot is negative")]
    Length,
    /// A node's path is too long, or does not begin with a slash.
    #[error("a path in the snapshot is too long, or does not begin with a slash")]
    Path,
    /// A checksum is wrong.
    #[error("a checksum in the snapshot is wrong")]
    Checksum,
    /// The bytes behind the first checksum are unknown.
    #[error("unknown bytes stand at the end of the snapshot")]
    Tail,
}

/// The longest path, in bytes. A request for a longer one exceeds the usual `jute.maxbuffer`.
const MAX_PATH: usize = 1 << 20;

/// The path of the root in a snapshot. `/` itself stands behind the last node.
const ROOT: &[u8] = b"";

/// Reads one snapshot: its sessions, then its nodes, each parent before its children, then how it
/// ends.
///
/// A snapshot is written while the tree changes, so nodes can be later than its name says, and the
/// log from there on is applied over it.
///
/// The checksum stands at the end: what was yielded before can be wrong in a damaged file.
#[derive(Debug)]
pub struct SnapshotReader<R> {
    source: SnapshotSource<R>,
    head: FileHead,
    part: SnapshotPart,
    path: Vec<u8>,
    data: Vec<u8>,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum SnapshotPart {
    /// Sessions, and their number was not read yet.
    Begin,
    /// This many sessions.
    Sessions(i32),
    /// Nodes.
    Nodes,
    /// Nothing.
    End(SnapshotEnd),
}

/// What was read into the buffers.
enum SnapshotStep {
    Session(SessionId, i32),
    Node(ZnodeStat, NodeKind),
}

impl<R: Read> SnapshotReader<R> {
    /// Reads the head. The reader needs no buffer of its own.
    pub fn open(mut from: R) -> Result<Self, HeadError> {
        let (bytes, head) = FileHead::read(&mut from, "ZKSN")?;
        let source = SnapshotSource::new(from, &bytes);
        Ok(Self { source, head, part: SnapshotPart::Begin, path: Vec::new(), data: Vec::new() })
    }

    /// Returns the head.
    pub fn head(&self) -> FileHead {
        self.head
    }

    /// Reads the next session or node, or tells how the file ends; that again and again.
    pub fn read(&mut self) -> io::Result<SnapshotItem<'_>> {
        if let SnapshotPart::End(end) = self.part {
            return Ok(SnapshotItem::End(end));
        }
        match self.step() {
            Ok(SnapshotStep::Session(id, timeout)) => Ok(SnapshotItem::Session { id, timeout }),
            Ok(SnapshotStep::Node(stat, kind)) => {
                let path = if self.path == ROOT { "/".into() } else { String::from_utf8_lossy(&self.path) };
                Ok(SnapshotItem::Node(SnapshotNode { path, data: &self.data, stat, kind }))
            }
            Err(stop) => {
                let end = stop.end(self.source.offset())?;
                self.part = SnapshotPart::End(end);
                Ok(SnapshotItem::End(end))
            }
        }
    }

    fn step(&mut self) -> Result<SnapshotStep, Stop> {
        if let SnapshotPart::Begin = self.part {
            self.part = SnapshotPart::Sessions(self.source.int()?);
        }
        if let SnapshotPart::Sessions(left) = self.part {
            // Servers take a negative number for none.
            if left > 0 {
                let session = SnapshotStep::Session(SessionId(self.source.long()?), self.source.int()?);
                self.part = SnapshotPart::Sessions(left - 1);
                return Ok(session);
            }
            self.skip_acls()?;
            self.part = SnapshotPart::Nodes;
        }
        self.node()
    }

    /// Passes over the ACLs, which the nodes name by number.
    fn skip_acls(&mut self) -> Result<(), Stop> {
        for _ in 0..self.source.int()? {
            self.source.long()?;
            for _ in 0..self.source.int()? {
                self.source.int()?;
                self.skip_buffer()?;
                self.skip_buffer()?;
            }
        }
        Ok(())
    }

    fn skip_buffer(&mut self) -> Result<(), Stop> {
        let length = self.source.length()?.unwrap_or_default();
        self.source.skip(length)
    }

    fn node(&mut self) -> Result<SnapshotStep, Stop> {
        let length = self.source.length()?.ok_or(Stop::Damaged(Fault::Path))?;
        if length > MAX_PATH {
            return Err(Stop::Damaged(Fault::Path));
        }
        self.source.keep(length, &mut self.path)?;
        match &*self.path {
            b"/" => return Err(Stop::End(self.source.tail()?)),
            ROOT | [b'/', ..] => {}
            _ => return Err(Stop::Damaged(Fault::Path)),
        }
        let length = self.source.length()?.unwrap_or_default();
        self.source.keep(length.min(MAX_KEPT_DATA), &mut self.data)?;
        self.source.skip(length.saturating_sub(MAX_KEPT_DATA))?;
        self.source.long()?;
        self.stat(length).map(|(stat, kind)| SnapshotStep::Node(stat, kind))
    }

    fn stat(&mut self, data_length: usize) -> Result<(ZnodeStat, NodeKind), Stop> {
        let from = &mut self.source;
        let (czxid, mzxid) = (Zxid(from.long()?), Zxid(from.long()?));
        let (ctime, mtime) = (Timestamp(from.long()?), Timestamp(from.long()?));
        let (version, created, aversion) = (from.int()?, from.int()?, from.int()?);
        let (kind, pzxid) = (NodeKind::of_owner(from.long()?), Zxid(from.long()?));
        let stat = ZnodeStat {
            czxid,
            mzxid,
            pzxid,
            ctime,
            mtime,
            version,
            cversion: created.wrapping_mul(2),
            aversion,
            ephemeral_owner: kind.session(),
            data_length: i32::try_from(data_length).unwrap_or(i32::MAX),
            num_children: 0,
        };
        Ok((stat, kind))
    }
}

/// The number of bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// A stream with a buffer and the checksum of what was taken from it.
#[derive(Debug)]
pub struct SnapshotSource<R> {
    from: R,
    bytes: Vec<u8>,
    /// The first byte that is not in the checksum.
    summed: usize,
    at: usize,
    end: usize,
    /// Where `bytes[0]` stands in the stream.
    base: u64,
    sum: Adler32,
}

impl<R: Read> SnapshotSource<R> {
    /// Creates a source behind these first bytes.
    pub fn new(from: R, first: &[u8]) -> Self {
        let mut sum = Adler32::new();
        sum.write_slice(first);
        Self { from, bytes: vec![0; CHUNK], summed: 0, at: 0, end: 0, base: first.len() as u64, sum }
    }

    /// Returns the place in the stream.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns the checksum of all bytes before this place.
    fn checksum(&mut self) -> Adler32 {
        self.sum.write_slice(&self.bytes[self.summed..self.at]);
        self.summed = self.at;
        self.sum
    }

    /// Reads more behind the bytes that are left, which move to the front. Returns whether there
    /// was more.
    fn more(&mut self) -> Result<bool, Stop> {
        self.checksum();
        self.bytes.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        (self.summed, self.at) = (0, 0);
        loop {
            match self.from.read(&mut self.bytes[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A packed file that is cut.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) => return Err(Stop::Io(error)),
            }
        }
    }

    /// Takes the next bytes, some but at most this many; the count is not zero.
    fn some(&mut self, count: usize) -> Result<&[u8], Stop> {
        if self.at == self.end && !self.more()? {
            return Err(Stop::Torn);
        }
        let start = self.at;
        self.at = self.end.min(start + count);
        Ok(&self.bytes[start..self.at])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        while self.end - self.at < N {
            if !self.more()? {
                self.at = self.end;
                return Err(Stop::Torn);
            }
        }
        let bytes = self.bytes[self.at..self.end].first_chunk().expect("there are as many bytes");
        self.at += N;
        Ok(*bytes)
    }

    /// Reads a number of four bytes.
    pub fn int(&mut self) -> Result<i32, Stop> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads a number of eight bytes.
    pub fn long(&mut self) -> Result<i64, Stop> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a length; -1 means `None`.
    pub fn length(&mut self) -> Result<Option<usize>, Stop> {
        match self.int()? {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| Stop::Damaged(Fault::Length)),
        }
    }

    /// Passes over this many bytes.
    pub fn skip(&mut self, mut count: usize) -> Result<(), Stop> {
        while count > 0 {
            count -= self.some(count)?.len();
        }
        Ok(())
    }

    /// Reads this many bytes, in place of what is there.
    pub fn keep(&mut self, count: usize, into: &mut Vec<u8>) -> Result<(), Stop> {
        into.clear();
        while into.len() < count {
            let bytes = self.some(count - into.len())?;
            into.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Reads what stands behind the nodes, to the end of the stream.
    pub fn tail(&mut self) -> Result<SnapshotEnd, Stop> {
        let sum = self.checksum();
        while self.end - self.at < MAX_TAIL && self.more()? {}
        let start = self.at;
        self.at = self.end;
        read(&self.bytes[start..self.end], sum)
    }
}

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

/// A reason not to go on.
#[derive(Debug)]
pub enum Stop {
    /// Reading failed.
    Io(io::Error),
    /// The stream ended in the midst of a value.
    Torn,
    /// A value is impossible.
    Damaged(Fault),
    /// The snapshot is over.
    End(SnapshotEnd),
}

impl Stop {
    /// Returns how the snapshot ends, at this offset.
    pub fn end(self, offset: u64) -> io::Result<SnapshotEnd> {
        match self {
            Self::Io(error) => Err(error),
            Self::Torn => Ok(SnapshotEnd::Torn { offset }),
            Self::Damaged(fault) => Ok(SnapshotEnd::Damaged { offset, fault }),
            Self::End(end) => Ok(end),
        }
    }
}

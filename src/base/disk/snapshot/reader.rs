//! Reads a snapshot from its beginning to its end.

use std::io::{self, Read};

use super::item::{Fault, SnapshotEnd, SnapshotItem, SnapshotNode};
use super::source::Source;
use super::stop::Stop;
use crate::disk::head::{FileHead, HeadError};
use crate::disk::node_kind::NodeKind;
use crate::znode::{MAX_KEPT_DATA, SessionId, Timestamp, ZnodeStat, Zxid};

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
    source: Source<R>,
    head: FileHead,
    part: Part,
    path: Vec<u8>,
    data: Vec<u8>,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Part {
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
enum Step {
    Session(SessionId, i32),
    Node(ZnodeStat, NodeKind),
}

impl<R: Read> SnapshotReader<R> {
    /// Reads the head. The reader needs no buffer of its own.
    pub fn open(mut from: R) -> Result<Self, HeadError> {
        let (bytes, head) = FileHead::read(&mut from, "ZKSN")?;
        let source = Source::new(from, &bytes);
        Ok(Self { source, head, part: Part::Begin, path: Vec::new(), data: Vec::new() })
    }

    /// Returns the head.
    pub fn head(&self) -> FileHead {
        self.head
    }

    /// Reads the next session or node, or tells how the file ends; that again and again.
    pub fn read(&mut self) -> io::Result<SnapshotItem<'_>> {
        if let Part::End(end) = self.part {
            return Ok(SnapshotItem::End(end));
        }
        match self.step() {
            Ok(Step::Session(id, timeout)) => Ok(SnapshotItem::Session { id, timeout }),
            Ok(Step::Node(stat, kind)) => {
                let path = if self.path == ROOT { "/".into() } else { String::from_utf8_lossy(&self.path) };
                Ok(SnapshotItem::Node(SnapshotNode { path, data: &self.data, stat, kind }))
            }
            Err(stop) => {
                let end = stop.end(self.source.offset())?;
                self.part = Part::End(end);
                Ok(SnapshotItem::End(end))
            }
        }
    }

    fn step(&mut self) -> Result<Step, Stop> {
        if let Part::Begin = self.part {
            self.part = Part::Sessions(self.source.int()?);
        }
        if let Part::Sessions(left) = self.part {
            // Servers take a negative number for none.
            if left > 0 {
                let session = Step::Session(SessionId(self.source.long()?), self.source.int()?);
                self.part = Part::Sessions(left - 1);
                return Ok(session);
            }
            self.skip_acls()?;
            self.part = Part::Nodes;
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

    fn node(&mut self) -> Result<Step, Stop> {
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
        self.stat(length).map(|(stat, kind)| Step::Node(stat, kind))
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

//! Crafted recordings: small files that unpack to a gigabyte.

use std::path::{Path, PathBuf};

use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::{NodeData, SessionId, Timestamp};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_past::record::{Bounds, RecordOptions, Recorder};
use rusqlite::{Connection, params};

use super::nodes;

/// The unpacked size of each piece, in bytes.
pub const UNPACKED: usize = 1 << 30;

/// The size of one compressed frame; the rest of a piece repeats it.
const BLOCK: usize = 1 << 20;

/// The content of a crafted piece: some bytes, followed by other bytes that repeat.
pub struct Content {
    pub name: &'static str,
    pub place: Place,
    begin: Vec<u8>,
    again: Vec<u8>,
    unpacked: usize,
}

/// The piece of a recording that is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The state at the beginning of the segment.
    Keyframe,
    /// The entries of the segment.
    Entries,
}

/// Encodes a number as postcard does.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("seven bits"));
    bytes
}

fn keyframe(name: &'static str, begin: &[&[u8]], again: &[u8]) -> Content {
    Content { name, place: Place::Keyframe, begin: begin.concat(), again: again.to_vec(), unpacked: UNPACKED }
}

fn entries(name: &'static str, begin: &[u8], again: &[u8]) -> Content {
    let begin = [&(UNPACKED as u64).to_le_bytes(), begin].concat();
    Content { name, place: Place::Entries, begin, again: again.to_vec(), unpacked: UNPACKED }
}

/// Returns a table of `locks` locks with `each` contenders, whose nodes have `data` bytes, and
/// whose owners are partly alive.
fn table(locks: usize, each: usize, data: usize) -> LockTable {
    let mut table = LockTable::new([]);
    let connected = ConnectionState::Connected { session: SessionId(1), recursive: true };
    let mut changes = vec![Change::Connection(connected), Change::Syncing];
    changes.extend((0..locks).flat_map(|lock| {
        (0..each).map(move |number| {
            let number = i64::try_from(number).expect("small");
            let mut change = nodes::seen(&format!("/locks/lock-of-service-{lock}"), "lock-", number);
            if let Change::Seen { node, .. } = &mut change
                && data > 0
            {
                node.data = NodeData::keep(&vec![b'd'; data]);
                node.stat.ephemeral_owner = None;
            }
            change
        })
    }));
    changes.push(Change::Synced);
    for change in changes {
        table.apply(change, Timestamp(0));
    }
    table
}

/// Returns the keyframe that a recorder would write for a table of this size.
pub fn state(name: &'static str, locks: usize, each: usize, data: usize) -> Content {
    let diagnosis = Diagnosis::new(Thresholds::default());
    let recipes: &[OwnRecipe] = &[];
    let begin = postcard::to_allocvec(&(table(locks, each, data), diagnosis, recipes)).expect("it can be written");
    Content { name, place: Place::Keyframe, unpacked: begin.len(), begin, again: Vec::new() }
}

/// A `Seen` entry (number 2) for a new node. Texts that occurred before are encoded as numbers.
const SEEN: &[u8] = &[0, 2, 1, 0, 0, 0, 0, 1, 2, 0, 2, 0, 0, 0, 0];

/// Returns the first `Seen` entry, which spells out the parent.
fn seen_first(parent: &str) -> Vec<u8> {
    let parent = [&varint(parent.len() as u64), parent.as_bytes()].concat();
    [&[0, 2, 1, 1], &*parent, &[1, 5], b"lock-", &[0, 0, 1, 2, 0, 2, 0, 1, 1, 2, 0]].concat()
}

/// The fields of a table before the servers' view, all of them empty.
const BEFORE_VIEW: usize = 24;

/// Pieces that cost as much as a gigabyte can.
pub fn contents() -> Vec<Content> {
    let very_many = varint(1 << 33);
    let node = [&[0, 2, 1, 1, 2][..], b"/a", &[1, 5], b"lock-", &[0, 0, 1, 2]].concat();
    let large = [&*node, &[0, 2, 0, 1, 1, 2, 1], &varint(4096), &[b'd'; 4096], &[0]].concat();
    let surveyed = [&[0, 0, 5, 0], &*varint(1 << 33)].concat();
    let numbers: Vec<u8> = (1 << 28..(1 << 28) + 12_000_000).flat_map(varint).collect();
    let mut touched = keyframe("twelve million numbers", &[&[0; BEFORE_VIEW - 1], &varint(12_000_000), &numbers], &[0]);
    touched.unpacked = touched.begin.len() + BLOCK;
    vec![
        keyframe("zeros", &[], &[0]),
        keyframe("a length that is only claimed", &[&varint(1 << 62)], &[2, b'/', b'a']),
        keyframe("paths that are all the same", &[&very_many], &[2, b'/', b'a']),
        keyframe("one text", &[&[1], &varint(UNPACKED as u64), b"/"], b"a"),
        keyframe("free slots of a queue", &[&[0, 0, 0, 1, 0, 0, 2], b"/a", &[0, 0, 0, 0], &very_many], &[0]),
        keyframe("servers about which nothing is known", &[&[0; BEFORE_VIEW], &[0], &very_many], &[0]),
        touched,
        state("250,000 locks", 250_000, 1, 0),
        state("400,000 contenders", 1, 400_000, 0),
        state("60,000 contenders with data", 1, 60_000, 4096),
        entries("looks", &[], &[0, 1]),
        entries("nodes", &seen_first("/locks/a"), SEEN),
        entries("nodes with a long path", &seen_first(&format!("/{}", "a".repeat(200_000))), SEEN),
        entries("nodes with data", &large, SEEN),
        entries("an answer of very many servers", &surveyed, &[0]),
        entries("answers without servers", &[], &[0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0]),
    ]
}

/// Packs the content. Concatenated zstd frames unpack as one.
fn pack(content: &Content) -> Vec<u8> {
    let frame = |bytes: &[u8]| zstd::encode_all(bytes, 1).expect("it is compressed");
    let mut packed = frame(&content.begin);
    if !content.again.is_empty() {
        let block = content.again.repeat(BLOCK / content.again.len());
        let times = content.unpacked.saturating_sub(content.begin.len()).div_ceil(block.len());
        packed.extend(frame(&block).repeat(times));
    }
    packed
}

/// Writes a recording with one replaced piece.
pub fn recording(folder: &Path, content: &Content) -> PathBuf {
    let path = folder.join("crafted.db");
    sound(&path);
    let statement = match content.place {
        Place::Keyframe => "UPDATE keyframe SET state = ?1",
        Place::Entries => "UPDATE chunk SET entries = ?1",
    };
    Connection::open(&path).expect("a file").execute(statement, params![pack(content)]).expect("it is written");
    path
}

/// Writes a valid recording of one minute with three contenders.
pub fn sound(path: &Path) {
    let options = RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data: true, group_reads: false };
    let mut recorder = Recorder::start(path, "localhost:2181", options).expect("a file");
    let (mut table, mut diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
    let connected = ConnectionState::Connected { session: SessionId(1), recursive: true };
    let mut changes = vec![Change::Connection(connected), Change::Syncing];
    changes.extend((0..3).map(|number| nodes::seen("/locks/a", "lock-", number)));
    changes.push(Change::Synced);
    for (second, change) in (0..).zip(changes) {
        let now = Timestamp(1_777_601_400_000 + second * 10_000);
        recorder.batches().apply(change, now, &mut table, &diagnosis);
        recorder.batches().examine(now, &table, &mut diagnosis);
        recorder.flush(now, &table);
    }
    recorder.stop(&table, Timestamp(1_777_601_460_000)).expect("it is written");
}

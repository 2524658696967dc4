//! A real file, files that are made by hand, and damage to both.

use std::io::Cursor;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::disk::NodeKind;
use crate::disk::file::FileHead;
use crate::disk::testing::{SNAPSHOT, put_open_acl};
use crate::wire::Writer;
use crate::znode::{MAX_KEPT_DATA, SessionId, Timestamp, ZnodeStat, Zxid};

/// Everything that reading yields.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    sessions: Vec<(SessionId, i32)>,
    nodes: Vec<(String, Vec<u8>, ZnodeStat, NodeKind)>,
    end: Option<SnapshotEnd>,
}

impl Outcome {
    fn node(&self, path: &str) -> &(String, Vec<u8>, ZnodeStat, NodeKind) {
        self.nodes.iter().find(|node| node.0 == path).expect("the node is there")
    }
}

fn outcome(bytes: &[u8]) -> Outcome {
    let mut snapshot = SnapshotReader::open(Cursor::new(bytes)).expect("a head");
    let mut outcome = Outcome::default();
    while outcome.end.is_none() {
        match snapshot.read().expect("bytes in memory") {
            SnapshotItem::Session { id, timeout } => outcome.sessions.push((id, timeout)),
            SnapshotItem::Node(node) => {
                outcome.nodes.push((node.path.into_owned(), node.data.to_vec(), node.stat, node.kind));
            }
            SnapshotItem::End(end) => outcome.end = Some(end),
        }
    }
    outcome
}

fn whole(outcome: &Outcome) -> (Option<ZxidDigest>, Option<Zxid>) {
    match outcome.end {
        Some(SnapshotEnd::Whole { digest, last_zxid }) => (digest, last_zxid),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_real_snapshot_is_read() {
    let found = outcome(SNAPSHOT);
    let (digest, last_zxid) = whole(&found);
    assert_eq!(digest.map(|digest| (digest.zxid, digest.version)), Some((Zxid(0x27), 2)));
    assert_eq!(last_zxid, None);
    let timeouts: Vec<i32> = found.sessions.iter().map(|(_, timeout)| *timeout).collect();
    assert_eq!(timeouts, [2000, 2000]);
    let mut paths: Vec<&str> = found.nodes.iter().map(|node| &*node.0).collect();
    paths.sort_unstable();
    assert_eq!(paths, PATHS);
    assert_eq!(found.node("/long").3, NodeKind::Ttl(Duration::from_secs(86_400)));
    assert_eq!(found.node("/box2").3, NodeKind::Container);
    assert_eq!(found.node("/locks").3, NodeKind::Persistent);
    let owner = found.node("/locks/m/lock-0000000005").3.session().expect("an ephemeral node");
    assert!(found.sessions.contains(&(owner, 2000)));
}

/// The nodes of the real snapshot.
const PATHS: [&str; 18] = [
    "/",
    "/after-gz",
    "/after-snappy",
    "/box2",
    "/box2/child",
    "/last",
    "/locks",
    "/locks/m",
    "/locks/m/lock-0000000001",
    "/locks/m/lock-0000000004",
    "/locks/m/lock-0000000005",
    "/locks/t",
    "/locks/t/e-0000000000",
    "/long",
    "/two",
    "/zookeeper",
    "/zookeeper/config",
    "/zookeeper/quota",
];

#[test]
fn a_stat_with_its_children_is_what_the_server_answers() {
    let found = outcome(SNAPSHOT);
    // As the server answered when it had loaded the snapshot.
    for (path, cversion, num_children) in [("/", 12, 8), ("/locks", 2, 2), ("/locks/m", 9, 3), ("/box2", 1, 1)] {
        let mut stat = found.node(path).2;
        let below = format!("{}/", path.trim_end_matches('/'));
        let is_child =
            |child: &str| child.strip_prefix(&below).is_some_and(|name| !name.is_empty() && !name.contains('/'));
        found.nodes.iter().filter(|node| is_child(&node.0)).for_each(|_| SnapshotNode::add_child(&mut stat));
        assert_eq!((stat.cversion, stat.num_children), (cversion, num_children), "{path}");
    }
}

/// Appends the sum of all before.
fn put_seal(out: &mut Vec<u8>) {
    let mut sum = adler2::Adler32::new();
    sum.write_slice(out);
    out.put_long(i64::from(sum.checksum()));
    out.put_text("/");
}

fn put_node(out: &mut Vec<u8>, path: &str, data: Option<&[u8]>, owner: i64) {
    out.put_text(path);
    out.put_buffer(data);
    out.put_long(1);
    (1..=4).for_each(|value| out.put_long(value));
    (5..=7).for_each(|value| out.put_int(value));
    out.put_long(owner);
    out.put_long(9);
}

/// A snapshot as servers before 3.6 write it.
fn old(data: Option<&[u8]>) -> Vec<u8> {
    let mut out = b"ZKSN\0\0\0\x02".to_vec();
    out.put_long(-1);
    out.put_int(1);
    out.put_long(0x77);
    out.put_int(4000);
    out.put_int(1);
    out.put_long(1);
    put_open_acl(&mut out);
    put_node(&mut out, "", None, 0);
    put_node(&mut out, "/a", data, 0x77);
    out.put_text("/");
    put_seal(&mut out);
    out
}

#[test]
fn an_old_snapshot_has_no_digest() {
    let found = outcome(&old(Some(b"host")));
    assert_eq!(whole(&found), (None, None));
    assert_eq!(found.sessions, [(SessionId(0x77), 4000)]);
    let (_, data, stat, kind) = found.node("/a");
    assert_eq!(
        (&**data, *kind, stat.ephemeral_owner),
        (&b"host"[..], NodeKind::Ephemeral(SessionId(0x77)), kind.session())
    );
    assert_eq!((stat.czxid, stat.mzxid, stat.ctime, stat.mtime), (Zxid(1), Zxid(2), Timestamp(3), Timestamp(4)));
    assert_eq!((stat.version, stat.cversion, stat.aversion, stat.pzxid), (5, 12, 7, Zxid(9)));
    assert_eq!(found.node("/").2.data_length, 0);
}

#[test]
fn the_parts_behind_the_nodes_are_told_apart() {
    let digest = ZxidDigest { zxid: Zxid(0x27), version: 2, digest: -3 };
    let put_digest = |out: &mut Vec<u8>| {
        out.put_long(0x27);
        out.put_int(2);
        out.put_long(-3);
        put_seal(out);
    };
    let put_last = |out: &mut Vec<u8>| {
        out.put_long(0x28);
        put_seal(out);
    };
    let mut with_digest = old(None);
    put_digest(&mut with_digest);
    assert_eq!(whole(&outcome(&with_digest)), (Some(digest), None));
    let mut with_last = old(None);
    put_last(&mut with_last);
    assert_eq!(whole(&outcome(&with_last)), (None, Some(Zxid(0x28))));
    let mut with_both = with_digest.clone();
    put_last(&mut with_both);
    assert_eq!(whole(&outcome(&with_both)), (Some(digest), Some(Zxid(0x28))));
    with_both.push(0);
    let fault = |bytes: &[u8]| match outcome(bytes).end {
        Some(SnapshotEnd::Damaged { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(&with_both), Fault::Tail);

    let mut text = old(None);
    text.put_long(0x27);
    text.put_int(1);
    text.put_text("fffffffffffffffd");
    put_seal(&mut text);
    assert_eq!(whole(&outcome(&text)).0, Some(ZxidDigest { version: 1, ..digest }));
}

#[test]
fn only_the_beginning_of_large_data_is_kept() {
    let data: Vec<u8> = (0..=250).cycle().take(300_000).collect();
    let found = outcome(&old(Some(&data)));
    whole(&found);
    let (_, kept, stat, _) = found.node("/a");
    assert_eq!((&**kept, stat.data_length), (&data[..MAX_KEPT_DATA], 300_000));
}

#[test]
fn a_claimed_length_takes_up_no_memory() {
    let mut bytes = b"ZKSN\0\0\0\x02".to_vec();
    bytes.put_long(-1);
    bytes.put_int(i32::MAX);
    assert_eq!(outcome(&bytes).end, Some(SnapshotEnd::Torn { offset: 20 }));
    bytes.splice(16.., [0; 8]);
    bytes.put_text("");
    bytes.put_int(i32::MAX);
    assert_eq!(outcome(&bytes).end, Some(SnapshotEnd::Torn { offset: 32 }));
}

#[test]
fn a_snapshot_that_is_cut_anywhere_is_torn() {
    let parts = outcome(SNAPSHOT);
    let first_seal = SNAPSHOT.len() - 33;
    for cut in FileHead::BYTES..SNAPSHOT.len() {
        let found = outcome(&SNAPSHOT[..cut]);
        assert_eq!(found.nodes, parts.nodes[..found.nodes.len()]);
        match found.end {
            Some(SnapshotEnd::Torn { offset }) => assert_eq!(offset, cut as u64),
            Some(SnapshotEnd::Whole { digest: None, .. }) => assert_eq!(cut, first_seal),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_damaged_byte_anywhere_is_noticed() {
    for (at, flip) in (FileHead::BYTES..SNAPSHOT.len()).flat_map(|at| [1, 0x80].map(|flip| (at, flip))) {
        let mut bytes = SNAPSHOT.to_vec();
        bytes[at] ^= flip;
        let end = outcome(&bytes).end.expect("an end");
        assert!(!matches!(end, SnapshotEnd::Whole { .. }), "byte {at}: {end:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(prop_oneof![4 => Just(0), 2 => 1_u8..50, 1 => any::<u8>()], 0..600)) {
        outcome(&[&SNAPSHOT[..16], &bytes].concat());
    }

    #[test]
    fn no_damage_panics(at in 16..SNAPSHOT.len(), new in proptest::collection::vec(any::<u8>(), 1..30)) {
        let end = SNAPSHOT.len().min(at + new.len());
        outcome(&[&SNAPSHOT[..at], &new, &SNAPSHOT[end..]].concat());
    }
}

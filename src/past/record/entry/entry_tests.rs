//! Tests that entries are read as they were written, and that damage is rejected.

use proptest::prelude::*;

use super::*;
use crate::fixture::surveyed;
use crate::record::decode;
use crate::testing;
use crate::testing::{deleted, seen};
use lockscope_base::znode::{Node, NodeData, SessionId, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::queue::ConnectionState;
use lockscope_model::server_view::{Expiry, ListedSession, MemberExtras, ServerView, SessionTiming, ViewExtras};

const FROM: Timestamp = Timestamp(1_777_601_400_000);

/// Paths from a small set, so that they repeat, with names of all kinds.
fn path() -> impl Strategy<Value = ZnodePath> {
    let name = prop_oneof![
        (0..3_u128).prop_map(|id| format!("_c_{}-lock-0000000001", uuid::Uuid::from_u128(id))),
        (0..3_u128).prop_map(|id| format!("{}__lock__{:010}", uuid::Uuid::from_u128(id << 70).simple(), id)),
        (0..3_u128).prop_map(|id| format!("{:X}-lock", u128::MAX / 7 + id)),
        (-2..3_i64).prop_map(|number| format!("lock-{number:010}")),
        Just("lock-99999999999".to_owned()),
        Just("é\u{301}0123456789".to_owned()),
        Just("0123456789".to_owned()),
        "[a-f0-9-]{1,40}",
        "[^/\0]{1,12}",
    ];
    (prop_oneof![Just("/"), Just("/a/"), Just("/a/b c/"), Just("")], name).prop_filter_map(
        "a path",
        |(parent, name)| {
            if parent.is_empty() { Some(ZnodePath::root()) } else { ZnodePath::new(&format!("{parent}{name}")).ok() }
        },
    )
}

fn stat() -> impl Strategy<Value = ZnodeStat> {
    let fresh = (any::<i64>(), any::<i64>(), prop::option::of(0..4_i64), 0..40_i32).prop_map(
        |(zxid, at, owner, data_length)| ZnodeStat {
            data_length,
            ..ZnodeStat::of_new(Zxid(zxid), Timestamp(at), owner.map(SessionId))
        },
    );
    (fresh, any::<bool>(), any::<i32>(), any::<i64>()).prop_map(|(fresh, is_fresh, version, mzxid)| {
        if is_fresh { fresh } else { ZnodeStat { version, mzxid: Zxid(mzxid), ..fresh } }
    })
}

fn change() -> impl Strategy<Value = Change> {
    let data = prop_oneof![Just(Vec::new()), Just(b"10.0.0.1".to_vec()), prop::collection::vec(any::<u8>(), 0..40)];
    prop_oneof![
        4 => (path(), stat(), data)
            .prop_map(|(path, stat, data)| Change::Seen { path, node: Node { stat, data: NodeData::keep(&data) } }),
        3 => (path(), prop::option::of(any::<i64>())).prop_map(|(path, zxid)| Change::Deleted { path, zxid: zxid.map(Zxid) }),
        1 => path().prop_map(|path| Change::Appeared { path }),
        1 => (path(), stat()).prop_map(|(path, stat)| Change::Listed { path, stat }),
        1 => Just(Change::Connection(ConnectionState::Lost { reason: "the network is down".to_owned() })),
        1 => Just(Change::Connection(ConnectionState::Lagging {
            member: "zk2:2181".to_owned(),
            reason: "zk2:2181 has lost its leader".to_owned(),
        })),
        1 => any::<i64>().prop_map(|at| Change::Connection(ConnectionState::Silent { since: Timestamp(at) })),
        1 => Just(Change::Synced),
    ]
}

fn entry() -> impl Strategy<Value = StoreEntry<'static>> {
    prop_oneof![12 => change().prop_map(|change| StoreEntry::Change(Cow::Owned(change))), 1 => Just(StoreEntry::Examined), 1 => Just(StoreEntry::FindingsForgotten)]
}

/// Reads chunks as a file stores them.
fn read(chunks: &[Chunk], from: Timestamp) -> Result<Vec<TimedEntry>, SegmentDamage> {
    let budget = DecodeBudget::new(1 << 30);
    let mut reader = EntryReader::new(from, 1_000, &budget);
    for chunk in chunks {
        reader.chunk(&decode::pack(&chunk.to_bytes()).expect("packed bytes"))?;
    }
    Ok(reader.entries())
}

/// Writes the entries in chunks of `each` entries.
fn written(entries: &[TimedEntry], each: usize) -> Vec<Chunk> {
    let mut writer = EntryWriter::new(FROM);
    let write = |entries: &[TimedEntry]| {
        for TimedEntry { at, entry } in entries {
            writer.write(*at, entry).expect("written bytes");
        }
        writer.take_chunk()
    };
    entries.chunks(each).map(write).collect()
}

fn timed(entries: Vec<(i64, StoreEntry<'static>)>) -> Vec<TimedEntry> {
    let mut at = FROM;
    let later = |(after, entry)| {
        at = Timestamp(at.0 + after);
        TimedEntry { at, entry }
    };
    entries.into_iter().map(later).collect()
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(entries in prop::collection::vec((0..9_i64, entry()), 0..60), each in 1..20_usize) {
        let entries = timed(entries);
        let chunks = written(&entries, each);
        prop_assert_eq!(&read(&chunks, FROM).expect("readable entries"), &entries);
        let packed: Vec<Vec<u8>> = chunks.iter().map(|chunk| decode::pack(&chunk.to_bytes()).expect("packed bytes")).collect();
        let whole = Chunk::from_bytes(&decode::unpack(&merge(&packed).expect("intact chunks")).expect("packed bytes"));
        prop_assert_eq!(&read(&[whole.expect("a chunk")], FROM).expect("readable entries"), &entries);
    }

    #[test]
    fn the_writer_counts_at_least_what_the_reader_takes(entries in prop::collection::vec((0..9_i64, entry()), 0..60)) {
        let mut writer = EntryWriter::new(FROM);
        for TimedEntry { at, entry } in timed(entries.clone()) {
            writer.write(at, &entry).expect("written bytes");
        }
        let budget = DecodeBudget::new(1 << 30);
        let mut reader = EntryReader::new(FROM, entries.len() as u64, &budget);
        let memory = writer.memory();
        reader.chunk(&decode::pack(&writer.take_chunk().to_bytes()).expect("packed bytes")).expect("readable entries");
        prop_assert!((1 << 30) - budget.left() <= memory, "{} > {memory}", (1 << 30) - budget.left());
    }

    #[test]
    fn damaged_entries_are_refused_or_read_and_never_a_panic(
        entries in prop::collection::vec((0..9_i64, entry()), 1..40),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut chunks = written(&timed(entries), usize::MAX);
        let Chunk { entries, ids } = &mut chunks[0];
        for (place, value) in damages {
            let place = place.index(entries.len());
            entries[place] = value;
        }
        ids.truncate(cut.index(ids.len() + 1));
        let _ = read(&chunks, FROM);
    }
}

#[test]
fn a_returning_client_takes_little_more_than_the_id_of_its_new_node() {
    let mut entries = Vec::new();
    for turn in 0..1_000 {
        let name = |turn: i64| {
            let id = uuid::Uuid::from_u128(
                u128::from(turn.unsigned_abs()).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
            );
            format!("/locks/billing/_c_{id}-lock-{turn:010}")
        };
        let at = Timestamp(FROM.0 + turn * 7);
        let stat = ZnodeStat::of_new(Zxid(turn * 2), at, Some(SessionId(turn % 10)));
        entries.extend(
            [seen(&name(turn), stat, b"10.0.0.1"), deleted(&testing::path(&name(turn - 5)))]
                .map(|change| TimedEntry { at, entry: StoreEntry::Change(Cow::Owned(change)) }),
        );
    }
    let chunk = written(&entries, usize::MAX).remove(0);
    assert_eq!(chunk.ids.len(), 16 * 1_005, "those of five that were there before are named when they go");
    assert!(chunk.entries.len() < 21 * 1_000, "{} bytes", chunk.entries.len());
}

/// Returns a survey that lists so many connections.
fn survey(connections: i64) -> StoreEntry<'static> {
    let listed = (0..connections).map(|id| ListedSession {
        id: SessionId(i64::MAX - id),
        expiry: Expiry::Monotonic { millis: i64::MAX - id },
        expires_at: Some(Timestamp(i64::MAX - id)),
    });
    StoreEntry::Change(Cow::Owned(surveyed(listed.collect(), FROM)))
}

#[test]
fn the_memory_of_a_survey_is_counted_and_one_that_is_too_large_leaves_the_rest() {
    let (few, many) = (survey(10_000), survey(600_000));
    let mut writer = EntryWriter::new(FROM);
    writer.write(FROM, &few).expect("written bytes");
    let memory = writer.memory();
    let budget = DecodeBudget::new(1 << 30);
    let mut reader = EntryReader::new(FROM, 1, &budget);
    assert!(writer.write(FROM, &many).is_err());
    reader.chunk(&decode::pack(&writer.take_chunk().to_bytes()).expect("packed bytes")).expect("readable entries");
    assert_eq!(reader.count(), 1);
    let taken = (1 << 30) - budget.left();
    assert!(taken <= memory && memory < 2 * taken, "{taken} of {memory}");
}

#[test]
fn what_a_view_is_stored_without_is_read_again_and_is_missing_in_older_recordings() {
    let change = surveyed(Vec::new(), FROM);
    let Change::Surveyed { view } = &change else { panic!("it is a view") };
    let entries = timed(vec![(0, StoreEntry::Change(Cow::Owned(change.clone())))]);
    assert_eq!(read(&written(&entries, 1), FROM).expect("readable entries"), entries);
    assert_ne!(view.timings(), [SessionTiming::default()]);
    assert_ne!(view.extras(), ViewExtras::default());

    let older = |stored: StoredEntry<'_>| {
        let entries = postcard::to_allocvec(&(0_u64, stored)).expect("written bytes");
        let found = read(&[Chunk { entries, ids: Vec::new() }], FROM).expect("readable entries");
        let [TimedEntry { entry: StoreEntry::Change(change), .. }] = &*found else { panic!("it is a change") };
        let Change::Surveyed { view } = &**change else { panic!("it is a view") };
        ServerView::clone(view)
    };
    let mut expected = ServerView::clone(view);
    expected.set_extras(&ViewExtras { voters: None, members: vec![MemberExtras::default()] });
    let of_format_5 = older(StoredEntry::Surveyed { view: Cow::Borrowed(view), timings: view.timings() });
    assert_eq!(of_format_5, expected);
    expected.set_timings(&[SessionTiming::default()]);
    assert_eq!(older(StoredEntry::Change(Cow::Borrowed(&change))), expected);
}

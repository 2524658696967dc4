//! Files that are not whole.

use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::disk::TxnHeader;
use crate::disk::file::FileHead;
use crate::disk::log::Budget;
use crate::disk::testing::LOG;
use crate::znode::Zxid;

/// A record's place in a file, and its zxid.
type Place = (Range<usize>, i64);

/// Where the zeros begin.
fn whole_end() -> usize {
    LOG.len() - 64
}

/// The real file's records as ranges, with their zxids.
fn records() -> Vec<Place> {
    let found = outcome(&mut open(LOG));
    assert_eq!(found.damage, []);
    assert_eq!(found.end, Some(LogEnd::Whole { offset: whole_end() as u64 }));
    let starts: Vec<usize> = found.records.iter().map(|(offset, _)| usize::try_from(*offset).expect("small")).collect();
    let ends = starts[1..].iter().copied().chain([whole_end()]);
    starts.iter().copied().zip(ends).zip(found.records).map(|((start, end), (_, zxid))| (start..end, zxid)).collect()
}

/// A record of the real file between its neighbours: the file, and their places in it.
fn neighbours(index: usize) -> (Vec<u8>, Vec<Place>, usize) {
    let records = records();
    let near = &records[index.saturating_sub(1)..records.len().min(index + 3)];
    let start = near[0].0.start - FileHead::BYTES;
    let bytes = [&head()[..], &LOG[near[0].0.start..near[near.len() - 1].0.end], &[0; 64]].concat();
    let near = near.iter().map(|(range, zxid)| (range.start - start..range.end - start, *zxid)).collect();
    (bytes, near, index.min(1))
}

#[test]
fn a_damaged_byte_loses_one_record() {
    for index in 0..records().len() {
        let (whole, records, index) = neighbours(index);
        let good: Vec<_> = records.iter().map(|(range, zxid)| (range.start as u64, *zxid)).collect();
        assert_eq!(outcome(&mut open(&whole)).records, good);
        let (range, zxid) = &records[index];
        let others: Vec<_> = good.iter().copied().filter(|(_, other)| other != zxid).collect();
        for (at, flip) in range.clone().flat_map(|at| [1, 0x80, 0xff].map(|flip| (at, flip))) {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let found = outcome(&mut open(&bytes));
            assert_eq!(found.records, others, "byte {at} of {range:?}");
            let offset = range.start as u64;
            let Some((_, next)) = records.get(index + 1) else {
                assert!(matches!(found.end, Some(LogEnd::Torn { offset: torn, .. }) if torn == offset), "byte {at}");
                assert_eq!(found.damage, []);
                continue;
            };
            let [damage] = found.damage[..] else { panic!("byte {at} of {range:?}: {found:?}") };
            let after = index.checked_sub(1).map(|before| Zxid(records[before].1));
            assert_eq!((damage.offset, damage.bytes), (offset, range.len() as u64), "byte {at}");
            assert_eq!((damage.after, damage.next), (after, Zxid(*next)), "byte {at}");
            assert_eq!(found.end, Some(LogEnd::Whole { offset: (whole.len() - 64) as u64 }));
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_yields_what_is_before() {
    let records = records();
    for cut in FileHead::BYTES..=LOG.len() {
        let found = outcome(&mut open(&LOG[..cut]));
        let whole = records.iter().take_while(|(range, _)| range.end <= cut).count();
        let offset = records[..whole].last().map_or(FileHead::BYTES, |(range, _)| range.end) as u64;
        assert_eq!(found.records.len(), whole);
        assert_eq!(found.damage, []);
        match found.end.expect("an end") {
            LogEnd::Whole { offset: end } => {
                assert_eq!(end, offset, "cut at {cut}");
                assert!(LOG[usize::try_from(offset).expect("small")..cut].iter().all(|byte| *byte == 0));
            }
            LogEnd::Torn { offset: end, why: Why::Cut } => assert_eq!(end, offset, "cut at {cut}"),
            other @ LogEnd::Torn { .. } => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_file_that_is_torn_before_zeros_ends_there() {
    let (last, _) = records().pop().expect("a record");
    for cut in last.start + 1..last.end {
        let mut bytes = LOG[..cut].to_vec();
        bytes.resize(LOG.len() + (64 << 10), 0);
        let found = outcome(&mut open(&bytes));
        match found.end.expect("an end") {
            LogEnd::Torn { offset, .. } => assert_eq!(offset, last.start as u64),
            end @ LogEnd::Whole { .. } => {
                assert!(bytes[last.start..cut].iter().all(|byte| *byte == 0), "cut at {cut}: {end:?}");
            }
        }
        assert_eq!(found.damage, []);
    }
}

#[test]
fn a_hole_of_zeros_is_no_end() {
    let records = records();
    let mut whole = LOG[..whole_end()].to_vec();
    whole.resize(LOG.len() + (300 << 10), 0);
    for first in 0..records.len() - 1 {
        for last in [first, first + 1] {
            let mut bytes = whole.clone();
            let (from, until) = (records[first].0.start, records[last].0.end);
            bytes[from..until].fill(0);
            let found = outcome(&mut open(&bytes));
            assert_eq!(found.records.len(), records.len() - (last - first + 1));
            let after = first.checked_sub(1).map(|before| Zxid(records[before].1));
            match records.get(last + 1) {
                None => assert_eq!(found.end, Some(LogEnd::Whole { offset: from as u64 })),
                Some((_, next)) => {
                    let damage = Damage {
                        offset: from as u64,
                        bytes: (until - from) as u64,
                        after,
                        next: Zxid(*next),
                        ..found.damage[0]
                    };
                    assert_eq!((found.damage, damage.why), (vec![damage], Why::Zeros));
                }
            }
        }
    }
}

#[test]
fn other_bytes_behind_zeros_are_no_whole_end() {
    let mut bytes = LOG[..whole_end()].to_vec();
    bytes.resize(whole_end() + 1_000, 0);
    bytes.extend(b"something else");
    let end = outcome(&mut open(&bytes)).end;
    assert_eq!(end, Some(LogEnd::Torn { offset: whole_end() as u64, why: Why::Zeros }));
}

#[test]
fn an_entry_that_cannot_be_decoded_is_damage() {
    let mut file = head();
    put_record(&mut file, &set_data(1, b""));
    let start = file.len() as u64;
    put_record(&mut file, &entry(2, op::SET_DATA, |out| out.put_int(77)));
    put_record(&mut file, &set_data(3, b""));
    let found = outcome(&mut open(&file));
    assert_eq!(found.records.iter().map(|(_, zxid)| *zxid).collect::<Vec<_>>(), [1, 3]);
    let [damage] = found.damage[..] else { panic!("{found:?}") };
    assert_eq!((damage.offset, damage.after, damage.next), (start, Some(Zxid(1)), Zxid(3)));
    assert!(matches!(damage.why, Why::Entry(_)) && !damage.is_next_inside);
}

#[test]
fn a_record_within_data_is_read_only_if_the_record_around_it_is_damaged_in_its_length() {
    let mut within = Vec::new();
    put_record(&mut within, &set_data(9, b"made by a client"));
    let mut file = head();
    let around = set_data(2, &within);
    put_record(&mut file, &around);
    put_record(&mut file, &set_data(3, b""));
    assert_eq!(outcome(&mut open(&file)).records.len(), 2);

    let mut damaged = file.clone();
    damaged[HEAD + 16 + 20] ^= 1;
    let found = outcome(&mut open(&damaged));
    assert_eq!(found.records.iter().map(|(_, zxid)| *zxid).collect::<Vec<_>>(), [3]);
    assert!(!found.damage[0].is_next_inside);

    let mut cut = file;
    cut.truncate(16 + HEAD + around.len());
    let found = outcome(&mut open(&cut));
    assert!(found.damage[0].is_next_inside, "{found:?}");
}

#[test]
fn long_records_are_read_and_longer_ones_are_damage() {
    let mut file = head();
    put_record(&mut file, &set_data(1, &vec![7; 3 << 20]));
    put_record(&mut file, &set_data(2, b""));
    let mut log = open(&file);
    assert_eq!(outcome(&mut log).records.len(), 2);
    // The first record's length is out of bounds, and then it is beyond the end.
    for length in [0x7fff_ffff_u32, 60 << 20] {
        file[24..28].copy_from_slice(&length.to_be_bytes());
        let mut log = open(&file);
        let found = outcome(&mut log);
        assert_eq!((found.records.len(), found.damage.len()), (1, 1));
        assert!(log.window.capacity() <= 1 << 20, "a claimed length takes up memory");
    }
}

/// A head and a record that claims an entry of this length, and has another one.
fn put_false_start(out: &mut Vec<u8>, length: usize) {
    out.put_long(0x1234);
    out.put_length(length);
    out.extend(&set_data(1, b"")[..TxnHeader::BYTES]);
    out.push(LAST);
}

#[test]
fn work_is_limited_when_every_place_looks_like_a_long_record() {
    let mut file = head();
    let size = HEAD + TxnHeader::BYTES + 1;
    for left in (1..=2000).rev() {
        put_false_start(&mut file, left * size - HEAD - 1);
    }
    put_record(&mut file, &set_data(2, b"good"));
    let mut log = open(&file);
    log.budget = Budget(0);
    let found = outcome(&mut log);
    assert_eq!((found.records.len(), found.damage.len()), (1, 1));
}

#[test]
fn work_is_limited_when_every_length_leads_to_the_same_long_record() {
    let (mut file, count) = (head(), 500);
    let good = |zxid: i64| {
        let mut out = Vec::new();
        put_record(&mut out, &set_data(2 * zxid, b""));
        out
    };
    let size = HEAD + TxnHeader::BYTES + 1 + good(1).len();
    for (left, zxid) in (1..=count).rev().zip(1_i64..) {
        put_false_start(&mut file, left * size - HEAD - 1);
        file.extend(good(zxid));
    }
    put_record(&mut file, &set_data(5000, &vec![7; 200_000]));
    let mut log = open(&file);
    log.budget = Budget(1_000_000);
    let found = outcome(&mut log);
    assert_eq!((found.records.len(), found.damage.len()), (count + 1, count));
    assert!(log.budget.0 < 500_000, "the long record is looked at a few times only");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(prop_oneof![4 => Just(0), 2 => 1_u8..70, 1 => any::<u8>()], 0..2000)) {
        outcome(&mut open(&[head(), bytes].concat()));
    }

    #[test]
    fn several_damages_lose_no_record_beside_them(
        flips in proptest::collection::vec((16..whole_end(), 1_u8..), 1..5),
    ) {
        let mut bytes = LOG.to_vec();
        for (at, flip) in &flips {
            bytes[*at] = LOG[*at] ^ flip;
        }
        let found = outcome(&mut open(&bytes));
        let good: Vec<_> = records()
            .into_iter()
            .filter(|(range, _)| !flips.iter().any(|(at, _)| range.contains(at)))
            .map(|(range, zxid)| (range.start as u64, zxid))
            .collect();
        prop_assert_eq!(found.records, good);
    }

    #[test]
    fn damaged_entries_with_right_checksums_do_not_panic(at in 0_usize..40, byte in any::<u8>(), kind in -12..23_i32) {
        let mut file = head();
        let mut bytes = entry(1, kind, |out| {
            out.put_text("/a");
            out.put_buffer(Some(&[0; 8]));
            out.put_int(1);
        });
        if let Some(changed) = bytes.get_mut(at) {
            *changed = byte;
        }
        put_record(&mut file, &bytes);
        outcome(&mut open(&file));
    }
}

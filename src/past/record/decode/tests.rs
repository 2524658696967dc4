//! Tests that decoded values are charged, and that values beyond the budget are rejected early.

use std::collections::BTreeMap;

use super::*;

/// Returns a value as a file stores it.
fn packed(value: &impl serde::Serialize) -> Vec<u8> {
    super::pack(&postcard::to_allocvec(value).unwrap()).unwrap()
}

fn decoded<T: DeserializeOwned>(packed: &[u8], bytes: u64) -> Result<T, SegmentDamage> {
    let mut decoder = Decoder::new(packed)?;
    let value = decoder.next(&DecodeBudget::new(bytes), SegmentDamage::Keyframe)?;
    decoder.finish(SegmentDamage::Keyframe)?;
    Ok(value)
}

type Value = (Vec<Option<Box<[u64; 4]>>>, BTreeMap<u32, String>, (Vec<u8>, char, i64), Result<(), f64>);

fn value(elements: u32) -> Value {
    let list = (0..elements).map(|number| (number % 3 > 0).then(|| Box::new([u64::from(number); 4]))).collect();
    let map = (0..elements).map(|number| (number, "é".repeat(number as usize % 40))).collect();
    (list, map, (vec![7; elements as usize], 'ß', -1), Err(0.5))
}

#[test]
fn a_value_that_fits_is_read_as_it_was_written() {
    for elements in [0, 1, 100, 20_000] {
        assert_eq!(decoded(&packed(&value(elements)), 16 << 20), Ok(value(elements)));
    }
}

#[test]
fn a_value_is_charged_at_least_its_memory() {
    let bytes = postcard::to_allocvec(&value(1_000)).unwrap();
    let memory = memory_of::<Value>(&bytes, u64::MAX).unwrap();
    let boxes = 666 * 32;
    let texts: usize = value(1_000).1.values().map(String::len).sum();
    let least = size_of::<Value>() + 1_000 * 8 + boxes + 1_000 * (4 + size_of::<String>()) + texts + 1_000;
    assert!(memory >= least as u64 && memory < 4 * least as u64, "{memory} bytes, and at least {least}");
    assert_eq!(memory_of::<Value>(&bytes, memory), Some(memory));
    assert_eq!(memory_of::<Value>(&bytes, memory - 1), None);
}

#[test]
fn a_value_beyond_the_budget_is_too_large() {
    assert_eq!(decoded::<Value>(&packed(&value(20_000)), 1 << 20), Err(SegmentDamage::TooLarge));
    // One byte each in the file, and 72 in memory.
    assert_eq!(decoded::<Vec<Option<[u64; 8]>>>(&packed(&vec![0_u8; 100_000]), 1 << 20), Err(SegmentDamage::TooLarge));
    assert_eq!(decoded::<String>(&packed(&"a".repeat(2 << 20)), 1 << 20), Err(SegmentDamage::TooLarge));
}

#[test]
fn a_false_length_allocates_nothing() {
    assert_eq!(decoded::<Vec<u64>>(&packed(&(1_u64 << 60)), 1 << 20), Err(SegmentDamage::Keyframe));
    assert_eq!(decoded::<String>(&packed(&(1_u64 << 60)), 1 << 20), Err(SegmentDamage::TooLarge));
}

#[test]
fn damaged_bytes_are_told_from_a_value_of_another_kind() {
    let sound = packed(&value(1_000));
    assert_eq!(decoded::<Vec<String>>(&sound, 16 << 20), Err(SegmentDamage::Keyframe));
    assert_eq!(decoded::<Value>(&sound[..sound.len() - 1], 16 << 20), Err(SegmentDamage::Checksum));
    for place in [sound.len() / 2, sound.len() - 1] {
        let mut damaged = sound.clone();
        damaged[place] ^= 0x55;
        assert!(decoded::<Value>(&damaged, 16 << 20).is_err());
    }
    assert_eq!(decoded::<Value>(b"no frame at all", 16 << 20), Err(SegmentDamage::Checksum));
}

#[test]
fn only_the_requested_bytes_are_read() {
    let bytes = [&8_u64.to_le_bytes()[..], b"entries.", b"ids"].concat();
    let packed = super::pack(&bytes).unwrap();
    let mut decoder = Decoder::new(&*packed).unwrap();
    assert_eq!(decoder.array(SegmentDamage::Entries), Ok(8_u64.to_le_bytes()));
    decoder.only_next(8);
    assert_eq!(decoder.array(SegmentDamage::Entries), Ok(*b"entries."));
    assert!(decoder.is_at_end());
    assert_eq!(decoder.array::<1>(SegmentDamage::Entries), Err(SegmentDamage::Entries));
    let mut behind = Decoder::new(&*packed).unwrap();
    behind.skip(16, SegmentDamage::Entries).unwrap();
    assert_eq!(behind.array(SegmentDamage::Entries), Ok(*b"ids"));
    assert_eq!(behind.skip(1, SegmentDamage::Entries), Err(SegmentDamage::Entries));
}

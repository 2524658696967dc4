//! Serializes a slab as a list of its slots. Reading such a list takes memory in proportion to the
//! file, whatever the file contains.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slab::Slab;

/// Writes every slot up to the last one in use. Free slots are included, since other data refers to
/// slots by number.
pub fn serialize<T: Serialize, S: Serializer>(slab: &Slab<T>, serializer: S) -> Result<S::Ok, S::Error> {
    let slots = slab.iter().last().map_or(0, |(last, _)| last + 1);
    serializer.collect_seq((0..slots).map(|slot| slab.get(slot)))
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Slab<T>, D::Error> {
    deserializer.deserialize_seq(SlotVisitor(PhantomData))
}

struct SlotVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SlotVisitor<T> {
    type Value = Slab<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of slots")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Slab<T>, A::Error> {
        let mut failure = None;
        // Each value goes directly into the slab: a list of all values would double the memory.
        let slots = std::iter::from_fn(|| {
            seq.next_element::<Option<T>>().unwrap_or_else(|error| {
                failure = Some(error);
                None
            })
        });
        let mut slab: Slab<T> = slots.enumerate().filter_map(|(slot, value)| Some((slot, value?))).collect();
        // The slab allocates room for four at once, but most locks have one contender.
        if slab.len() < 4 {
            slab.shrink_to_fit();
        }
        failure.map_or(Ok(slab), Err)
    }
}

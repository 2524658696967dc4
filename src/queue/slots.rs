//! A slab as a list of its slots, so that what is read from a file never takes more memory than the file pays for.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slab::Slab;

/// Writes every slot up to the last one in use, the free ones too: others refer to the slots by their numbers.
pub fn serialize<T: Serialize, S: Serializer>(slab: &Slab<T>, serializer: S) -> Result<S::Ok, S::Error> {
    let slots = slab.iter().last().map_or(0, |(last, _)| last + 1);
    serializer.collect_seq((0..slots).map(|slot| slab.get(slot)))
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Slab<T>, D::Error> {
    let slots: Vec<Option<T>> = Vec::deserialize(deserializer)?;
    Ok(slots.into_iter().enumerate().filter_map(|(slot, value)| Some((slot, value?))).collect())
}

//! Reads the entries of a table that is no option.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::mistake::{Mistakes, nearest};

/// Returns whether a table has these keys only. Records the first other key as a mistake; `what`
/// names the table.
pub(super) fn is_known(table: &DeTable<'_>, keys: &[&str], what: &str, mistakes: &mut Mistakes<'_>) -> bool {
    let Some(key) = table.keys().find(|key| !keys.contains(&&**key.get_ref())) else { return true };
    let meant = nearest(key.get_ref(), keys.iter().copied())
        .map_or_else(|| format!("{} are allowed", keys.join(", ")), |meant| format!("perhaps {meant} is meant"));
    mistakes.record(key.span(), &format!("{what} has no {:?}; {meant}", key.get_ref()));
    false
}

/// A table with one value: the names of variants are only read within a table.
#[derive(Deserialize)]
struct Alone<T> {
    value: T,
}

/// Marks an entry whose mistake was recorded.
pub(super) struct Wrong;

/// Reads the value of one entry; `None` when it is missing.
pub(super) fn field<'de, T: Deserialize<'de>>(
    table: &DeTable<'de>,
    key: &str,
    mistakes: &mut Mistakes<'_>,
) -> Result<Option<T>, Wrong> {
    let Some((name, value)) = table.get_key_value(key) else { return Ok(None) };
    let alone = DeTable::from_iter([(Spanned::new(name.span(), "value".into()), value.clone())]);
    match Alone::<T>::deserialize(Deserializer::from(Spanned::new(0..0, alone))) {
        Ok(alone) => Ok(Some(alone.value)),
        Err(error) => {
            let at = error.span().unwrap_or_else(|| value.span());
            mistakes.record(at, &format!("{key}: {}", error.message()));
            Err(Wrong)
        }
    }
}

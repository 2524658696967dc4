//! Where the screen keeps its past.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::Args;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::merge::Merge;
use crate::tui::PastPlace;

/// The default memory for the screen's past, in bytes.
const DEFAULT_BYTES: u64 = 64 << 20;

/// The smallest useful memory, in bytes: less reaches back hardly any time.
const MIN_BYTES: u64 = 4 << 20;

/// The options of the screen's past.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Screen")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct PastOptions {
    /// Keep the past in this much memory, so that the screen can rewind; 0 keeps none [default:
    /// 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(deserialize_with = "deserialize")]
    pub past_memory: Option<ByteSize>,
    /// Keep the past in this file instead; the screen can also rewind to what `lockscope record`
    /// writes there
    // An id of its own: `--store` before a command that reads a recording must not be taken for
    // that command's option.
    #[arg(id = "past_store", long = "store", value_name = "FILE")]
    pub store: Option<PathBuf>,
}

impl Merge for PastOptions {
    fn merge(self, below: Self) -> Self {
        // A place in one source replaces any place in a lower source.
        let below = if self == Self::default() { below } else { Self::default() };
        Self { past_memory: self.past_memory.merge(below.past_memory), store: self.store.merge(below.store) }
    }
}

impl PastOptions {
    /// Returns the place that the options name.
    pub(super) fn place(self) -> PastPlace {
        match (self.store, self.past_memory.map_or(DEFAULT_BYTES, |size| size.as_u64())) {
            (Some(file), _) => PastPlace::File(file),
            (None, 0) => PastPlace::None,
            (None, bytes) => PastPlace::Memory(bytes),
        }
    }
}

fn size(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Err(_) => Err("write a number and its unit, as in 64MiB, or 0".to_owned()),
        Ok(size) if (1..MIN_BYTES).contains(&size.as_u64()) => Err("it must be 0, or at least 4MiB".to_owned()),
        Ok(size) => Ok(size),
    }
}

fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ByteSize>, D::Error> {
    size(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(options: &str) -> Result<PastPlace, String> {
        toml::from_str::<PastOptions>(options).map(PastOptions::place).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_size_is_zero_or_at_least_the_minimum() {
        assert_eq!(place(""), Ok(PastPlace::Memory(64 << 20)));
        assert_eq!(place("past-memory = '0'"), Ok(PastPlace::None));
        assert_eq!(place("past-memory = '4MiB'"), Ok(PastPlace::Memory(4 << 20)));
        assert_eq!(place("store = 'x'\npast-memory = '4MiB'"), Ok(PastPlace::File("x".into())));
        for (wrong, part) in [("1MiB", "at least 4MiB"), ("much", "number and its unit"), ("-1", "number")] {
            let why = place(&format!("past-memory = '{wrong}'")).expect_err(wrong);
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn an_option_that_names_a_place_comes_before_another_place_in_the_config_file() {
        let file = PastOptions { store: Some("x".into()), past_memory: None };
        let option = PastOptions { store: None, past_memory: Some(ByteSize::mib(8)) };
        assert_eq!(option.merge(file.clone()).place(), PastPlace::Memory(8 << 20));
        assert_eq!(PastOptions::default().merge(file).place(), PastPlace::File("x".into()));
    }
}

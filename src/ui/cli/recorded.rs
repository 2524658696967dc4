//! The options that choose a recording and a time range in it.

use std::path::PathBuf;

use clap::Args;

use super::options::{EnsembleOptions, SharedOptions};
use super::past;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_past::record::{Past, PastTime};

/// Which recording, and which time of it.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Recording")]
pub(super) struct RecordingOptions {
    /// The recording, a file that `lockscope record` writes or wrote
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    /// From this time on, as in 02:13, -10m or 2026-05-01T02:13:00Z [default: from the beginning]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<PastTime>,
    /// Up to this time [default: up to the end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<PastTime>,
    /// Show and read times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

impl RecordingOptions {
    /// Returns the options shared with other commands.
    pub(super) fn shared(&self) -> SharedOptions {
        SharedOptions {
            ensemble: EnsembleOptions { utc: self.utc, ..EnsembleOptions::default() },
            ..SharedOptions::default()
        }
    }

    /// Returns the requested range; a bound that was not given is `None`.
    pub(super) fn window(&self, utc: bool) -> anyhow::Result<(Option<Timestamp>, Option<Timestamp>)> {
        let TimeRange { from, to } = past::span(&mut Past::open(&self.store)?, self.from, self.to, &self.store, utc)?;
        Ok((self.from.map(|_| from), self.to.map(|_| to)))
    }
}

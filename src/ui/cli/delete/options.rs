//! The options of `delete`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::super::duration;
use super::super::options::{ChangeOptions, EnsembleOptions, OutputOptions, SharedOptions, WhichLocks};
use lockscope_base::znode::{SessionId, ZnodePath};

/// The least age of empty lock parents: the servers' clock is known to within a second, so that a
/// shorter age says nothing.
const MIN_OLDER_THAN: Duration = Duration::from_secs(1);

/// The expected owner of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ExpectedOwner {
    /// No session.
    None,
    /// This session.
    Session(SessionId),
}

impl ExpectedOwner {
    /// Returns whether `owner` is the expected one.
    pub(super) fn is(self, owner: Option<SessionId>) -> bool {
        match self {
            Self::None => owner.is_none(),
            Self::Session(session) => owner == Some(session),
        }
    }
}

/// The options of `lockscope delete`.
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other")]
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Deletion")]
pub(in crate::cli) struct DeleteOptions {
    /// The node: a contender, or an empty lock parent
    #[arg(value_name = "PATH", help_heading = None::<&'static str>, required_unless_present = "empty_parents")]
    pub path: Option<ZnodePath>,
    /// Delete all empty lock parents below this node instead, at most 10,000 in one run
    #[arg(long, value_name = "BELOW", requires = "older_than")]
    pub empty_parents: Option<ZnodePath>,
    /// Delete only those whose last child went longer ago than this, as in 7d
    #[arg(long, value_name = "DURATION", requires = "empty_parents", value_parser = older_than)]
    pub older_than: Option<Duration>,
    /// Delete it only if this session owns it, as in 0x10000a2b3c40001; with `none`, only if no
    /// session does
    #[arg(long, value_name = "SESSION", value_parser = owner)]
    pub session: Option<ExpectedOwner>,
    /// Delete it only if this transaction created it
    #[arg(long, value_name = "ZXID")]
    pub czxid: Option<i64>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// On a production ensemble, --yes also needs this: the name of its context in the config file
    #[arg(long, value_name = "CONTEXT")]
    pub production: Option<String>,
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Delete it even if it holds the lock and its owner is connected, or may be
    #[arg(long)]
    pub even_if_live: bool,
    /// Delete it even if the deletion cannot be guarded: a node that gets the same name at that
    /// moment may be deleted instead
    #[arg(long)]
    pub even_if_unguarded: bool,
    /// Ask the owner to release instead, as Curator does: works if the application made the lock
    /// revocable
    #[arg(long)]
    pub revoke: bool,
    /// Record intent and outcome in this file [default: $XDG_STATE_HOME/lockscope/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    /// Treat this node as a single-node lock although its name does not show it; can be given
    /// several times
    #[arg(long, value_name = "PATH")]
    pub lock: Option<Vec<ZnodePath>>,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl DeleteOptions {
    pub(in crate::cli) fn shared(&self) -> SharedOptions {
        let Self { audit_log, lock, output, ensemble, .. } = self.clone();
        SharedOptions {
            locks: WhichLocks { lock, ..WhichLocks::default() },
            changes: ChangeOptions { audit_log, ..ChangeOptions::default() },
            output,
            ensemble,
            ..SharedOptions::default()
        }
    }
}

fn older_than(text: &str) -> Result<Duration, String> {
    let age = duration::parse(text)?;
    if age < MIN_OLDER_THAN {
        return Err("it must be at least 1s, since the servers' clock is known to within a second".to_owned());
    }
    Ok(age)
}

fn owner(text: &str) -> Result<ExpectedOwner, String> {
    if text == "none" {
        return Ok(ExpectedOwner::None);
    }
    let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let bits = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let session = bits.filter(|bits| *bits != 0).map(|bits| ExpectedOwner::Session(SessionId(bits.cast_signed())));
    session.ok_or_else(|| "write a session as 0x10000a2b3c40001, or none".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_as_it_is_shown() {
        assert_eq!(owner("0xffffffffffffffff"), Ok(ExpectedOwner::Session(SessionId(-1))));
        assert_eq!(owner("none"), Ok(ExpectedOwner::None));
        for text in ["", "0x", "0x0", "0x+1", "1", "0x1ffffffffffffffff", "None"] {
            assert!(owner(text).is_err(), "{text:?}");
        }
    }
}

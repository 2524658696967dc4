//! Reads the answers to four-letter words. Each function takes the text of an answer, which may be
//! truncated anywhere.
//!
//! A listing is whole if the answer has the end that servers write and every line was understood.

mod conf;
mod cons;
mod dump;
mod mntr;
mod srvr;
mod watches;

pub use conf::{conf, limits};
pub use cons::{Connections, cons};
pub use dump::{dump, ephemerals};
pub use mntr::mntr;
pub use srvr::{Srvr, srvr};
pub use watches::{WatchedPathsReader, wchs};

use lockscope_base::znode::SessionId;

/// The unsorted items of a listing, and whether the listing is whole.
pub(super) type Read<T> = (Vec<T>, bool);

/// Returns the lines that end with a line break.
fn whole_lines(answer: &str) -> std::str::Lines<'_> {
    answer.rfind('\n').map_or("", |end| &answer[..end]).lines()
}

/// Reads a session's id in the notation of four-letter words: `0x` and unsigned hex.
fn session(text: &str) -> Option<SessionId> {
    let digits = text.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().map(|bits| SessionId(bits.cast_signed()))
}

/// Reads the number of a transaction or a request.
fn hex(text: &str) -> Option<i64> {
    session(text).map(|id| id.0)
}

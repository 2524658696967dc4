//! The answers to four-letter words. Each function takes the text of an answer, which may be cut anywhere, and time is what the
//! answer says.
//!
//! A listing is whole when the answer has the end that the server gives it and every line of it was understood.

mod conf;
mod cons;
mod dump;
mod mntr;
mod srvr;
mod watches;

pub use conf::conf;
pub use cons::{Connections, cons};
pub use dump::dump;
pub use mntr::mntr;
pub use srvr::{Srvr, srvr};
pub use watches::{WatchedPathsReader, wchs};

use lockscope_base::znode::SessionId;

/// What a listing holds before it is sorted, and whether nothing is missing.
pub(super) type Read<T> = (Vec<T>, bool);

/// The lines that came to their end.
fn whole_lines(answer: &str) -> std::str::Lines<'_> {
    answer.rfind('\n').map_or("", |end| &answer[..end]).lines()
}

/// A session's id as the words write it, `0x` and unsigned hex.
fn session(text: &str) -> Option<SessionId> {
    let digits = text.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().map(|bits| SessionId(bits.cast_signed()))
}

/// A number as the words write transactions and requests.
fn hex(text: &str) -> Option<i64> {
    session(text).map(|id| id.0)
}

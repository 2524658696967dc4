//! Text that people read: numbers, durations and times in words ([`human`]), and whatever comes from a znode or a server,
//! harmless and in so many columns. Pure.
//!
//! Architecture invariant: whatever comes from a znode or a server reaches the terminal only through [`fit()`],
//! [`fit_bytes`], [`wrap_words`] or [`wrap_bytes`]. They escape what a terminal would obey, what turns the direction of
//! writing, and heaps of combining marks; and they measure in columns, not in bytes.

mod columns;
mod fit;
mod html_page;
pub mod human;
mod wrap;

pub use self::columns::{Align, columns};
pub use self::fit::{Keep, cut, fit, fit_bytes, session, width};
pub use self::html_page::html_page;
pub use self::wrap::{wrap_bytes, wrap_words};

/// The characters that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// All of Unicode.
    Unicode,
    /// Only ASCII: every other character is shown as an escape.
    Ascii,
}

impl Charset {
    /// ASCII where that is asked for.
    pub fn new(ascii: bool) -> Self {
        if ascii { Self::Ascii } else { Self::Unicode }
    }

    /// What stands where something was left out; one column.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "~",
        }
    }
}

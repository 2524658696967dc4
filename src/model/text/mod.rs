//! Text for people: numbers, durations and times ([`human`]), and text from znodes and servers,
//! made safe and fitted into columns.
//!
//! The module is pure. Architecture invariant: text from a znode or a server reaches the terminal
//! only through [`fit()`], [`fit_bytes`], [`wrap_words`] or [`wrap_bytes`]. These escape what a
//! terminal would obey, what changes the direction of writing, and many combining marks on one
//! letter. They measure in columns, not in bytes.

mod columns;
mod fit;
mod html_page;
pub mod human;
mod wrap;

pub use self::columns::{Align, columns};
pub use self::fit::{Keep, cut, fit, fit_bytes, session, width};
pub use self::html_page::{html_page, tenth, whole};
pub use self::wrap::{wrap_bytes, wrap_words};

/// The characters that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// All of Unicode.
    Unicode,
    /// Only ASCII. Every other character is shown as an escape.
    Ascii,
}

impl Charset {
    /// Returns ASCII if `ascii` is set, otherwise Unicode.
    pub fn new(ascii: bool) -> Self {
        if ascii { Self::Ascii } else { Self::Unicode }
    }

    /// Returns the sign for left-out text, one column wide.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "~",
        }
    }
}

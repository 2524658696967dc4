//! The four-letter words that this crate sends.

/// The words that only read; this crate sends no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Version, mode and counts. Cheap, and allowed by default.
    Srvr,
    /// All connections. The answer grows with their number.
    Cons,
    /// All sessions with their ephemeral nodes.
    Dump,
    /// The number of watches. Cheap.
    Wchs,
    /// All watched paths with the sessions that watch them. Expensive: the answer grows with the
    /// number of watches.
    Wchp,
    /// The server's statistics. Cheap.
    Mntr,
    /// The server's settings. Cheap.
    Conf,
}

impl Word {
    /// Returns the word as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Srvr => "srvr",
            Self::Cons => "cons",
            Self::Dump => "dump",
            Self::Wchs => "wchs",
            Self::Wchp => "wchp",
            Self::Mntr => "mntr",
            Self::Conf => "conf",
        }
    }
}

/// All words that this crate may send, in the syntax of `4lw.commands.whitelist`.
pub const NEEDED_WORDS: &str = "cons,dump,mntr,srvr,wchp,wchs,conf";

//! The four-letter words that are asked.

/// The words that only read, which is all that this crate ever sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Version, mode, counts. Cheap, and allowed by default.
    Srvr,
    /// Every connection. The answer grows with their number.
    Cons,
    /// Every session with its ephemeral nodes.
    Dump,
    /// How many watches there are. Cheap.
    Wchs,
    /// Every watched path with the sessions that watch it. Costly: the answer grows with the number of watches.
    Wchp,
    /// The server's figures. Cheap.
    Mntr,
    /// The server's settings. Cheap.
    Conf,
}

impl Word {
    /// As it is sent.
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

/// The words that a server must allow for all that is asked, as `4lw.commands.whitelist` takes them.
pub const NEEDED_WORDS: &str = "cons,dump,mntr,srvr,wchp,wchs,conf";

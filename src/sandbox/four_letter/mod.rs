//! The four-letter words: what the server tells about itself, in the form in which a real one does.

mod connections;
mod environment;
mod figures;
mod watches;

use std::fmt;

use super::machine::Machine;

/// Where a real server names its version: that of the server that this one behaves as, with what it is in the place of a
/// commit, and that release's date. Clients parse it.
pub const VERSION: &str = concat!("3.8.0-lockscope-", env!("CARGO_PKG_VERSION"), ", built on 2022-02-25 08:49 UTC");

/// A word that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Ruok,
    Srvr,
    Stat,
    Envi,
    Mntr,
    Cons,
    Dump,
    Wchs,
    Wchp,
    Wchc,
    Conf,
    Isro,
}

impl Word {
    pub fn of(bytes: [u8; 4]) -> Option<Self> {
        Some(match &bytes {
            b"ruok" => Self::Ruok,
            b"srvr" => Self::Srvr,
            b"stat" => Self::Stat,
            b"envi" => Self::Envi,
            b"mntr" => Self::Mntr,
            b"cons" => Self::Cons,
            b"dump" => Self::Dump,
            b"wchs" => Self::Wchs,
            b"wchp" => Self::Wchp,
            b"wchc" => Self::Wchc,
            b"conf" => Self::Conf,
            b"isro" => Self::Isro,
            _ => return None,
        })
    }

    /// The whole answer; `None` when it is longer than so many bytes. The costly ones look at every connection, session or
    /// watch.
    pub fn answer(self, machine: &Machine, now: i64, longest: usize) -> Option<String> {
        let mut text = BoundedText { written: String::new(), longest, is_whole: true };
        match self {
            Self::Ruok => text.push_str("imok"),
            Self::Isro => text.push_str("rw"),
            Self::Srvr => figures::srvr(&mut text, machine),
            Self::Stat => figures::stat(&mut text, machine),
            Self::Envi => environment::envi(&mut text, machine),
            Self::Mntr => figures::mntr(&mut text, machine, now),
            Self::Conf => figures::conf(&mut text, machine),
            Self::Cons => connections::cons(&mut text, machine),
            Self::Dump => connections::dump(&mut text, machine, now),
            Self::Wchs => watches::wchs(&mut text, machine),
            Self::Wchp => watches::wchp(&mut text, machine),
            Self::Wchc => watches::wchc(&mut text, machine),
        }
        text.is_whole.then_some(text.written)
    }
}

/// An answer as long as it is short enough.
struct BoundedText {
    written: String,
    longest: usize,
    is_whole: bool,
}

impl BoundedText {
    fn push_str(&mut self, more: &str) {
        self.is_whole &= self.written.len() + more.len() <= self.longest;
        if self.is_whole {
            self.written.push_str(more);
        }
    }
}

impl fmt::Write for BoundedText {
    /// Never fails: what is too long is left out.
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push_str(more);
        Ok(())
    }
}

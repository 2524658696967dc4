//! The four-letter words: what the server tells about itself, in the form in which a real one does.

mod connections;
mod environment;
mod figures;
mod watches;

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

    /// The whole answer. The costly ones look at every connection, session or watch.
    pub fn answer(self, machine: &Machine, now: i64) -> String {
        match self {
            Self::Ruok => "imok".to_owned(),
            Self::Isro => "rw".to_owned(),
            Self::Srvr => figures::srvr(machine),
            Self::Stat => figures::stat(machine),
            Self::Envi => environment::envi(machine),
            Self::Mntr => figures::mntr(machine, now),
            Self::Conf => figures::conf(machine),
            Self::Cons => connections::cons(machine),
            Self::Dump => connections::dump(machine, now),
            Self::Wchs => watches::wchs(machine),
            Self::Wchp => watches::wchp(machine),
            Self::Wchc => watches::wchc(machine),
        }
    }
}

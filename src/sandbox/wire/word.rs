//! The four-letter words that the server answers. A word takes the place of the first frame.

/// A four-letter word.
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
}

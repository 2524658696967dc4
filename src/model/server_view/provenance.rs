//! What a server's answers can prove, depending on how they were transmitted.

use serde::{Deserialize, Serialize};

/// How data travels between a server and us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Unencrypted: anyone on the network path can read and change it.
    Plain,
    /// Encrypted, from a server whose certificate was checked.
    Tls,
}

/// What a server's answers about itself can prove, depending on how they were transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// The answers are as trustworthy as our session with the ensemble: both over TLS, or the
    /// session in plain text.
    #[default]
    AsSession,
    /// The answers arrived in plain text while our session uses TLS. Anyone on the network path can
    /// have forged them, so they prove nothing.
    PlainBesideTls,
}

impl Provenance {
    /// Returns the provenance of answers, given the transports of the answers and of our session.
    pub fn of(answers: Transport, session: Transport) -> Self {
        match (answers, session) {
            (Transport::Plain, Transport::Tls) => Self::PlainBesideTls,
            _ => Self::AsSession,
        }
    }

    /// Returns whether such answers can prove anything.
    pub fn can_prove(self) -> bool {
        self == Self::AsSession
    }
}

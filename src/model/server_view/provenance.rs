//! What a server's answers are worth, by the way that they came.

use serde::{Deserialize, Serialize};

/// How something travels between a server and us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Whoever sits between can read and change it.
    Plain,
    /// Encrypted, from a server whose certificate was checked.
    Tls,
}

/// What a server's answers about itself are worth, by the way that they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// They came as safely as what comes through our session with the ensemble: over TLS, or both in plain text.
    #[default]
    AsSession,
    /// They came in plain text while our session is over TLS: whoever sits between can have written them, so that they prove
    /// nothing.
    PlainBesideTls,
}

impl Provenance {
    /// Of answers that came so, beside a session that goes so.
    pub fn of(answers: Transport, session: Transport) -> Self {
        match (answers, session) {
            (Transport::Plain, Transport::Tls) => Self::PlainBesideTls,
            _ => Self::AsSession,
        }
    }

    /// Whether something can be proved by such answers.
    pub fn can_prove(self) -> bool {
        self == Self::AsSession
    }
}

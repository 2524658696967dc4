//! How a command ends that did what it was asked for.

use lockscope_model::report::ServiceStatus;

/// Whether the answer is yes. What could not be done is an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It is done, and nothing speaks against it.
    Yes,
    /// It is done, and the answer is no.
    No,
    /// How the locks are, as monitoring counts it.
    Monitored(ServiceStatus),
    /// This signal came a second time, and ended it at once.
    Ended(u8),
}

impl Verdict {
    /// The program's exit code; that of a signal is what shells give to whom it killed.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Monitored(status) => status.code(),
            Self::Ended(signal) => signal.saturating_add(128),
        }
    }
}

//! The result of a command that did its work.

use lockscope_model::report::ServiceStatus;

/// The answer of a command. A failure is an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ExitAnswer {
    /// The work is done, and the answer is yes.
    Yes,
    /// The work is done, and the answer is no.
    No,
    /// The state of the locks, as a monitoring status.
    Monitored(ServiceStatus),
    /// The number of a signal that came a second time and ended the command at once.
    Ended(u8),
}

impl ExitAnswer {
    /// Returns the program's exit code; for a signal it is the one that shells report.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Monitored(status) => status.code(),
            Self::Ended(signal) => signal.saturating_add(128),
        }
    }
}

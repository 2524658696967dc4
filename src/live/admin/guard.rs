//! The guard between a plan and its execution: the permission to change the ensemble, and the
//! confirmation of the plan.

use super::{Confirmation, DeletePlan};

/// The permission to change the ensemble. [`ProtectionGuard::permit`] grants it, right before the
/// change.
///
/// [`ProtectionGuard::permit`]: super::ProtectionGuard::permit
#[derive(Debug)]
pub struct Permission(());

impl Permission {
    /// Grants it: the protection of the ensemble was looked at.
    pub(super) fn granted() -> Self {
        Self(())
    }

    /// Grants it without a look, for ensembles that nobody depends on: simulated ones, and those of
    /// tests.
    #[doc(hidden)]
    pub fn unchecked() -> Self {
        Self(())
    }
}

/// Something that was shown to a person and confirmed. Only [`confirm`] creates one.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Confirmed<T> {
    what: T,
    by: &'static str,
}

impl<T> Confirmed<T> {
    /// Returns what was confirmed.
    pub fn what(&self) -> &T {
        &self.what
    }

    /// Returns the way of confirmation, for the audit log.
    pub(super) fn by(&self) -> &'static str {
        self.by
    }
}

/// The reason why an answer does not confirm. Each message is one sentence that says what to
/// answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The answer is not a yes.
    #[error("nothing was done: only y or yes confirms")]
    NotYes,
    /// The answer is not the requested number.
    #[error("nothing was done: type {0} to confirm")]
    NotTheNumber(String),
    /// The answer is not the name of the context.
    #[error("nothing was done: people depend on this ensemble; type {0} to confirm")]
    NotTheContext(String),
}

/// Confirms a plan if the answer is what its [`confirmation`](DeletePlan::confirmation) requires.
/// Surrounding blanks and the case of a yes do not matter.
pub fn confirm(plan: DeletePlan, answer: &str) -> Result<Confirmed<DeletePlan>, Refused> {
    let answer = answer.trim();
    let wanted = plan.confirmation();
    let is_typed = wanted.typed().is_some_and(|typed| answer == typed);
    match wanted {
        Confirmation::Yes if ["y", "yes"].iter().any(|yes| answer.eq_ignore_ascii_case(yes)) => {
            Ok(Confirmed { what: plan, by: "yes" })
        }
        Confirmation::Yes => Err(Refused::NotYes),
        Confirmation::SequenceNumber(expected) if is_same(&expected, answer) => {
            Ok(Confirmed { what: plan, by: "sequence-number" })
        }
        Confirmation::NodeCount(_) if is_typed => Ok(Confirmed { what: plan, by: "node-count" }),
        Confirmation::NodeCount(count) => Err(Refused::NotTheNumber(count.to_string())),
        Confirmation::SequenceNumber(expected) => Err(Refused::NotTheNumber(expected)),
        Confirmation::Context { .. } if is_typed => Ok(Confirmed { what: plan, by: "context-name" }),
        wanted @ Confirmation::Context { .. } => Err(Refused::NotTheContext(wanted.typed().unwrap_or_default())),
    }
}

/// Returns whether the answer is the expected text, or the same number with leading zeros.
fn is_same(expected: &str, answer: &str) -> bool {
    let number = |text: &str| text.parse::<i64>().ok();
    answer == expected || (number(expected).is_some() && number(expected) == number(answer))
}

//! The guard between a plan and its execution: the permission to change anything, and the confirmation of the plan.

use super::{Confirmation, DeletePlan};

/// The permission to change the ensemble. The console is read-only without it.
#[derive(Debug)]
pub struct Permission(());

impl Permission {
    /// What the `--write` switch gives: nothing, when it is off.
    pub fn of_write_switch(write: bool) -> Option<Self> {
        write.then_some(Self(()))
    }

    /// The permission that lies in the choice of a subcommand that changes the ensemble.
    pub fn of_subcommand() -> Self {
        Self(())
    }
}

/// Something that was shown to somebody and confirmed. Only [`confirm`] makes one.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Confirmed<T> {
    what: T,
    by: &'static str,
}

impl<T> Confirmed<T> {
    /// What was confirmed.
    pub fn what(&self) -> &T {
        &self.what
    }

    /// How, for the audit log.
    pub(super) fn by(&self) -> &'static str {
        self.by
    }
}

/// Why an answer does not confirm. Each message is one sentence that says what to answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Anything but a yes.
    #[error("nothing was done: only y or yes confirms")]
    NotYes,
    /// Not the number that was asked for.
    #[error("nothing was done: type {0} to confirm")]
    NotTheNumber(String),
    /// Not the name of the context.
    #[error("nothing was done: people depend on this ensemble; type {0} to confirm")]
    NotTheContext(String),
}

/// Lets a plan pass when the answer is what its [`confirmation`](DeletePlan::confirmation) asks for. Blanks around it and the case of
/// a yes do not matter.
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
        Confirmation::SequenceNumber(expected) => Err(Refused::NotTheNumber(expected)),
        Confirmation::Context { .. } if is_typed => Ok(Confirmed { what: plan, by: "context-name" }),
        wanted @ Confirmation::Context { .. } => Err(Refused::NotTheContext(wanted.typed().unwrap_or_default())),
    }
}

/// Whether the answer is the expected text, or the same number written with leading zeros.
fn is_same(expected: &str, answer: &str) -> bool {
    let number = |text: &str| text.parse::<i64>().ok();
    answer == expected || (number(expected).is_some() && number(expected) == number(answer))
}

//! The facts that recipes read from a contender's name.

use super::kind::Recipe;
use super::own::OwnRecipe;
use super::request::RequestMode;
use crate::znode::Sequence;

/// The facts in a contender's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName<'a> {
    /// The recipe that creates such names.
    pub recipe: Recipe,
    /// The mode of the request.
    pub mode: RequestMode,
    /// The node's number in the queue; `None` for nodes that the server did not number.
    pub sequence: Option<Sequence>,
    /// The part that names the lock, if one parent can hold several locks.
    pub lock_name: Option<&'a str>,
    /// The id of the attempt, if the name has one: a UUID, 32 hex digits or a session. Two nodes
    /// with one id are one attempt whose reply was lost.
    pub attempt: Option<&'a str>,
}

impl ChildName<'_> {
    /// Creates a name without further facts. The families read the part before the number;
    /// [`read`](super::read) adds the number.
    pub(super) fn of(recipe: Recipe, mode: RequestMode) -> Self {
        Self { recipe, mode, sequence: None, lock_name: None, attempt: None }
    }
}

impl OwnRecipe {
    /// Reads a child's name. Returns `None` if the name does not fit this recipe.
    pub fn read(self, name: &str) -> Option<ChildName<'_>> {
        let (mode, matched) = self.parts(name)?;
        Some(ChildName {
            recipe: Recipe::Own(self),
            mode,
            sequence: matched.sequence,
            lock_name: matched.lock,
            attempt: matched.attempt,
        })
    }
}

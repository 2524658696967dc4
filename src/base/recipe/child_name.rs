//! What the families of recipes read from a contender's name.

use super::kind::Recipe;
use super::own::OwnRecipe;
use super::request::RequestMode;
use crate::znode::Sequence;

/// What a contender's name alone says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName<'a> {
    /// The recipe that makes such names.
    pub recipe: Recipe,
    /// What it asks for.
    pub mode: RequestMode,
    /// Its number in the queue; `None` for nodes that the server did not number.
    pub sequence: Option<Sequence>,
    /// The part that names the lock, where one parent can hold several; `None` otherwise.
    pub lock_name: Option<&'a str>,
    /// The id that its maker put into the name for this one attempt (a UUID, 32 hex digits, the session): two nodes
    /// with one id are one attempt whose reply was lost. `None` when the name has none.
    pub attempt: Option<&'a str>,
}

impl ChildName<'_> {
    /// A name that says no more than this. The families read what stands before the number; [`read`](super::read) adds the number.
    pub(super) fn of(recipe: Recipe, mode: RequestMode) -> Self {
        Self { recipe, mode, sequence: None, lock_name: None, attempt: None }
    }
}

impl OwnRecipe {
    /// What a child's name says, when it is one of this recipe.
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

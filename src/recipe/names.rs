use super::{Mode, Recipe};
use crate::znode::Sequence;

/// What a contender's name alone tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName<'a> {
    /// The recipe that makes such names.
    pub recipe: Recipe,
    /// What it asks for.
    pub mode: Mode,
    /// Its number in the queue; `None` for nodes that the server did not number.
    pub sequence: Option<Sequence>,
    /// The part that names the lock, where one parent can hold several.
    pub lock_name: Option<&'a str>,
    /// The id that its maker put into the name for this one attempt (a UUID, 32 hex digits): two nodes
    /// with one id are one attempt whose reply was lost.
    pub attempt: Option<&'a str>,
}

/// Reads the name of a child. `None` when no contender bears such a name.
pub fn read(name: &str) -> Option<ChildName<'_>> {
    let _ = name;
    None
}

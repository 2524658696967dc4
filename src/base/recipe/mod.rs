//! The meaning of a child's name: which library made it, which kind of lock it belongs to, its role
//! there, and what it waits for. `names` tells the families of recipes apart.
//!
//! Pure: a name comes in, a meaning goes out. [`read`] knows one name alone. [`Classifier`] also
//! knows the neighbours, since a semaphore spreads over two parents, and assigns a node to a lock.

mod classifier;
mod kind;
mod names;
mod own;
mod terms;

#[cfg(test)]
mod tests;

pub use classifier::{Classification, Classifier, PathPattern, Role, is_named_election, name_matches};
pub use kind::{Recipe, WaitRule, WrittenRecipe, written};
pub use names::{ChildName, read};
pub use own::{BadPattern, BadRecipe, Definition, NameRole, OwnRecipe};
pub use terms::{LockKind, RequestMode, is_never_reused, is_of_own_lock};

//! The meaning of a child's name: which library made it, which kind of lock it belongs to, its role
//! there, and what it waits for. Each family of recipes has a file.
//!
//! Pure: a name comes in, a meaning goes out. [`read`] knows one name alone. [`Classifier`] also
//! knows the neighbours, since a semaphore spreads over two parents, and assigns a node to a lock.

mod child_name;
mod classifier;
mod curator;
mod election;
mod ids;
mod kazoo;
mod kind;
mod named_election;
mod names;
mod other;
mod own;
mod path_pattern;
mod patterns;
mod request;
mod single;
mod textbook;
mod zookeeper;

#[cfg(test)]
mod tests;

pub use child_name::ChildName;
pub use classifier::{Classification, Classifier, Role};
pub use ids::{is_never_reused, is_of_own_lock};
pub use kind::{Recipe, WaitRule};
pub use named_election::is_named_election;
pub use names::read;
pub use own::{BadPattern, BadRecipe, Definition, NameRole, OwnRecipe};
pub use path_pattern::PathPattern;
pub use patterns::{WrittenRecipe, written};
pub use request::{LockKind, RequestMode};

//! What a child's name means: which library made it, which kind of lock it belongs to, what it is there,
//! and whom it waits for. One file a family of recipes.
//!
//! Pure: a name comes in, a meaning goes out. [`read`] knows one name alone; [`Classifier`] knows what stands around it
//! (a semaphore spreads over two parents) and says to which lock a node belongs.

mod child_name;
mod classifier;
mod curator;
mod ids;
mod kazoo;
mod kind;
mod names;
mod other;
mod own;
mod patterns;
mod request;
mod single;
mod textbook;
mod zookeeper;

#[cfg(test)]
mod tests;

pub use child_name::ChildName;
pub use classifier::{Classification, Classifier, Role};
pub use ids::is_never_reused;
pub use kind::{Recipe, WaitRule};
pub use names::read;
pub use own::{BadPattern, BadRecipe, Definition, NameRole, OwnRecipe};
pub use patterns::{WrittenRecipe, written};
pub use request::{LockKind, RequestMode};

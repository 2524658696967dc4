//! What a child's name means: which library made it, which kind of lock it belongs to, which part it plays there,
//! and whom it waits for. One file a family of recipes.
//!
//! Pure: a name comes in, a meaning goes out. [`read`] knows one name alone; [`Shape`] knows what stands around it
//! (a semaphore spreads over two parents) and tells to which lock a node belongs.

mod curator;
mod ids;
mod kazoo;
mod kind;
mod names;
mod other;
mod shape;
mod single;
mod textbook;
mod zookeeper;

#[cfg(test)]
mod tests;

pub use ids::is_never_reused;
pub use kind::{Kind, Mode, Recipe, WaitRule};
pub use names::{ChildName, read};
pub use shape::{Place, Role, Shape};

//! The past: the stream of changes in a file, written while it happens and played back as the same stream.

mod schema;
mod store;

pub use store::{Store, StoreError};

//! The ensemble's own time line, beside that of the locks: who led, whether a majority worked
//! together, which members answered.

mod kind;

pub use kind::EnsembleEventKind;

//! Reads a transaction log.

mod budget;
mod item;
mod reader;
mod record;
mod scan;
#[cfg(test)]
mod tests;
mod window;

pub use item::{Damage, LogEnd, LogItem, Record, Why};
pub use reader::LogReader;
pub use record::MAX_RECORD;

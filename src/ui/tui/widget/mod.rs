//! The building blocks of the screens: tables, sparklines, boxes and text output.

pub mod panel;
pub mod spark;
pub mod table;
pub mod write;

//! What the screens are made of: text that fits, figures, tables, sparklines, boxes.

pub mod panel;
pub mod spark;
pub mod table;
pub mod write;

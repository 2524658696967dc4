#![doc = include_str!("../../assets/docs/architecture.md")]

pub mod cli;
pub mod tui;

#![doc = include_str!("../../assets/docs/architecture.md")]

pub mod cli;
pub mod tui;

#[cfg(test)]
use lockscope_model::testing;

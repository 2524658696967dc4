#![doc = include_str!("../../assets/docs/architecture.md")]

pub mod cli;
#[cfg(test)]
#[expect(dead_code, reason = "the model's own tests use the rest")]
#[path = "../model/testing.rs"]
mod testing;
pub mod tui;

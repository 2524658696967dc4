//! The screen.
pub mod app;
pub mod details;
pub mod help;
pub mod keymap;
pub mod theme;
pub mod view;
pub mod widget;

#[cfg(test)]
mod testing;

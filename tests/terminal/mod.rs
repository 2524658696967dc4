//! The program in a real terminal.

mod contend;
mod delete;
mod endings;
mod hostile;
mod pictures;
mod suspend;
mod trouble;
mod walk;

//! The program in a real terminal.

mod endings;
mod hostile;
mod pictures;
mod suspend;
mod walk;

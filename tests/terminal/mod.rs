//! The program in a real terminal.

mod pictures;

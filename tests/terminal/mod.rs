//! The program in a real terminal.

mod contend;
mod contexts;
mod delete;
mod demo;
mod endings;
mod ensembles;
mod habits;
mod help;
mod hostile;
mod last_leader;
mod lately;
mod muted;
mod node_page;
mod own_commands;
mod past_import;
mod pictures;
mod questions;
mod recording;
mod replay_memory;
mod restart;
mod rewind;
mod suspend;
mod tree;
mod trouble;
mod walk;

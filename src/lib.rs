//! Lock queues of an Apache ZooKeeper ensemble: watched, explained, shown.

pub mod cli;
pub mod observe;
pub mod queue;
pub mod recipe;
pub mod report;
pub mod tui;
pub mod zk;
pub mod znode;

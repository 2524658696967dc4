//! The program without a screen, against real servers: what it prints, and how it ends.

mod access;
mod check;
mod contend;
mod hostile;
mod incident;
mod login;
mod metrics;
mod plot;
pub mod program;
mod record;
mod record_disk;
mod record_exact;
mod semaphores;
mod server_view;
mod short_sessions;
mod snapshot;
mod watch;

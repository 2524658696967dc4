//! The subcommands against real servers: their output, and how they end.

mod access;
mod check;
mod contend;
mod doctor;
mod duty;
mod hostile;
mod incident;
mod login;
mod members;
mod metrics;
mod night;
mod otlp;
mod plot;
pub mod program;
mod record;
mod record_disk;
mod record_exact;
mod record_gone;
mod semaphores;
mod server_view;
mod servers_out;
mod several;
mod short_sessions;
mod since;

mod snapshot;
mod tree;
mod watch;

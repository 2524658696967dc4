//! What is true on a real server, with real foreign clients.

#[path = "../harness/mod.rs"]
mod harness;

mod foreign_clients;
mod observe;
mod relays;
mod servers;

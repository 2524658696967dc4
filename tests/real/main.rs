//! Tests with a real server, real foreign clients and a real terminal.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../terminal/mod.rs"]
mod terminal;

mod admin;
mod bounds;
mod contend;
mod failures;
mod foreign_clients;
mod headless;
mod import;
mod incidents;
mod lagging;
mod locks;
mod observe;
mod played;
mod relay_faults;
mod relays;
mod requests;
mod sandbox;
mod security;
mod server_view;
mod servers;
mod session_ends;
mod shown;
mod transport;

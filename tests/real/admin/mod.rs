//! Deleting other people's nodes: only the confirmed node, and never without a line in the audit
//! log.

mod access;
mod again;
mod cases;
mod command;
mod empty_parents;
mod faults;
mod interleavings;
mod killed;
mod plain_beside_tls;
mod plans;
mod production;
mod races;
mod remade;
mod revoke;

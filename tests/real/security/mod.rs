//! The program on servers that are secured: the console, `record`, `contend` and `delete` alike.

mod admin_server;
mod certificates;
mod fixture;
mod identities;
mod members;

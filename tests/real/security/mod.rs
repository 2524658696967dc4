//! The program on secured servers: the console, `record`, `contend` and `delete`.

mod admin_server;
mod certificates;
mod fixture;
mod identities;
mod members;

//! The observer: what it finds, what it costs, and that nothing keeps it from the truth.

mod bad_input;
mod batches;
mod connecting;
mod cost;
mod cuts;
pub mod fixture;
mod idle;
mod old_servers;
mod overload;
mod read_order;

//! The observer: what it finds, what it costs, and that its table always returns to the true state.

mod bad_input;
mod batches;
mod connecting;
mod cost;
mod cuts;
pub mod fixture;
mod idle;
mod keeper;
mod old_servers;
mod overload;
mod read_order;

//! The built-in locks on a real server: the properties of a correct lock.

mod ahead;
mod cost;
mod cuts;
mod exclusive;
mod fault_fixture;
mod fault_works;
mod faults;
pub mod fixture;
mod inside;
mod known;
mod late;
mod leaving;
mod losing;
mod making;
mod mixed;
mod new_session;
mod numbers;
mod ours;
mod partitions;
mod queueing;
mod recorded;
mod replaced;
mod restarts;
mod semaphore;
mod shared;
mod together;
mod wire;

//! What a correct lock must pass, of the built-in ones.

mod cost;
mod exclusive;
mod ground;
mod leaving;
mod losing;
mod making;
mod queueing;
mod semaphore;
mod shared;
mod together;

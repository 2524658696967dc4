//! Contend: starting test clients, what is done to them, what they say, and leaving them.

mod asking;
mod figures;
mod orders;
mod slow_motion;
mod starting;

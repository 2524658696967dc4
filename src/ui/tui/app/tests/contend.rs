//! Contend: starting test clients, acting on them, their figures, and quitting while they run.

mod asking;
mod figures;
mod orders;
mod slow_motion;
mod starting;

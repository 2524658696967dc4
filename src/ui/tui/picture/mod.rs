//! A queue as a picture: the holders, the waiters, what each watches, and the watch events on their
//! way to the woken clients. Pure: no ratatui, and time is an argument.
//!
//! ```text
//! FleetStatus --> TraceReplay --> QueuePicture --> Grid --> view
//!                 (trace,         (rows and        (columns, lines,
//!                  step by step)   what they watch) paths of events)
//! ```
//!
//! Architecture invariant: each moving event is an entry of the trace. This module never makes one
//! up.

mod causes;
mod clients;
mod grid;
mod important;
mod queue;
mod rates;
mod replay;
mod schedule;

#[cfg(test)]
mod tests;

pub use grid::{Direction, FlightPlace, Grid, GridRow, LineCell};
pub use queue::{Departure, LineState, PictureRow, QueuePicture, RowId, RowState, RowTrouble, WakeEffect, WatchLine};
pub use rates::WakeRates;
pub use replay::{ReplayGap, TraceReplay, WakeCounts};
pub use schedule::{Flight, RequestFlight};

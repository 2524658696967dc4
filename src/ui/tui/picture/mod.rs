//! A queue as a picture: who holds, who waits, what each watches, and the watch events on their way to those who are woken. Pure:
//! no ratatui, and time is an argument.
//!
//! ```text
//! FleetStatus --> TraceReplay --> QueuePicture --> Grid --> view
//!                 (trace,         (rows and        (columns, lines,
//!                  step by step)   what they watch) paths of events)
//! ```
//!
//! Architecture invariant: an event that moves is an entry of the trace. Nothing here makes one up.

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

//! Tests of incidents made by hand.

mod told;
mod written;

//! Tests of the table over trees that grow and shrink.

mod bounds;
mod children;
mod cost;
mod exclusive;
mod handover;
mod hold_history;
mod identity;
mod lifecycle;
mod property;
mod restored;
mod resumed;
mod returned;
mod sampled;
mod semaphore;
mod session_end;
mod settled;
mod shared;
mod timed;
mod unread;

use crate::testing::fixture::TableFixture;

use super::SampledCounts;

//! Tests of the table over trees that grow and shrink.

mod bounds;
mod children;
mod cost;
mod exclusive;
#[path = "../../../../tests/fixtures/fixture.rs"]
pub(crate) mod fixture;
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
#[path = "../../../../tests/fixtures/steps.rs"]
mod steps;
mod timed;
mod unread;

use fixture::TableFixture;

use super::SampledCounts;

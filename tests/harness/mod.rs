//! Real servers, foreign clients and what stands between them, for tests.
//!
//! Everything here ends with the value that stands for it, also when a test panics or its process is killed.
//! What the tests need beyond Rust is installed by `tests/run`.

pub mod browser;
pub mod certificates;
pub mod contend;
pub mod ensemble;
pub mod foreign;
pub mod picture;
pub mod process;
pub mod prometheus;
pub mod quorum_links;
pub mod raw;
#[expect(dead_code, reason = "the crates' own tests use the rest")]
#[path = "../../src/model/testing.rs"]
pub mod reading;
pub mod recording;
pub mod relay;
pub mod server;
pub mod settings;
pub mod signal;
pub mod terminal;
pub mod wait;
pub mod words;
pub mod zk;

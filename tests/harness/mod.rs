//! Real servers, foreign clients, and relays between them, for tests.
//!
//! Every server or process here ends when its value is dropped, also when a test panics or its
//! process is killed. `tests/run` installs what the tests need beyond Rust.

pub mod browser;
pub mod certificates;
pub mod collector;
pub mod contend;
pub mod elections;
pub mod ensemble;
pub mod foreign;
pub mod host;
pub mod jvm;
pub mod picture;
pub mod process;
pub mod prometheus;
pub mod quorum_links;
pub mod raw;
pub mod recording;
pub mod relay;
pub mod server;
pub mod settings;
pub mod signal;
pub mod spans;
pub mod terminal;
pub mod wait;
pub mod words;
pub mod zk;

pub use lockscope_model::testing as reading;

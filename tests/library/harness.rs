//! The part of the tests' harness that needs no console.

#[path = "../harness/certificates.rs"]
pub mod certificates;
#[path = "../harness/host.rs"]
pub mod host;
#[path = "../harness/jvm.rs"]
#[expect(dead_code, reason = "the console's own tests use the rest")]
pub mod jvm;
#[path = "../harness/process.rs"]
pub mod process;
#[path = "../harness/relay/mod.rs"]
pub mod relay;
#[path = "../harness/server.rs"]
pub mod server;
#[path = "../harness/settings.rs"]
pub mod settings;
#[path = "../harness/signal.rs"]
pub mod signal;
#[path = "../harness/wait.rs"]
pub mod wait;
#[path = "../harness/words.rs"]
pub mod words;
#[path = "../harness/zk.rs"]
pub mod zk;

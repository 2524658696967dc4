//! Logins by Kerberos: a real KDC, real servers, and the program built with the feature `gssapi`.

#[expect(dead_code, unused_imports, reason = "these tests use only a part of it")]
#[path = "../harness/mod.rs"]
mod harness;
#[expect(dead_code, reason = "these tests use only a part of it")]
#[path = "../real/headless/program.rs"]
mod program;

mod fixture;
mod kdc;
mod members;
mod refusals;
mod tickets;

//! Checks that arbitrary input from clients, in any order and cut anywhere, neither panics nor
//! leaves the sandbox's machine in an invalid state. An input is a script: see `Script::step`.

#![no_main]

mod check;
mod script;

// The pure parts of the sandbox, whose names are those that they have there.
#[path = "../../../src/sandbox/config.rs"]
mod config;
#[path = "../../../src/sandbox/four_letter.rs"]
mod four_letter;
#[expect(dead_code, reason = "sockets use what this does not")]
#[path = "../../../src/sandbox/machine/mod.rs"]
mod machine;
#[path = "../../../src/sandbox/tree/mod.rs"]
mod tree;
#[path = "../../../src/sandbox/watch.rs"]
mod watch;
#[path = "../../../src/sandbox/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|input: &[u8]| script::Script::new(input).run());

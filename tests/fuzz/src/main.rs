//! What any clients send, in any order and cut anywhere, must neither panic nor leave the sandbox's machine in a state that
//! cannot be. An input is a script: see `Script::step`.

#![no_main]

#[expect(dead_code, reason = "sockets use what this does not")]
mod sandbox;
mod script;

libfuzzer_sys::fuzz_target!(|input: &[u8]| script::Script::new(input).run());

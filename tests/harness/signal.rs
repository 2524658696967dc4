//! Sends signals to processes, without the program `kill`, which small systems lack.

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal, named as for `kill`, such as `TERM`. Panics if the process does not exist.
pub fn send(pid: u32, name: &str) {
    let signal = match name {
        "CONT" => Signal::CONT,
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "QUIT" => Signal::QUIT,
        "STOP" => Signal::STOP,
        "TERM" => Signal::TERM,
        "TSTP" => Signal::TSTP,
        other => panic!("no signal {other} is sent here"),
    };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(process, signal).unwrap_or_else(|error| panic!("signal {name} was not delivered to {pid}: {error}"));
}

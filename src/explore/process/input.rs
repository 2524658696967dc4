//! What reaches a process, and what comes out of it.

use crate::ensemble::{Message, Request};
use crate::program::Facts;

/// What reaches a process. A process is a function of its inputs: the same inputs in the same order
/// give the same outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A message of its member.
    Message(Message),
    /// Its connection breaks.
    Broken,
    /// Its connection was silent for so long that its library breaks it.
    Silent,
    /// It has a new connection.
    Connected,
    /// The servers answer a new connection with the end of the session.
    Expired,
    /// A second of the run begins. Each timer of the second before fires at its time.
    Second(u32),
    /// It was stopped and goes on in this second of the run, with the messages that have come
    /// meanwhile. It learns of the passed time and of all messages at once.
    Resumed { second: u32, messages: Vec<Message> },
    /// Its program goes on to the next step, such as a release.
    Continue,
    /// Its program drops the future or the guard that it has, and ends.
    GiveUp,
}

/// What a process has done with an input.
#[derive(Clone, Debug)]
pub struct Output {
    /// The requests that it sends.
    pub requests: Vec<(u32, Request)>,
    /// What its program has come to.
    pub facts: Facts,
    /// Whether it has a connection.
    pub connected: bool,
    /// Whether its library takes the session for ended.
    pub session_over: bool,
    /// Whether none of its tasks is left.
    pub is_done: bool,
}

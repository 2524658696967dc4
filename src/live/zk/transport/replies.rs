//! What a server sends after the handshake, checked while it passes: no byte is kept but those of a number. Pure.
//!
//! Whoever passes on what was fed without an error hands on nothing that the client library could choke on: a frame's last byte is
//! only fed without an error when the whole frame is what the request asked for.

use super::body::Body;
use super::outstanding::Outstanding;
use crate::zk::reply_fault::{MAX_REPLY, ReplyFault};

/// The number that a watch event has in place of a request's.
const EVENT: i32 = -1;
/// The number of every heartbeat.
const PING: i32 = -2;

/// A reply's number, the server's last transaction, and the error.
const HEADER: u32 = 16;

/// ZooKeeper's error codes end here.
const LOWEST_ERROR: i32 = -200;

/// Errors that end the session whatever was asked: it expired, its login failed, a login is required.
const FINAL_ERRORS: [i32; 3] = [-112, -115, -124];

/// That a login failed, or is required.
const LOGIN_ERRORS: [i32; 2] = [-115, -124];

/// A server that broke the protocol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// How many of the bytes belong to frames that were right, up to the end of the last of them.
    pub(super) whole: usize,
    pub(super) fault: ReplyFault,
}

/// What was in the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FedReplies {
    /// Watch events that have begun.
    pub(super) events: u64,
    /// Whether any request was answered.
    pub(super) answered: bool,
    /// Whether a login was refused, or is missing.
    pub(super) login_refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Length,
    Header,
    Body,
}

/// Reads the replies of one connection as they pass, in whatever pieces.
#[derive(Debug)]
pub(super) struct Replies {
    part: Part,
    kept: [u8; HEADER as usize],
    have: usize,
    /// What is still to come of the frame.
    left: u32,
    body: Body,
}

impl Replies {
    pub(super) fn new() -> Self {
        Self { part: Part::Length, kept: [0; HEADER as usize], have: 0, left: 0, body: Body::default() }
    }

    /// Whether a frame has begun and not ended.
    pub(super) fn is_within(&self) -> bool {
        self.part != Part::Length || self.have > 0
    }

    /// Checks the next bytes. After an error nothing more may be fed.
    pub(super) fn feed(&mut self, bytes: &[u8], outstanding: &mut Outstanding) -> Result<FedReplies, Broken> {
        let (mut rest, mut whole, mut seen) = (bytes, 0, FedReplies::default());
        while !rest.is_empty() {
            match self.advance(&mut rest, outstanding, &mut seen) {
                Ok(false) => {}
                Ok(true) => whole = bytes.len() - rest.len(),
                Err(fault) => return Err(Broken { whole, fault }),
            }
        }
        Ok(seen)
    }

    /// Takes some bytes; `true` at the end of a frame.
    fn advance(
        &mut self,
        rest: &mut &[u8],
        outstanding: &mut Outstanding,
        seen: &mut FedReplies,
    ) -> Result<bool, ReplyFault> {
        match self.part {
            Part::Length => {
                if self.keep(rest, 4) {
                    self.left = length(self.number(0))?;
                    self.part = Part::Header;
                }
                return Ok(false);
            }
            Part::Header => {
                if !self.keep(rest, HEADER as usize) {
                    return Ok(false);
                }
                self.left -= HEADER;
                self.header(outstanding, seen)?;
                self.part = Part::Body;
                // A body may be empty.
                self.body.feed(&mut &[][..], &mut self.left)?;
            }
            Part::Body => self.body.feed(rest, &mut self.left)?,
        }
        if !self.body.is_done() {
            return Ok(false);
        }
        if self.left > 0 {
            return Err(ReplyFault::Trailing);
        }
        self.part = Part::Length;
        Ok(true)
    }

    fn header(&mut self, outstanding: &mut Outstanding, seen: &mut FedReplies) -> Result<(), ReplyFault> {
        let (xid, error) = (self.number(0), self.number(12));
        seen.login_refused |= LOGIN_ERRORS.contains(&error);
        if FINAL_ERRORS.contains(&error) {
            self.body.ignore(self.left);
            return Ok(());
        }
        match xid {
            EVENT => {
                seen.events += 1;
                self.body.expect_event();
                return Ok(());
            }
            PING => {
                outstanding.pinged()?;
                self.body.ignore(self.left);
            }
            xid => {
                let answered = outstanding.answered(xid)?;
                match error {
                    0 => self.body.expect(answered, self.left),
                    LOWEST_ERROR..0 => self.body.ignore(self.left),
                    error => return Err(ReplyFault::UnknownError(error)),
                }
            }
        }
        seen.answered = true;
        Ok(())
    }

    /// Keeps bytes until there are as many as the goal, and begins anew then.
    fn keep(&mut self, bytes: &mut &[u8], goal: usize) -> bool {
        let take = (goal - self.have).min(bytes.len());
        self.kept[self.have..self.have + take].copy_from_slice(&bytes[..take]);
        *bytes = &bytes[take..];
        self.have += take;
        let is_whole = self.have == goal;
        if is_whole {
            self.have = 0;
        }
        is_whole
    }

    fn number(&self, at: usize) -> i32 {
        i32::from_be_bytes([self.kept[at], self.kept[at + 1], self.kept[at + 2], self.kept[at + 3]])
    }
}

/// The length of a frame, when there can be such a one.
fn length(number: i32) -> Result<u32, ReplyFault> {
    let length = u32::try_from(number).map_err(|_| ReplyFault::NegativeLength(number))?;
    match length {
        ..HEADER => Err(ReplyFault::Short),
        HEADER..=MAX_REPLY => Ok(length),
        _ => Err(ReplyFault::TooLarge(length)),
    }
}

#[cfg(test)]
mod tests;

//! Checks what a server sends after the handshake, as it passes. Only the bytes of a number are
//! kept. Pure.
//!
//! Bytes that were fed without an error are safe to pass to the client library: the last byte of a
//! frame is fed without an error only when the whole frame is what the request asked for.

use super::body::Body;
use super::outstanding::Outstanding;
use crate::zk::reply_fault::{MAX_REPLY, ReplyFault};

/// The xid of every watch event.
const EVENT: i32 = -1;
/// The xid of every heartbeat.
const PING: i32 = -2;

/// The length of a reply's header, in bytes: the xid, the server's last zxid, and the error.
const HEADER: u32 = 16;

/// The lowest error code of ZooKeeper.
const LOWEST_ERROR: i32 = -200;

/// Errors that end the session after any request: it expired, its login failed, or a login is
/// required.
const FINAL_ERRORS: [i32; 3] = [-112, -115, -124];

/// Errors that a login failed or is required.
const LOGIN_ERRORS: [i32; 2] = [-115, -124];

/// A server that broke the protocol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// The number of bytes up to the end of the last valid frame.
    pub(super) whole: usize,
    pub(super) fault: ReplyFault,
}

/// The content of the bytes fed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FedReplies {
    /// Watch events that have begun.
    pub(super) events: u64,
    /// Whether a request was answered.
    pub(super) answered: bool,
    /// Whether a login was refused or is missing.
    pub(super) login_refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Length,
    Header,
    Body,
}

/// Checks the replies of one connection, in pieces of any size.
#[derive(Debug)]
pub(super) struct Replies {
    part: Part,
    kept: [u8; HEADER as usize],
    have: usize,
    /// The rest of the frame, in bytes.
    left: u32,
    body: Body,
}

impl Replies {
    pub(super) fn new() -> Self {
        Self { part: Part::Length, kept: [0; HEADER as usize], have: 0, left: 0, body: Body::default() }
    }

    /// Returns whether a frame has begun and not ended.
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

    /// Consumes some bytes; `true` at the end of a frame.
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

    /// Collects bytes until there are `goal` of them, then starts again.
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

/// Returns the length of a frame if it is valid.
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

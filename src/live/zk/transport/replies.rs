//! What a client asks and a server answers after the handshake, as it passes. Pure.
//!
//! What a server sends is checked. Only the bytes of a number are kept. Bytes that were fed without
//! an error are safe to pass to the client library: the last byte of a frame is fed without an
//! error only when the whole frame is what the request asked for.
//!
//! What the client sends are frames of a length, an xid, an operation and its arguments. Twelve
//! bytes of them are kept, and each request until it is answered.

use std::collections::VecDeque;

use super::body::Body;
use crate::zk::fault::{MAX_REPLY, ReplyFault};
use lockscope_base::wire::{EVENT_XID, ErrorCode, Gather, LENGTH_BYTES, PING_XID, ReplyHead, RequestHead, op};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod requests_tests;

#[cfg(test)]
mod outstanding_tests;

/// The length of the shortest frame, in bytes: a header only.
#[expect(clippy::cast_possible_truncation, reason = "it is sixteen")]
const SHORTEST: u32 = ReplyHead::BYTES as u32;

/// The lowest error code of ZooKeeper.
const LOWEST_ERROR: i32 = -200;

/// Errors that end the session after any request: it expired, its login failed, or a login is
/// required.
const FINAL_ERRORS: [i32; 3] =
    [ErrorCode::SessionExpired.number(), ErrorCode::AuthFailed.number(), ErrorCode::LoginRequired.number()];

/// Errors that a login failed or is required.
const LOGIN_ERRORS: [i32; 2] = [ErrorCode::AuthFailed.number(), ErrorCode::LoginRequired.number()];

/// A server that broke the protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// The number of bytes up to the end of the last valid frame.
    pub(super) whole: usize,
    pub(super) fault: ReplyFault,
}

/// The content of the bytes fed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FedReplies {
    /// Watch events that have begun.
    pub(super) events: u64,
    /// Whether a request was answered.
    pub(super) answered: bool,
    /// Whether a login was refused or is missing.
    pub(super) login_refused: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReplyPart {
    #[default]
    Length,
    Header,
    Body,
}

/// Checks the replies of one connection, in pieces of any size.
#[derive(Debug, Default)]
pub struct Replies {
    part: ReplyPart,
    length: Gather<LENGTH_BYTES>,
    head: Gather<{ ReplyHead::BYTES }>,
    /// The rest of the frame, in bytes.
    left: u32,
    body: Body,
}

impl Replies {
    /// Returns whether a frame has begun and not ended.
    pub fn is_within(&self) -> bool {
        self.part != ReplyPart::Length || self.length.has_begun()
    }

    /// Checks the next bytes. After an error nothing more may be fed.
    pub fn feed(&mut self, bytes: &[u8], outstanding: &mut Outstanding) -> Result<FedReplies, Broken> {
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
            ReplyPart::Length => {
                if let Some(bytes) = self.length.take(rest) {
                    self.left = length(i32::from_be_bytes(bytes))?;
                    self.part = ReplyPart::Header;
                }
                return Ok(false);
            }
            ReplyPart::Header => {
                let Some(head) = self.head.take(rest) else { return Ok(false) };
                self.left -= SHORTEST;
                self.header(head.into(), outstanding, seen)?;
                self.part = ReplyPart::Body;
                // A body may be empty.
                self.body.feed(&mut &[][..], &mut self.left)?;
            }
            ReplyPart::Body => self.body.feed(rest, &mut self.left)?,
        }
        if !self.body.is_done() {
            return Ok(false);
        }
        if self.left > 0 {
            return Err(ReplyFault::Trailing);
        }
        self.part = ReplyPart::Length;
        Ok(true)
    }

    fn header(
        &mut self,
        ReplyHead { xid, error, .. }: ReplyHead,
        outstanding: &mut Outstanding,
        seen: &mut FedReplies,
    ) -> Result<(), ReplyFault> {
        seen.login_refused |= LOGIN_ERRORS.contains(&error);
        if FINAL_ERRORS.contains(&error) {
            self.body.ignore(self.left);
            return Ok(());
        }
        match xid {
            EVENT_XID => {
                seen.events += 1;
                self.body.expect_event();
                return Ok(());
            }
            PING_XID => {
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
}

/// Returns the length of a frame if it is valid.
fn length(number: i32) -> Result<u32, ReplyFault> {
    let length = u32::try_from(number).map_err(|_| ReplyFault::NegativeLength(number))?;
    match length {
        ..SHORTEST => Err(ReplyFault::Short),
        SHORTEST..=MAX_REPLY => Ok(length),
        _ => Err(ReplyFault::TooLarge(length)),
    }
}

/// Requests that the client library makes by itself, for no purpose of its user.
const HOUSEKEEPING: [i32; 6] = [op::PING, op::AUTH, op::SET_WATCHES, op::SASL, op::SET_WATCHES2, op::CLOSE_SESSION];

/// Reads requests as they pass, in pieces of any size. The client is this program, so its frames
/// are not checked.
#[derive(Debug, Default)]
pub struct OpenRequests {
    head: Gather<{ LENGTH_BYTES + RequestHead::BYTES }>,
    /// The rest of the frame's body, in bytes.
    left: usize,
}

impl OpenRequests {
    /// Records every request whose header ends in these bytes. Returns how many of them the program
    /// itself made.
    pub fn feed(&mut self, mut bytes: &[u8], outstanding: &mut Outstanding) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len());
                (self.left, bytes) = (self.left - taken, &bytes[taken..]);
            } else if let Some([a, b, c, d, head @ ..]) = self.head.take(&mut bytes) {
                let length = i32::from_be_bytes([a, b, c, d]);
                self.left = usize::try_from(length).unwrap_or_default().saturating_sub(RequestHead::BYTES);
                let RequestHead { xid, op } = head.into();
                outstanding.sent(xid, op);
                count += u64::from(!HOUSEKEEPING.contains(&op));
            }
        }
        count
    }
}

/// The most outstanding requests, at eight bytes each; no more are taken from the client until some
/// are answered.
const MAX_OUTSTANDING: usize = 16_384;

/// The requests of one connection that are not answered yet.
///
/// A server answers the requests of a session in order. Two kinds may be answered earlier:
/// heartbeats, which all have the same xid, and logins, which are answered before they are queued.
#[derive(Debug, Default)]
pub struct Outstanding {
    in_order: VecDeque<RequestHead>,
    logins: VecDeque<RequestHead>,
    pings: u32,
}

impl Outstanding {
    /// Records a sent request.
    fn sent(&mut self, xid: i32, op: i32) {
        match op {
            op::PING => self.pings = self.pings.saturating_add(1),
            op::AUTH | op::SASL => self.logins.push_back(RequestHead { xid, op }),
            _ => self.in_order.push_back(RequestHead { xid, op }),
        }
    }

    /// Returns whether the client has to wait.
    pub fn is_full(&self) -> bool {
        self.in_order.len() + self.logins.len() >= MAX_OUTSTANDING
    }

    /// Returns whether any request is unanswered.
    pub fn is_waiting(&self) -> bool {
        self.pings > 0 || !self.in_order.is_empty() || !self.logins.is_empty()
    }

    /// Records the answer to a heartbeat.
    fn pinged(&mut self) -> Result<(), ReplyFault> {
        self.pings = self.pings.checked_sub(1).ok_or(ReplyFault::NeverAsked)?;
        Ok(())
    }

    /// Returns the operation that the reply with this xid answers.
    fn answered(&mut self, xid: i32) -> Result<i32, ReplyFault> {
        if let Some(request) = self.in_order.front().copied().filter(|request| request.xid == xid) {
            self.in_order.pop_front();
            return Ok(request.op);
        }
        if let Some(at) = self.logins.iter().position(|request| request.xid == xid) {
            return self.logins.remove(at).map(|request| request.op).ok_or(ReplyFault::NeverAsked);
        }
        let is_later = self.in_order.iter().any(|request| request.xid == xid);
        Err(if is_later { ReplyFault::OutOfOrder } else { ReplyFault::NeverAsked })
    }
}

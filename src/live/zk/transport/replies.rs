//! What a client asks and a server answers after the handshake, as it passes. Pure.
//!
//! What a server sends is checked. Of a reply only the bytes of a number are kept, and a watch event
//! until it is known whether the client watches its node. Bytes that were fed without an error are
//! safe to pass to the client library: the last byte of a frame is fed without an error only when
//! the whole frame is what the request asked for.
//!
//! What the client sends are frames of a length, an xid, an operation and its arguments. Twelve
//! bytes of them are kept, the arguments of a request about watches until they are whole, and each
//! request until it is answered.

use std::collections::VecDeque;

use super::body::Body;
use super::watched::{WantedWatch, WatchedPaths, is_about_watches};
use crate::zk::fault::{MAX_EVENT, MAX_EVENT_LEVELS, MAX_REPLY, ReplyFault};
use lockscope_base::wire::{
    EVENT_XID, ErrorCode, EventKind, Gather, LENGTH_BYTES, PING_XID, Reader, ReplyHead, RequestHead, op,
};

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

/// The content of the bytes fed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FedReplies {
    /// Watch events that pass.
    pub(super) events: u64,
    /// The bytes of these events.
    pub(super) event_bytes: usize,
    /// Watch events that were dropped, because the client watches no such node.
    pub(super) unwatched: u64,
    /// What the events cost the client, passed or dropped: see [`event_cost`].
    pub(super) cost: u64,
    /// Frames that have ended.
    pub(super) frames: u64,
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
    /// The bytes of the frame so far, until it is known whether they pass.
    held: Vec<u8>,
    /// Whether the frame is a watch event.
    is_event: bool,
}

impl Replies {
    /// Returns whether a frame has begun and not ended.
    pub fn is_within(&self) -> bool {
        self.part != ReplyPart::Length || self.length.has_begun()
    }

    /// Checks the next bytes, and appends those that pass to `out`: after an error, those up to the
    /// end of the last valid frame. After an error nothing more may be fed.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        outstanding: &mut Outstanding,
        out: &mut Vec<u8>,
    ) -> Result<FedReplies, ReplyFault> {
        let (mut rest, mut whole, mut seen) = (bytes, out.len(), FedReplies::default());
        while !rest.is_empty() {
            match self.advance(&mut rest, outstanding, &mut seen, out) {
                Ok(false) => {}
                Ok(true) => {
                    seen.frames += 1;
                    whole = out.len();
                }
                Err(fault) => {
                    out.truncate(whole);
                    return Err(fault);
                }
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
        out: &mut Vec<u8>,
    ) -> Result<bool, ReplyFault> {
        let before = *rest;
        match self.part {
            ReplyPart::Length => {
                let length_bytes = self.length.take(rest);
                self.held.extend(&before[..before.len() - rest.len()]);
                if let Some(bytes) = length_bytes {
                    self.left = length(i32::from_be_bytes(bytes))?;
                    self.part = ReplyPart::Header;
                }
                return Ok(false);
            }
            ReplyPart::Header => {
                let head = self.head.take(rest);
                self.held.extend(&before[..before.len() - rest.len()]);
                let Some(head) = head else { return Ok(false) };
                self.left -= SHORTEST;
                self.is_event = false;
                self.header(head.into(), outstanding, seen)?;
                if !self.is_event {
                    out.append(&mut self.held);
                }
                self.part = ReplyPart::Body;
                // A body may be empty.
                self.body.feed(&mut &[][..], &mut self.left)?;
            }
            ReplyPart::Body => {
                self.body.feed(rest, &mut self.left)?;
                let to = if self.is_event { &mut self.held } else { &mut *out };
                to.extend(&before[..before.len() - rest.len()]);
            }
        }
        if !self.body.is_done() {
            return Ok(false);
        }
        if self.left > 0 {
            return Err(ReplyFault::Trailing);
        }
        if self.is_event {
            self.event(&mut outstanding.watched, seen, out)?;
        }
        self.part = ReplyPart::Length;
        Ok(true)
    }

    /// Passes the held event, or drops it.
    fn event(
        &mut self,
        watched: &mut WatchedPaths,
        seen: &mut FedReplies,
        out: &mut Vec<u8>,
    ) -> Result<(), ReplyFault> {
        let mut from = Reader::new(self.held.get(LENGTH_BYTES + ReplyHead::BYTES..).unwrap_or_default());
        let read = from.int().and_then(|kind| from.int().map(|_| kind)).and_then(|kind| Ok((kind, from.buffer()?)));
        // The body was checked as it came.
        let (kind, path) = read.map_err(|_| ReplyFault::Short)?;
        let (kind, path) = (EventKind::of(kind).ok_or(ReplyFault::Impossible(kind))?, path.unwrap_or_default());
        let levels = path.split(|byte| *byte == b'/').skip(1).count();
        if levels > MAX_EVENT_LEVELS {
            return Err(ReplyFault::EventTooLarge);
        }
        seen.cost += event_cost(path.len(), levels);
        if watched.takes(kind, path) {
            seen.events += 1;
            seen.event_bytes += self.held.len();
            out.append(&mut self.held);
        } else {
            seen.unwatched += 1;
            self.held.clear();
        }
        if self.held.capacity() > MAX_HELD_SPARE {
            self.held = Vec::new();
        }
        Ok(())
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
                if self.left > MAX_EVENT {
                    return Err(ReplyFault::EventTooLarge);
                }
                self.is_event = true;
                self.body.expect_event();
                return Ok(());
            }
            PING_XID => {
                outstanding.pinged()?;
                self.body.ignore(self.left);
            }
            xid => {
                let answered = outstanding.answered(xid, error)?;
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

/// The most spare room, in bytes, that is kept for the next event. Almost all events fit.
const MAX_HELD_SPARE: usize = 16 << 10;

/// The bytes that the client library hashes for one unit of an event's cost: about as much work as
/// everything else that is done for an event.
const HASHED_BYTES_A_UNIT: usize = 1 << 10;

/// Returns what an event costs the client, in units of a usual event. The library hashes the path of
/// each node above the changed one.
fn event_cost(path: usize, levels: usize) -> u64 {
    1 + (path * levels / 2 / HASHED_BYTES_A_UNIT) as u64
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
    /// The request in whose body the bytes are, if it is about watches, and its arguments so far.
    about: Option<RequestHead>,
    arguments: Vec<u8>,
}

/// The most arguments of a request about watches that are read, in bytes. The library sets up to 128
/// KiB of watches again in one request, and a path is at most as long as a server accepts, which is
/// 1 MiB unless it is configured otherwise.
const MAX_ARGUMENTS: usize = 2 << 20;

impl OpenRequests {
    /// Records every request whose header ends in these bytes. Returns how many of them the program
    /// itself made.
    pub fn feed(&mut self, mut bytes: &[u8], outstanding: &mut Outstanding) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len());
                if self.about.is_some() {
                    self.arguments.extend(&bytes[..taken]);
                }
                (self.left, bytes) = (self.left - taken, &bytes[taken..]);
                if let (0, Some(RequestHead { xid, op })) = (self.left, self.about) {
                    self.about = None;
                    outstanding.asks(xid, op, &std::mem::take(&mut self.arguments));
                }
            } else if let Some([a, b, c, d, head @ ..]) = self.head.take(&mut bytes) {
                let length = i32::from_be_bytes([a, b, c, d]);
                self.left = usize::try_from(length).unwrap_or_default().saturating_sub(RequestHead::BYTES);
                let RequestHead { xid, op } = head.into();
                outstanding.sent(xid, op);
                self.about = Some(RequestHead { xid, op }).filter(|head| is_about_watches(head.op));
                if self.about.is_some() && self.left > MAX_ARGUMENTS {
                    self.about = None;
                    outstanding.watched.pass_all();
                }
                count += u64::from(!HOUSEKEEPING.contains(&op));
            }
        }
        count
    }
}

/// The most outstanding requests, at 32 bytes each; no more are taken from the client until some
/// are answered.
const MAX_OUTSTANDING: usize = 16_384;

/// A request that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentRequest {
    xid: i32,
    op: i32,
    watch: Option<WantedWatch>,
}

/// The requests of one connection that are not answered yet, and what the answered ones watch.
///
/// A server answers the requests of a session in order. Two kinds may be answered earlier:
/// heartbeats, which all have the same xid, and logins, which are answered before they are queued.
#[derive(Debug, Default)]
pub struct Outstanding {
    in_order: VecDeque<SentRequest>,
    logins: VecDeque<SentRequest>,
    pings: u32,
    watched: WatchedPaths,
}

impl Outstanding {
    /// Records a sent request.
    fn sent(&mut self, xid: i32, op: i32) {
        let request = SentRequest { xid, op, watch: None };
        match op {
            op::PING => self.pings = self.pings.saturating_add(1),
            op::AUTH | op::SASL => self.logins.push_back(request),
            _ => self.in_order.push_back(request),
        }
    }

    /// Reads the arguments of the request that was sent last.
    fn asks(&mut self, xid: i32, op: i32, arguments: &[u8]) {
        let watch = self.watched.asked(op, arguments);
        // A server may have answered already, before it had the whole request. The library then ends
        // the connection.
        if let Some(last) = self.in_order.back_mut().filter(|last| last.xid == xid) {
            last.watch = watch;
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

    /// Returns the operation that the reply with this xid answers, and begins its watch.
    fn answered(&mut self, xid: i32, error: i32) -> Result<i32, ReplyFault> {
        if let Some(request) = self.in_order.front().copied().filter(|request| request.xid == xid) {
            self.in_order.pop_front();
            if let Some(wanted) = request.watch {
                self.watched.answered(wanted, request.op, error);
            }
            return Ok(request.op);
        }
        if let Some(at) = self.logins.iter().position(|request| request.xid == xid) {
            return self.logins.remove(at).map(|request| request.op).ok_or(ReplyFault::NeverAsked);
        }
        let is_later = self.in_order.iter().any(|request| request.xid == xid);
        Err(if is_later { ReplyFault::OutOfOrder } else { ReplyFault::NeverAsked })
    }
}

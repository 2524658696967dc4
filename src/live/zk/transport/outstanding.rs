//! Requests that the servers have not answered yet. Pure.

use std::collections::VecDeque;

use crate::zk::reply_fault::ReplyFault;
use lockscope_base::wire::{RequestHead, op};

/// The most outstanding requests, at eight bytes each; no more are taken from the client until some
/// are answered.
const MAX_OUTSTANDING: usize = 16_384;

/// The requests of one connection that are not answered yet.
///
/// A server answers the requests of a session in order. Two kinds may be answered earlier:
/// heartbeats, which all have the same xid, and logins, which are answered before they are queued.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    in_order: VecDeque<RequestHead>,
    logins: VecDeque<RequestHead>,
    pings: u32,
}

impl Outstanding {
    /// Records a sent request.
    pub(super) fn sent(&mut self, xid: i32, op: i32) {
        match op {
            op::PING => self.pings = self.pings.saturating_add(1),
            op::AUTH | op::SASL => self.logins.push_back(RequestHead { xid, op }),
            _ => self.in_order.push_back(RequestHead { xid, op }),
        }
    }

    /// Returns whether the client has to wait.
    pub(super) fn is_full(&self) -> bool {
        self.in_order.len() + self.logins.len() >= MAX_OUTSTANDING
    }

    /// Returns whether any request is unanswered.
    pub(super) fn is_waiting(&self) -> bool {
        self.pings > 0 || !self.in_order.is_empty() || !self.logins.is_empty()
    }

    /// Records the answer to a heartbeat.
    pub(super) fn pinged(&mut self) -> Result<(), ReplyFault> {
        self.pings = self.pings.checked_sub(1).ok_or(ReplyFault::NeverAsked)?;
        Ok(())
    }

    /// Returns the operation that the reply with this xid answers.
    pub(super) fn answered(&mut self, xid: i32) -> Result<i32, ReplyFault> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_in_order_and_once() {
        let mut outstanding = Outstanding::default();
        outstanding.sent(1, 4);
        outstanding.sent(2, 8);
        assert_eq!(outstanding.answered(2), Err(ReplyFault::OutOfOrder));
        assert_eq!(outstanding.answered(1), Ok(4));
        assert_eq!(outstanding.answered(1), Err(ReplyFault::NeverAsked));
        assert_eq!(outstanding.answered(2), Ok(8));
    }

    #[test]
    fn logins_and_heartbeats_may_be_answered_early_but_only_once_sent() {
        let mut outstanding = Outstanding::default();
        outstanding.sent(-8, op::SET_WATCHES);
        outstanding.sent(7, op::SASL);
        outstanding.sent(-2, op::PING);
        assert_eq!(outstanding.answered(7), Ok(op::SASL));
        assert_eq!(outstanding.pinged(), Ok(()));
        assert_eq!(outstanding.pinged(), Err(ReplyFault::NeverAsked));
        assert_eq!(outstanding.answered(-8), Ok(op::SET_WATCHES));
    }

    #[test]
    fn outstanding_requests_are_bounded() {
        let mut outstanding = Outstanding::default();
        for xid in 0..i32::try_from(MAX_OUTSTANDING).expect("a small bound") {
            assert!(!outstanding.is_full());
            outstanding.sent(xid, 4);
        }
        assert!(outstanding.is_full());
    }
}

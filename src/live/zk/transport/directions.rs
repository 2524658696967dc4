//! The two directions of a connection: checks and counts the bytes that pass.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::TransportShared;
use super::outstanding::Outstanding;
use super::pump::Direction;
use super::replies::Replies;
use super::requests::Requests;
use crate::zk::reply_fault::ReplyFault;

/// The state shared by both directions of a connection.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    outstanding: Mutex<Outstanding>,
    asked: Notify,
    answered: Notify,
}

impl Exchange {
    fn outstanding(&self) -> MutexGuard<'_, Outstanding> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The direction from the client to the server.
pub(super) struct ClientToServer<'a> {
    shared: &'a TransportShared,
    exchange: &'a Exchange,
    requests: Requests,
    /// Requests in the bytes that are about to pass.
    found: u64,
}

impl<'a> ClientToServer<'a> {
    pub(super) fn new(shared: &'a TransportShared, exchange: &'a Exchange) -> Self {
        Self { shared, exchange, requests: Requests::default(), found: 0 }
    }
}

impl Direction for ClientToServer<'_> {
    const IS_DOWN: bool = false;

    fn inspect(&mut self, bytes: &[u8]) -> usize {
        self.found = self.requests.feed(bytes, &mut self.exchange.outstanding());
        self.exchange.asked.notify_one();
        bytes.len()
    }

    fn is_over(&self) -> bool {
        false
    }

    fn passed(&mut self, bytes: usize) {
        self.shared.meter.count_up(bytes, self.found);
    }

    async fn awaited(&self) {}

    async fn ready(&self) {
        loop {
            let answered = self.exchange.answered.notified();
            if !self.exchange.outstanding().is_full() {
                return;
            }
            answered.await;
        }
    }
}

/// The direction from the server to the client.
pub(super) struct ServerToClient<'a> {
    shared: &'a TransportShared,
    exchange: &'a Exchange,
    replies: Replies,
    /// Watch events in the bytes that are about to pass.
    events: u64,
    /// Whether the server has answered a request.
    pub(super) served: bool,
    /// How the server broke the protocol.
    pub(super) fault: Option<ReplyFault>,
    /// Whether the server refused a login.
    pub(super) refused: bool,
}

impl<'a> ServerToClient<'a> {
    pub(super) fn new(shared: &'a TransportShared, exchange: &'a Exchange) -> Self {
        Self { shared, exchange, replies: Replies::default(), events: 0, served: false, fault: None, refused: false }
    }
}

impl ServerToClient<'_> {
    /// Returns what the server left unfinished when the connection ended. `by_client` tells whether
    /// the client ended it.
    pub(super) fn left_open(&self, by_client: bool) -> Option<ReplyFault> {
        if self.replies.is_within() {
            Some(ReplyFault::Unfinished)
        } else if by_client && self.exchange.outstanding().is_waiting() {
            Some(ReplyFault::FellSilent)
        } else {
            None
        }
    }
}

impl Direction for ServerToClient<'_> {
    const IS_DOWN: bool = true;

    fn inspect(&mut self, bytes: &[u8]) -> usize {
        let fed = self.replies.feed(bytes, &mut self.exchange.outstanding());
        match fed {
            Ok(seen) => {
                self.events = seen.events;
                self.refused |= seen.login_refused;
                if seen.answered && !seen.login_refused && !self.served {
                    self.served = true;
                    self.shared.served();
                }
                self.exchange.answered.notify_one();
                bytes.len()
            }
            Err(broken) => {
                self.events = 0;
                self.fault = Some(broken.fault);
                broken.whole
            }
        }
    }

    fn is_over(&self) -> bool {
        self.fault.is_some()
    }

    fn passed(&mut self, bytes: usize) {
        self.shared.meter.count_down(bytes, self.events);
    }

    async fn awaited(&self) {
        loop {
            let asked = self.exchange.asked.notified();
            if self.exchange.outstanding().is_waiting() {
                return;
            }
            asked.await;
        }
    }

    async fn ready(&self) {}
}

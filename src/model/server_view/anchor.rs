//! Our own session as the servers list it, and which of our requests a server knew of then.

use std::time::Duration;

use super::Expiry;
use lockscope_base::znode::{SessionId, Timestamp};

/// A session of our own whose last request was answered at a known time: it relates a server's
/// clock to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Our session.
    pub session: SessionId,
    /// Its negotiated timeout.
    pub timeout: Duration,
    /// When it was begun to be connected, by our clock.
    pub connecting_since: Timestamp,
    /// When its last request was sent.
    pub asked: Timestamp,
    /// When that was answered.
    pub heard: Timestamp,
}

/// The expiry with which a server listed our session last, and what was asked and answered when it
/// first listed it so.
///
/// A leader learns of our requests from the member that our session is connected to. A member that
/// is cut off from the leader goes on to answer us, while the leader lists our session with the
/// same expiry again and again. Related to our newest request, all other sessions would seem to
/// expire a second later with each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedAnchor(Option<FirstListed>);

/// When the server first listed our session with that expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstListed {
    listed: Expiry,
    /// Our newest request then.
    pub(super) anchor: Anchor,
    /// When the server had answered with that list, by our clock: the request that it counted was
    /// sent before.
    pub(super) at: Timestamp,
    /// Whether it had listed another expiry before: then it hears of our requests.
    hears_us: bool,
}

impl FirstListed {
    /// The request that the server counted was not sent before this, if a server knows of a request
    /// after that time at the latest. Until the listed expiry moves, it may be the one with which
    /// our session began.
    pub(super) fn earliest(&self, knows_after_ms: i64) -> i64 {
        let asked = self.anchor.asked.0.saturating_sub(knows_after_ms);
        if self.hears_us { asked } else { asked.min(self.anchor.connecting_since.0) }
    }
}

impl ListedAnchor {
    /// Takes a list in which our session has that expiry. Gives when it was first listed so.
    pub(super) fn take(&mut self, listed: Expiry, anchor: Anchor, at: Timestamp) -> FirstListed {
        let known = self.0.filter(|known| known.listed == listed && known.anchor.session == anchor.session);
        let hears_us = self.0.is_some_and(|known| known.anchor.session == anchor.session);
        *self.0.insert(known.unwrap_or(FirstListed { listed, anchor, at, hears_us }))
    }
}

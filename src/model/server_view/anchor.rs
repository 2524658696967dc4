//! Our own session as the servers list it, and our newest request that a server had heard of.

use std::time::Duration;

use super::Expiry;
use lockscope_base::znode::{SessionId, Timestamp};

/// Our own session with a request whose answer arrived at a known time. An anchor relates a
/// server's clock to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Our session.
    pub session: SessionId,
    /// The negotiated session timeout.
    pub timeout: Duration,
    /// When we began to connect, by our clock.
    pub connecting_since: Timestamp,
    /// When the session's last request was sent.
    pub asked: Timestamp,
    /// When the answer to that request arrived.
    pub heard: Timestamp,
}

/// The expiry with which a server listed our session last, and our newest request when the server
/// first listed that expiry.
///
/// A leader learns of our requests from the member that our session is connected to. A member that
/// is cut off from the leader still answers us, but the leader keeps listing our session with the
/// same expiry. If that expiry were compared with our newest request, all other sessions would seem
/// to expire one second later with each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedAnchor(Option<FirstListed>);

/// The first time that the server listed our session with a given expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstListed {
    listed: Expiry,
    /// Our newest request at that time.
    pub(super) anchor: Anchor,
    /// When the list arrived, by our clock. The request that the server counted was sent before.
    pub(super) at: Timestamp,
    /// Whether the server had listed another expiry before. If so, it hears of our requests.
    hears_us: bool,
}

impl FirstListed {
    /// Returns the earliest time at which the counted request can have been sent.
    ///
    /// A server knows of a request at most `knows_after_ms` after it is sent. Until the listed
    /// expiry changes, the counted request may be the one that began our session.
    pub(super) fn earliest(&self, knows_after_ms: i64) -> i64 {
        let asked = self.anchor.asked.0.saturating_sub(knows_after_ms);
        if self.hears_us { asked } else { asked.min(self.anchor.connecting_since.0) }
    }
}

impl ListedAnchor {
    /// Takes a list in which our session has the expiry `listed`. Returns the first time of that
    /// expiry.
    pub(super) fn record(&mut self, listed: Expiry, anchor: Anchor, at: Timestamp) -> FirstListed {
        let known = self.0.filter(|known| known.listed == listed && known.anchor.session == anchor.session);
        let hears_us = self.0.is_some_and(|known| known.anchor.session == anchor.session);
        *self.0.insert(known.unwrap_or(FirstListed { listed, anchor, at, hears_us }))
    }
}

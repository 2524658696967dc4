//! The packets that passed a relay, in order.

/// A packet. Requests are logged when they arrive at the relay, all others when they leave for the
/// client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    Request(Asked),
    Reply { to: Asked, ok: bool },
    Event,
}

/// The relevant parts of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The operation; see [`op`](super::op).
    pub op: i32,
    /// Whether the request is a read that sets a watch.
    pub watches: bool,
}

impl Passed {
    /// Returns whether the client knows from here on that one of its watches is set.
    pub fn is_watch_set(self) -> bool {
        matches!(self, Self::Reply { to: Asked { watches: true, .. }, ok: true })
    }

    /// Returns the operation of a request; `None` for other packets.
    pub fn request(self) -> Option<i32> {
        if let Self::Request(asked) = self { Some(asked.op) } else { None }
    }
}

/// Returns how often the client waited for a reply before its next request. Requests that arrive
/// before any of them is answered are one round trip. Meaningful only with a delay, which makes
/// replies arrive after requests that were sent together.
pub fn round_trips(log: &[Passed]) -> usize {
    let mut asking = false;
    let mut trips = 0;
    for passed in log {
        match passed {
            Passed::Request(_) if !asking => {
                asking = true;
                trips += 1;
            }
            Passed::Reply { .. } => asking = false,
            Passed::Request(_) | Passed::Event => {}
        }
    }
    trips
}

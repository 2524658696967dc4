//! What passed a relay, in order.

/// One packet. A request is written down when it arrives at the relay, the others when they leave it for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    Request(Asked),
    Reply { to: Asked, ok: bool },
    Event,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// See [`op`](super::op).
    pub op: i32,
    /// Whether it is a read that sets a watch.
    pub watches: bool,
}

impl Passed {
    /// Whether the client knows from here on that a watch of its own is set.
    pub fn is_watch_set(self) -> bool {
        matches!(self, Self::Reply { to: Asked { watches: true, .. }, ok: true })
    }

    /// The operation, when it is a request.
    pub fn request(self) -> Option<i32> {
        if let Self::Request(asked) = self { Some(asked.op) } else { None }
    }
}

/// How often the client waited for an answer before it went on asking: requests that arrive before any of them is
/// answered are one round trip. Meaningful with a delay, which keeps the answers behind requests sent together.
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

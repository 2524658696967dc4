//! Faults at a named packet.

/// Where a fault strikes, counted from 1 since the fault was armed. The session's own requests do
/// not count: heartbeats, authentication, watches set again, and the end of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The request never reaches the server. Earlier requests are answered first.
    BeforeRequest(usize),
    /// The server executes the request, but the reply is lost.
    AfterRequest(usize),
    /// The server sends the watch event, but the event is lost.
    AtEvent(usize),
}

/// What happens when a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The connection is cut. New connections are accepted.
    Cut,
    /// The connection is cut. New connections are refused until the session is gone from the
    /// server.
    Expire,
    /// The connection is cut. New connections are refused until `heal`.
    Bar,
    /// Nothing passes until `resume`. Then the server executes the request, the reply is lost, and
    /// the connection is cut.
    StallAndLose,
    /// Nothing passes in either direction until `resume`, starting before the request, before its
    /// reply, or before the event.
    Stall,
}

/// A fault that strikes once. Requests that are sent again count again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    pub then: Then,
}

/// The armed faults, and the requests and events counted so far.
#[derive(Debug, Default)]
pub struct Plan {
    armed: Vec<Fault>,
    requests: usize,
    events: usize,
    /// The request whose reply is to stall.
    stalls: Option<i32>,
}

impl Plan {
    pub fn arm(&mut self, faults: &[Fault]) {
        *self = Self { armed: faults.to_vec(), ..Self::default() };
    }

    /// Forgets the faults that have not struck, and returns them.
    pub fn disarm(&mut self) -> Vec<Fault> {
        self.stalls = None;
        std::mem::take(&mut self.armed)
    }

    /// Marks the reply to a request to stall.
    pub fn stall_reply(&mut self, xid: i32) {
        self.stalls = Some(xid);
    }

    /// Returns whether a reply is to stall.
    pub fn reply_stalls(&mut self, xid: i32) -> bool {
        self.stalls.take_if(|stalls| *stalls == xid).is_some()
    }

    /// Counts a request. Returns the fault that strikes at it; the fault happens when its
    /// connection ends.
    pub fn request(&mut self) -> Option<Fault> {
        self.requests += 1;
        let here = self.requests;
        self.take(|place| place == Place::BeforeRequest(here) || place == Place::AfterRequest(here))
    }

    /// Counts an event. Returns the fault that strikes at it.
    pub fn event(&mut self) -> Option<Fault> {
        self.events += 1;
        let here = self.events;
        self.take(|place| place == Place::AtEvent(here))
    }

    fn take(&mut self, strikes: impl Fn(Place) -> bool) -> Option<Fault> {
        let at = self.armed.iter().position(|fault| strikes(fault.place))?;
        Some(self.armed.remove(at))
    }
}

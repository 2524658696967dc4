//! Faults at a named packet.

/// Where a fault strikes, counted from 1 since it was armed. Requests for the session's sake (heartbeats,
/// authentication, watches set again, the session's end) don't count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The request never reaches the server; earlier ones are answered first.
    BeforeRequest(usize),
    /// The server executes the request, and its reply is lost.
    AfterRequest(usize),
    /// The server sends the watch event, and it is lost.
    AtEvent(usize),
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The connection is cut. The next one is welcome.
    Cut,
    /// The connection is cut, and none is let through until the session is gone from the server.
    Expire,
    /// The connection is cut, and none is let through until `heal`.
    Bar,
    /// Nothing passes any more until `resume`; then the server executes the request, its reply is lost, and the connection is cut.
    StallAndLose,
    /// Nothing passes any more, in either direction, until `resume`: before the request, before its reply, or before
    /// the event.
    Stall,
}

/// A fault that a relay makes once. Requests that are sent again count again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    pub then: Then,
}

/// The armed faults, and how far they are.
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

    /// Forgets the faults that have not struck; gives them.
    pub fn disarm(&mut self) -> Vec<Fault> {
        self.stalls = None;
        std::mem::take(&mut self.armed)
    }

    /// Lets the reply to a request stall.
    pub fn stall_reply(&mut self, xid: i32) {
        self.stalls = Some(xid);
    }

    /// Whether a reply is to stall.
    pub fn reply_stalls(&mut self, xid: i32) -> bool {
        self.stalls.take_if(|stalls| *stalls == xid).is_some()
    }

    /// Counts a request; gives the fault that strikes here. It is made when its connection ends.
    pub fn request(&mut self) -> Option<Fault> {
        self.requests += 1;
        let here = self.requests;
        self.take(|place| place == Place::BeforeRequest(here) || place == Place::AfterRequest(here))
    }

    /// Counts an event; gives the fault that strikes here.
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

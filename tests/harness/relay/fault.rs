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
    /// Nothing passes any more, in either direction, until `resume`: before the request, before its reply, or before
    /// the event.
    Stall,
}

/// A fault that a relay makes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    pub then: Then,
}

/// The armed fault, and how far it is.
#[derive(Debug, Default)]
pub struct Plan {
    armed: Option<Fault>,
    requests: usize,
    events: usize,
    fired: bool,
}

impl Plan {
    pub fn arm(&mut self, fault: Fault) {
        *self = Self { armed: Some(fault), ..Self::default() };
    }

    pub fn disarm(&mut self) -> bool {
        self.armed = None;
        self.fired
    }

    pub fn fired(&self) -> bool {
        self.fired
    }

    /// Counts a request; gives the fault that strikes here. It has fired when its connection ends.
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
        let fault = self.armed.take_if(|fault| strikes(fault.place))?;
        self.fired = true;
        Some(fault)
    }
}

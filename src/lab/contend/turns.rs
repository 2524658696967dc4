//! Which clients were woken in a turn of the lock: from one acquisition to the next. Pure.
//!
//! Every turn is counted, at any speed, so that a status can show a whole one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ClientId, WokenTurn};

/// The current turn, and the last one that has ended.
#[derive(Debug, Default)]
pub struct TurnLog {
    woken: BTreeSet<ClientId>,
    events: u64,
    last: Option<Arc<WokenTurn>>,
}

impl TurnLog {
    pub fn wakes(&mut self, client: ClientId) {
        self.woken.insert(client);
        self.events += 1;
    }

    /// Forgets a client that has left. Otherwise a long turn would grow with each that comes and
    /// goes.
    pub fn forget(&mut self, client: ClientId) {
        self.woken.remove(&client);
    }

    /// Ends the turn with an acquisition.
    pub fn ends(&mut self, number: u64, holder: ClientId) {
        let (woken, events) = (std::mem::take(&mut self.woken), std::mem::take(&mut self.events));
        self.last = Some(Arc::new(WokenTurn { number, holder, woken, events }));
    }

    pub fn last(&self) -> Option<Arc<WokenTurn>> {
        self.last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_what_was_delivered_since_the_acquisition_before() {
        let mut log = TurnLog::default();
        log.ends(1, ClientId(1));
        for client in [2, 3, 3, 4] {
            log.wakes(ClientId(client));
        }
        log.forget(ClientId(4));
        log.ends(2, ClientId(2));
        let turn = log.last().expect("two turns have ended");
        assert_eq!((turn.number, turn.events, turn.in_vain()), (2, 4, 1), "one of two got the lock");
        assert_eq!(turn.woken, [ClientId(2), ClientId(3)].into());
        log.ends(3, ClientId(5));
        assert_eq!(log.last().map(|turn| (turn.events, turn.in_vain())), Some((0, 0)), "nobody had to be woken");
    }
}

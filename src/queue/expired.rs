use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::znode::SessionId;

/// How many expired sessions are remembered: their nodes vanish at once, so only the newest matter.
const REMEMBERED: usize = 10_000;

/// The sessions that are known to have expired.
#[derive(Clone, Debug, Default)]
pub(super) struct Expired {
    sessions: FxHashSet<SessionId>,
    order: VecDeque<SessionId>,
}

impl Expired {
    pub fn insert(&mut self, session: SessionId) {
        if !self.sessions.insert(session) {
            return;
        }
        self.order.push_back(session);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
        }
    }

    pub fn contains(&self, session: Option<SessionId>) -> bool {
        session.is_some_and(|session| self.sessions.contains(&session))
    }
}

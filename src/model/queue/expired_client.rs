//! Tells whether a client whose session expired while it held knows that it lost the lock.

use super::{ClientIdentity, Contender, LockQueue, SessionExpired};

impl LockQueue {
    /// Forgets the last expiry if this newly read contender is the expired client.
    ///
    /// The client has a new session, so it knows that it lost the lock.
    pub(super) fn note_client_is_back(&mut self, slot: usize) {
        if self.last_expiry().zip(self.contender(slot)).is_some_and(|(expired, came)| self.is_back(expired, came)) {
            self.rare_mut().session_expired = None;
        }
    }

    /// Records afterwards that a holder's session expired, unless its client is back or another
    /// holder's session expired since. Linear in the number of contenders.
    pub(super) fn settle_expiry(&mut self, expired: SessionExpired) {
        let is_older = self.last_expiry().is_some_and(|known| known.at >= expired.at);
        let is_back = || self.contenders.iter().any(|(_, came)| self.is_back(&expired, came));
        if !is_older && !is_back() {
            self.rare_mut().session_expired = Some(Box::new(expired));
        }
    }

    /// Returns whether `came` is the expired client.
    ///
    /// The client is recognized by its name, unless other sessions in this lock use the same name.
    fn is_back(&self, expired: &SessionExpired, came: &Contender) -> bool {
        let name_of = |contender: &Contender| ClientIdentity::name_by(self.recipe(), contender.data.bytes());
        let Some(name) = expired.client.name_of_one_client() else { return false };
        let bears_it = |contender: &Contender| name_of(contender).as_deref() == Some(name);
        let is_other = |other: &Contender| other.session() != came.session();
        let is_shared = || self.contenders.iter().any(|(_, other)| is_other(other) && bears_it(other));
        came.session().is_some_and(|session| session != expired.session) && bears_it(came) && !is_shared()
    }
}

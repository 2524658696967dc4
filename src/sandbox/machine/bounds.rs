//! What keeps clients from taking more of the server than they may.

use super::{CloseReason, Machine};

impl Machine {
    /// Bytes of memory that all connections take, about: what waits to be sent, what is being sent, parts of frames, and who
    /// they are.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.buffered
    }

    /// Counts anew what a connection takes; when all together take too much, those that take most are closed.
    pub(super) fn reckon(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let is = connection.bytes();
        self.buffered = self.buffered + is - std::mem::replace(&mut connection.counted, is);
        while self.buffered > self.options.max_buffered && self.end_largest() {}
    }

    /// Closes the connection that takes most, and drops what waits for it; `false` when nothing is gained by that. What it is
    /// being sent goes when its socket is closed.
    fn end_largest(&mut self) -> bool {
        let waiting = self.connections.iter().filter(|(_, connection)| connection.end.is_none());
        let Some(id) = waiting.max_by_key(|(_, connection)| connection.counted).map(|(id, _)| id) else { return false };
        self.end(id, CloseReason::Crowded);
        self.drop_output(id);
        true
    }

    /// Forgets what waits for a connection that is being closed.
    pub(super) fn drop_output(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.out = Vec::new();
        // Counted no more: its task is about to drop all that it has.
        self.buffered -= std::mem::take(&mut connection.counted);
        (connection.sending, connection.received) = (0, 0);
        connection.who.clear();
    }

    /// Closes the connections that have had no session for too long.
    pub(super) fn end_silent(&mut self, now: i64) {
        while let Some((_, id, serial)) = self.handshakes.front().copied().filter(|(due, ..)| *due <= now) {
            self.handshakes.pop_front();
            let is_silent =
                self.connections.get(id).is_some_and(|known| known.serial == serial && known.session.is_none());
            if is_silent {
                self.end(id, CloseReason::Silent);
            }
        }
    }
}

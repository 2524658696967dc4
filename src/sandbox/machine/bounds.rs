//! Limits on the memory and the time that clients take from the server.

use super::{CloseReason, Machine};

impl Machine {
    /// Returns the approximate bytes that all connections take: output that waits or is being sent,
    /// partial frames, and identities.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.buffered
    }

    /// Closes the connections that opened no session before the handshake timeout.
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

    /// Returns whether `more` bytes would exceed `max_memory`.
    pub(super) fn is_full(&self, more: usize) -> bool {
        self.memory() + more > self.options.max_memory
    }

    /// Returns the approximate bytes that nodes and watches take.
    pub(crate) fn memory(&self) -> usize {
        self.tree.memory() + self.watches.memory()
    }
}

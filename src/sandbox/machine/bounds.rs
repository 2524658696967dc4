//! What keeps clients from taking more of the server than they may.

use super::{CloseReason, Machine};

impl Machine {
    /// Bytes of memory that all connections take, about: what waits to be sent, what is being sent, parts of frames, and who
    /// they are.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.buffered
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

    /// Whether so many bytes more would be too many.
    pub(super) fn is_full(&self, more: usize) -> bool {
        self.memory() + more > self.options.max_memory
    }

    /// Bytes of memory that nodes and watches take, about.
    pub(crate) fn memory(&self) -> usize {
        self.tree.memory() + self.watches.memory()
    }
}

//! The selections of all lists.

use super::cursor::Cursor;
use super::waits::WaitId;
use crate::contend::ClientId;
use crate::queue::LockId;
use crate::znode::{SessionId, ZnodePath};

/// The selection of each list.
#[derive(Debug)]
pub struct Cursors {
    /// Of Locks.
    pub locks: Cursor<LockId>,
    /// Of Queue.
    pub contenders: Cursor<ZnodePath>,
    /// Of Sessions.
    pub sessions: Cursor<SessionId>,
    /// Of Waits.
    pub waits: Cursor<WaitId>,
    /// Of Contend, for each side.
    pub clients: [Cursor<ClientId>; 2],
    /// Of Timeline.
    pub timeline: Cursor<u64>,
    /// Of Audit.
    pub audit: Cursor<String>,
}

impl Default for Cursors {
    fn default() -> Self {
        Self {
            locks: Cursor::first(),
            contenders: Cursor::first(),
            sessions: Cursor::first(),
            waits: Cursor::first(),
            clients: [Cursor::first(), Cursor::first()],
            timeline: Cursor::last(),
            audit: Cursor::last(),
        }
    }
}

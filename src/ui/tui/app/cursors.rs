//! The selections of all lists.

use std::sync::Arc;

use super::cursor::Cursor;
use super::lists::HistoryId;
use super::session_detail::SessionPlace;
use super::waits::WaitId;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_lab::contend::ClientId;
use lockscope_model::queue::LockId;

#[derive(Clone, Debug)]
pub struct Cursors {
    pub ensembles: Cursor<Arc<str>>,
    pub locks: Cursor<LockId>,
    pub contenders: Cursor<ZnodePath>,
    pub sessions: Cursor<SessionId>,
    pub session_places: Cursor<SessionPlace>,
    pub waits: Cursor<WaitId>,
    /// The selected test client on each side of Contend.
    pub clients: [Cursor<ClientId>; 2],
    pub timeline: Cursor<u64>,
    pub audit: Cursor<String>,
    pub history: Cursor<HistoryId>,
}

impl Default for Cursors {
    fn default() -> Self {
        Self {
            ensembles: Cursor::first(),
            locks: Cursor::first(),
            contenders: Cursor::first(),
            sessions: Cursor::first(),
            session_places: Cursor::first(),
            waits: Cursor::first(),
            clients: [Cursor::first(), Cursor::first()],
            timeline: Cursor::last(),
            audit: Cursor::last(),
            history: Cursor::last(),
        }
    }
}

//! Output to connections: replies, refusals, events, and the close.

use std::borrow::Cow;

use super::{ClientConnection, CloseReason, Machine};
use crate::config::Behaviour;
use crate::tree::{Acl, Change, check, known, parent, permission};
use crate::watch::FiredEvent;
use lockscope_base::wire::{ErrorCode, event, refusal, reply};

impl Machine {
    /// Sends the events of a change to its watchers.
    pub(super) fn notify(&mut self, change: &Change) {
        match change {
            Change::Created { path, acls, above, .. } => {
                let [node, children] = self.watches.created(path, known(parent(path).unwrap_or_default()));
                self.send(&node, acls);
                self.send(&children, above);
            }
            Change::Deleted { path, acls, above } => {
                let [node, itself, children] = self.watches.deleted(path, known(parent(path).unwrap_or_default()));
                self.send(&node, acls);
                self.send(&itself, acls);
                self.send(&children, above);
            }
            Change::DataChanged { path, acls, .. } => {
                let [node] = self.watches.data_changed(path);
                self.send(&node, acls);
            }
            Change::AclChanged { .. } | Change::Checked { .. } => {}
        }
    }

    /// Sends an event to the watchers that may read the node. A watcher that may not read it still
    /// loses its one-shot watch and is counted, as on servers with the fix of CVE-2024-23944.
    pub(super) fn send(&mut self, FiredEvent { kind, path, watchers }: &FiredEvent<'_>, acls: &[Acl]) {
        for watcher in watchers {
            let who = self.connections.get(*watcher).map(|connection| &*connection.who).unwrap_or_default();
            if check(acls, permission::READ, who).is_ok() {
                let named = self.named_in_event(path, *watcher);
                self.push(*watcher, |out| event(out, *kind, &named));
            }
        }
    }

    /// Returns the node that an event names: the changed one, or on Keeper the one with the recursive
    /// watch.
    fn named_in_event<'p>(&self, path: &'p str, watcher: usize) -> Cow<'p, str> {
        let above = || self.watches.data.recursive_above(path, watcher).map(ToOwned::to_owned);
        match self.options.behaviour {
            Behaviour::ZooKeeper | Behaviour::ZooKeeper35 => path.into(),
            Behaviour::Keeper => above().map_or(path.into(), Cow::from),
        }
    }

    pub(super) fn reply(&mut self, id: usize, xid: i32, body: impl FnOnce(&mut Vec<u8>)) {
        let zxid = self.zxid;
        self.push(id, |out| reply(out, xid, zxid, body));
    }

    pub(super) fn refuse(&mut self, id: usize, xid: i32, code: ErrorCode) {
        let zxid = self.zxid;
        self.push(id, |out| refusal(out, xid, zxid, code));
    }

    /// Appends a frame to a connection's output, unless the connection is closing.
    pub(super) fn push(&mut self, id: usize, frame: impl FnOnce(&mut Vec<u8>)) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.end.is_some() {
            return;
        }
        frame(&mut connection.out);
        self.sent += 1;
        connection.traffic.sent += 1;
        let is_too_much = connection.out.len() > self.options.max_unread;
        Self::mark(&mut self.ready, id, connection);
        self.recount_output(id);
        if is_too_much {
            // The client does not read, and a partial frame is of no use to it.
            self.end(id, CloseReason::Unread);
            self.drop_output(id);
        }
    }

    /// Closes a connection once its output is sent.
    pub(super) fn end(&mut self, id: usize, end: CloseReason) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.end.get_or_insert(end);
        Self::mark(&mut self.ready, id, connection);
        self.watches.forget(id);
    }

    fn mark(ready: &mut Vec<usize>, id: usize, connection: &mut ClientConnection) {
        if !connection.ready {
            connection.ready = true;
            ready.push(id);
        }
    }

    /// Updates the memory count of a connection. Closes the largest connections while all together
    /// exceed `max_buffered`.
    pub(super) fn recount_output(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let is = connection.bytes();
        self.buffered = self.buffered + is - std::mem::replace(&mut connection.counted, is);
        while self.buffered > self.options.max_buffered && self.end_largest() {}
    }

    /// Closes the connection that takes the most memory and drops its output. Returns `false` when
    /// all connections are closing already. Output that is being sent is freed with the socket.
    fn end_largest(&mut self) -> bool {
        let waiting = self.connections.iter().filter(|(_, connection)| connection.end.is_none());
        let Some(id) = waiting.max_by_key(|(_, connection)| connection.counted).map(|(id, _)| id) else { return false };
        self.end(id, CloseReason::Crowded);
        self.drop_output(id);
        true
    }

    /// Drops the output of a connection that is closing.
    pub(super) fn drop_output(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.out = Vec::new();
        // The connection no longer counts: its task is about to drop all its buffers.
        self.buffered -= std::mem::take(&mut connection.counted);
        (connection.sending, connection.received) = (0, 0);
        connection.who.clear();
    }
}

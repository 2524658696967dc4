//! Requests that add, check and remove watches, or restore them after a reconnect.

use std::borrow::Cow;

use super::Machine;
use crate::watch::{WatchKind, WatchMode, WatchTables};
use crate::wire::SetWatches;
use lockscope_base::wire::{ErrorCode, EventKind, Reader, RequestHead, Writer, event, op};

impl Machine {
    /// Adds a persistent or recursive watch.
    pub(super) fn add_watch(&mut self, id: usize, xid: i32, mut from: Reader<'_>) {
        let asked = from.some_text().and_then(|path| Ok((path, from.int()?)));
        let mode = match asked {
            Ok((_, 0)) => WatchMode::Persistent,
            Ok((_, 1)) => WatchMode::Recursive,
            _ => return self.refuse(id, xid, ErrorCode::MarshallingError),
        };
        let path = asked.map(|(path, _)| path).unwrap_or_default();
        if self.is_full(WatchTables::cost(&path)) {
            return self.refuse(id, xid, ErrorCode::QuotaExceeded);
        }
        self.watches.add(&path, id, mode);
        self.reply(id, xid, |out| out.put_int(0));
    }

    /// Looks for a watch of the connection, and removes it when that was asked for.
    pub(super) fn take_watches(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>) {
        let asked = from.some_text().and_then(|path| Ok((path, from.int()?)));
        let (path, kind) = match asked {
            Ok((path, 1)) => (path, WatchKind::Children),
            Ok((path, 2)) => (path, WatchKind::Data),
            Ok((path, 3)) => (path, WatchKind::Any),
            _ => return self.refuse(id, header.xid, ErrorCode::MarshallingError),
        };
        let found = if header.op == op::REMOVE_WATCHES {
            self.watches.remove(&path, id, kind)
        } else {
            self.watches.contains(&path, kind)
        };
        if found { self.reply(id, header.xid, |_| {}) } else { self.refuse(id, header.xid, ErrorCode::NoWatcher) }
    }

    /// Restores the watches that the client had on a lost connection. A one-shot watch that would
    /// have fired since is answered with its event instead; for a persistent watch nothing is sent.
    pub(super) fn set_watches(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>) {
        let Ok(asked) = SetWatches::read(header.op, &mut from) else {
            return self.refuse(id, header.xid, ErrorCode::MarshallingError);
        };
        let lists = [&asked.data, &asked.exist, &asked.child, &asked.persistent, &asked.recursive];
        if self.is_full(lists.into_iter().flatten().map(|path| WatchTables::cost(path)).sum()) {
            return self.refuse(id, header.xid, ErrorCode::QuotaExceeded);
        }
        for path in &asked.data {
            let missed = match self.tree.node(path) {
                Err(_) => Some(EventKind::Deleted),
                Ok(node) => (node.mzxid > asked.zxid).then_some(EventKind::DataChanged),
            };
            self.notify_or(id, path, missed, |machine| machine.watches.data.add(path, id, WatchMode::OneShot));
        }
        for path in &asked.exist {
            let missed = self.tree.node(path).is_ok().then_some(EventKind::Created);
            self.notify_or(id, path, missed, |machine| machine.watches.data.add(path, id, WatchMode::OneShot));
        }
        for path in &asked.child {
            let missed = match self.tree.node(path) {
                Err(_) => Some(EventKind::Deleted),
                Ok(node) => (node.pzxid > asked.zxid).then_some(EventKind::ChildrenChanged),
            };
            self.notify_or(id, path, missed, |machine| machine.watches.child.add(path, id, WatchMode::OneShot));
        }
        self.add_all(id, &asked.persistent, WatchMode::Persistent);
        self.add_all(id, &asked.recursive, WatchMode::Recursive);
        self.reply(id, header.xid, |_| {});
    }

    fn notify_or(&mut self, id: usize, path: &str, missed: Option<EventKind>, otherwise: impl FnOnce(&mut Self)) {
        match missed {
            Some(kind) => self.push(id, |out| event(out, kind, path)),
            None => otherwise(self),
        }
    }

    fn add_all(&mut self, id: usize, paths: &[Cow<'_, str>], mode: WatchMode) {
        for path in paths {
            self.watches.add(path, id, mode);
        }
    }
}

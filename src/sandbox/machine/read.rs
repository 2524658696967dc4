//! Requests that change no node: reads of data, stats, children, ACLs and counts, and all about
//! watches.
//!
//! Watches are added, checked and removed, or restored after a reconnect.

use std::borrow::Cow;

use super::Machine;
use super::write::{bad, end, good};
use crate::tree::{Id, NodeAcl, TreeNode, check, permission};
use crate::watch::{SandboxWatchKind, WatchMode, WatchTables};
use crate::wire::{Lookup, NodeWriter, SetWatches, multi};
use lockscope_base::wire::{ErrorCode, EventKind, Malformed, Reader, RequestHead, Writer, event, op};

/// The maximum size of the answer to a multi-read, in frames of the largest size. A real server has
/// no such bound.
const MULTI_READ: usize = 4;

/// Returns whether `op` is an operation of this family.
pub fn is_known(op: i32) -> bool {
    matches!(
        op,
        op::EXISTS
            | op::GET_DATA
            | op::GET_ACL
            | op::GET_CHILDREN
            | op::GET_CHILDREN2
            | op::GET_ALL_CHILDREN_NUMBER
            | op::GET_EPHEMERALS
            | op::SYNC
            | op::MULTI_READ
            | op::WHO_AM_I
    )
}

impl Machine {
    /// Answers what changes nothing.
    pub fn read(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>) {
        let mut body = Vec::new();
        match self.read_into(&mut body, id, header.op, &mut from) {
            Ok(()) => self.reply(id, header.xid, |out| out.append(&mut body)),
            Err(code) => self.refuse(id, header.xid, code),
        }
    }

    fn read_into(&mut self, out: &mut Vec<u8>, id: usize, op: i32, from: &mut Reader<'_>) -> Result<(), ErrorCode> {
        let unread = |_: Malformed| ErrorCode::MarshallingError;
        match op {
            op::EXISTS | op::GET_DATA | op::GET_CHILDREN | op::GET_CHILDREN2 => {
                let read = Lookup::read(op, from).map_err(unread)?;
                self.node_into(out, id, &read)
            }
            op::MULTI_READ => {
                let reads = multi(from, Lookup::read_of_multi).map_err(unread)?;
                self.nodes_into(out, id, &reads)
            }
            // With one server there is nothing to catch up with.
            op::SYNC => {
                out.put_buffer(from.buffer().map_err(unread)?);
                Ok(())
            }
            op::WHO_AM_I => {
                let who = self.who(id);
                out.put_length(who.len());
                for id in who {
                    out.put_text(&id.scheme);
                    out.put_text(id.user());
                }
                Ok(())
            }
            op::GET_EPHEMERALS => {
                let prefix = from.text().map_err(unread)?.unwrap_or_default();
                self.ephemerals_into(out, id, &prefix);
                Ok(())
            }
            _ => {
                let path = from.some_text().map_err(unread)?;
                self.path_into(out, id, op, &path)
            }
        }
    }

    /// Answers a read that can set a watch.
    fn node_into(&mut self, out: &mut Vec<u8>, id: usize, read: &Lookup<'_>) -> Result<(), ErrorCode> {
        if read.watch && self.is_full(WatchTables::cost(&read.path)) {
            return Err(ErrorCode::QuotaExceeded);
        }
        if read.op == op::EXISTS {
            if read.path.contains('\0') {
                return Err(ErrorCode::BadArguments);
            }
            // The watch may wait for a node that does not exist, and needs no permission.
            if read.watch {
                self.watches.data.add(&read.path, id, WatchMode::OneShot);
            }
            out.put_stat(&self.tree.node(&read.path)?.stat());
            return Ok(());
        }
        let node = self.readable(id, &read.path)?;
        if read.op == op::GET_DATA {
            out.put_buffer(node.data.as_deref());
            out.put_stat(&node.stat());
        } else {
            children_into(out, node);
            if read.op == op::GET_CHILDREN2 {
                out.put_stat(&node.stat());
            }
        }
        if read.watch {
            let table = if read.op == op::GET_DATA { &mut self.watches.data } else { &mut self.watches.child };
            table.add(&read.path, id, WatchMode::OneShot);
        }
        Ok(())
    }

    fn nodes_into(&mut self, out: &mut Vec<u8>, id: usize, reads: &[Lookup<'_>]) -> Result<(), ErrorCode> {
        for read in reads {
            let start = out.len();
            good(out, read.op);
            if let Err(code) = self.node_into(out, id, read) {
                out.truncate(start);
                bad(out, code.number());
            }
            if out.len() > MULTI_READ * self.options.max_frame {
                return Err(ErrorCode::QuotaExceeded);
            }
        }
        end(out);
        Ok(())
    }

    /// Answers a read of one path that sets no watch.
    fn path_into(&self, out: &mut Vec<u8>, id: usize, op: i32, path: &str) -> Result<(), ErrorCode> {
        if op == op::GET_ALL_CHILDREN_NUMBER {
            self.readable(id, path)?;
            // A real server compares prefixes: every path starts with an empty path and a slash.
            out.put_length(if path.is_empty() { self.tree.nodes() } else { self.tree.below(path) });
            return Ok(());
        }
        let node = self.tree.node(path)?;
        let who = self.who(id);
        check(&node.acls, permission::READ | permission::ADMIN, who)?;
        if check(&node.acls, permission::ADMIN, who).is_ok() {
            out.put_acls(&node.acls);
        } else {
            out.put_acls(&node.acls.iter().map(masked).collect::<Vec<_>>());
        }
        out.put_stat(&node.stat());
        Ok(())
    }

    /// Appends the paths of the session's ephemeral nodes that start with `prefix`.
    fn ephemerals_into(&self, out: &mut Vec<u8>, id: usize, prefix: &str) {
        let all = matches!(prefix.trim(), "" | "/");
        let session = self.connections.get(id).and_then(|connection| connection.session);
        let own = session.map(|(session, _)| self.tree.ephemerals_of(session));
        let paths: Vec<_> = own.into_iter().flatten().filter(|path| all || path.starts_with(prefix)).collect();
        out.put_length(paths.len());
        for path in paths {
            out.put_text(path);
        }
    }

    fn readable(&self, id: usize, path: &str) -> Result<&TreeNode, ErrorCode> {
        let node = self.tree.node(path)?;
        check(&node.acls, permission::READ, self.who(id))?;
        Ok(node)
    }

    fn who(&self, id: usize) -> &[Id] {
        self.connections.get(id).map(|connection| &*connection.who).unwrap_or_default()
    }
}

fn children_into(out: &mut Vec<u8>, node: &TreeNode) {
    out.put_length(node.children.len());
    for name in &node.children {
        out.put_text(name);
    }
}

/// Returns an ACL without the hash of a password, for clients without the admin permission.
fn masked(acl: &NodeAcl) -> NodeAcl {
    let mut acl = acl.clone();
    if &*acl.id.scheme == "digest"
        && let Some((user, _)) = acl.id.id.split_once(':')
    {
        acl.id.id = format!("{user}:x").into();
    }
    acl
}

impl Machine {
    /// Adds a persistent or recursive watch.
    pub fn add_watch(&mut self, id: usize, xid: i32, mut from: Reader<'_>) {
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
    pub fn take_watches(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>) {
        let asked = from.some_text().and_then(|path| Ok((path, from.int()?)));
        let (path, kind) = match asked {
            Ok((path, 1)) => (path, SandboxWatchKind::Children),
            Ok((path, 2)) => (path, SandboxWatchKind::Data),
            Ok((path, 3)) => (path, SandboxWatchKind::Any),
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
    pub fn set_watches(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>) {
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

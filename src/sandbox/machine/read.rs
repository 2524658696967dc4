//! Requests that read: data, stats, children, ACLs, counts.

use super::Machine;
use super::multi::{bad, end, good};
use crate::tree::{Acl, Id, Node, check, permission};
use crate::watch::{WatchMode, WatchTables};
use crate::wire::{Lookup, NodeWriter, multi};
use lockscope_base::wire::{ErrorCode, Malformed, Reader, RequestHead, Writer, op};

/// The maximum size of the answer to a multi-read, in frames of the largest size. A real server has
/// no such bound.
const MULTI_READ: usize = 4;

/// Returns whether `op` is an operation of this family.
pub(super) fn is_known(op: i32) -> bool {
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
    pub(super) fn read(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>) {
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

    fn readable(&self, id: usize, path: &str) -> Result<&Node, ErrorCode> {
        let node = self.tree.node(path)?;
        check(&node.acls, permission::READ, self.who(id))?;
        Ok(node)
    }

    fn who(&self, id: usize) -> &[Id] {
        self.connections.get(id).map(|connection| &*connection.who).unwrap_or_default()
    }
}

fn children_into(out: &mut Vec<u8>, node: &Node) {
    out.put_length(node.children.len());
    for name in &node.children {
        out.put_text(name);
    }
}

/// Returns an ACL without the hash of a password, for clients without the admin permission.
fn masked(acl: &Acl) -> Acl {
    let mut acl = acl.clone();
    if &*acl.id.scheme == "digest"
        && let Some((user, _)) = acl.id.id.split_once(':')
    {
        acl.id.id = format!("{user}:x").into();
    }
    acl
}

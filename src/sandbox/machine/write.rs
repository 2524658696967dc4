//! Requests that create, change and delete nodes, alone or as one transaction.
//!
//! The results of a multi have headers of their own, which several reads in one request use too.

use super::Machine;
use crate::tree::{
    Id, Owner, Tree, TreeChange, TreeMode, Undo, Wish, acl_bytes, check, effective_acls, known, parent, permission,
    validate,
};
use crate::wire::{CreateRequest, NodeWriter, WriteRequest, multi};
use lockscope_base::wire::{ErrorCode, Malformed, Reader, RequestHead, Writer, op};

/// The longest time to live, in milliseconds. ZooKeeper stores it in 40 bits.
const LONGEST_TTL: i64 = 0x00ff_ffff_ffff;

impl Machine {
    /// Carries out a change that stands alone. It takes a zxid even when it is refused.
    pub fn write(&mut self, id: usize, header: RequestHead, write: Result<WriteRequest<'_>, Malformed>, now: i64) {
        self.zxid += 1;
        let done = write.map_err(|_| ErrorCode::MarshallingError).and_then(|write| self.apply(id, &write, now));
        match done {
            Err(code) => self.refuse(id, header.xid, code),
            Ok((change, _)) => {
                self.notify(&change);
                self.reply(id, header.xid, |out| match &change {
                    TreeChange::Created { path, stat, .. } => {
                        out.put_text(path);
                        if header.op != op::CREATE {
                            out.put_stat(stat);
                        }
                    }
                    TreeChange::DataChanged { stat, .. }
                    | TreeChange::AclChanged { stat }
                    | TreeChange::Checked { stat } => {
                        out.put_stat(stat);
                    }
                    TreeChange::Deleted { .. } => {}
                });
            }
        }
    }

    /// Applies a change if the client has the permission. The checks have a real server's order.
    fn apply(&mut self, id: usize, write: &WriteRequest<'_>, now: i64) -> Result<(TreeChange, Undo), ErrorCode> {
        let zxid = self.zxid;
        let connection = self.connections.get(id).ok_or(ErrorCode::MarshallingError)?;
        let who = &connection.who;
        match write {
            WriteRequest::Create(create) => self.create(id, create, now),
            WriteRequest::Delete { path, version } => {
                self.may(self.tree.deletable(path)?, permission::DELETE, who)?;
                self.tree.delete(path, *version, zxid)
            }
            WriteRequest::SetData { path, data, version } => {
                validate(path)?;
                self.may(path, permission::WRITE, who)?;
                let more = data.map_or(0, <[u8]>::len).saturating_sub(self.tree.node(path)?.data_length());
                if more > 0 && self.is_full(more) {
                    return Err(ErrorCode::QuotaExceeded);
                }
                self.tree.set_data(path, *data, *version, zxid, now)
            }
            WriteRequest::SetAcl { path, acls, version } => {
                validate(path)?;
                let acls = effective_acls(acls, who)?;
                self.may(path, permission::ADMIN, who)?;
                let more = acl_bytes(&acls).saturating_sub(acl_bytes(&self.tree.node(path)?.acls));
                if more > 0 && self.is_full(more) {
                    return Err(ErrorCode::QuotaExceeded);
                }
                self.tree.set_acl(path, acls, *version)
            }
            WriteRequest::Check { path, version } => {
                validate(path)?;
                self.may(path, permission::READ, who)?;
                self.tree.check(path, *version)
            }
        }
    }

    fn create(&mut self, id: usize, create: &CreateRequest<'_>, now: i64) -> Result<(TreeChange, Undo), ErrorCode> {
        let connection = self.connections.get(id).ok_or(ErrorCode::MarshallingError)?;
        if create.op == op::ERROR {
            return Err(ErrorCode::MarshallingError);
        }
        let mode = TreeMode::of(create.flags)?;
        let has_ttl = (1..=LONGEST_TTL).contains(&create.ttl);
        if mode.ttl && !has_ttl || !mode.ttl && create.ttl >= 0 {
            return Err(ErrorCode::BadArguments);
        }
        let above = known(parent(&create.path)?);
        let acls = effective_acls(&create.acls, &connection.who)?;
        self.may(above, permission::CREATE, &connection.who)?;
        let owner = match (create.op, connection.session) {
            (op::CREATE_CONTAINER, _) => Owner::Container,
            (op::CREATE_TTL, _) if mode.ttl => Owner::Ttl(create.ttl),
            (_, Some((session, _))) if mode.ephemeral => Owner::Session(session),
            _ => Owner::Nobody,
        };
        if self.is_full(Tree::cost(&create.path, create.data, &acls)) {
            return Err(ErrorCode::QuotaExceeded);
        }
        let wish = Wish { path: &create.path, data: create.data, acls, mode, owner };
        self.tree.create(wish, self.zxid, now)
    }

    /// Checks that one of the identities has a permission on an existing node.
    fn may(&self, path: &str, permission: i32, who: &[Id]) -> Result<(), ErrorCode> {
        check(&self.tree.node(path)?.acls, permission, who)
    }

    /// Applies several changes as one transaction with one zxid: all of them, or none.
    pub fn multi(&mut self, id: usize, xid: i32, mut from: Reader<'_>, now: i64) {
        self.zxid += 1;
        let Ok(writes) = multi(&mut from, WriteRequest::read_of_multi) else {
            return self.refuse(id, xid, ErrorCode::MarshallingError);
        };
        let mut changes = Vec::with_capacity(writes.len());
        let mut undos = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            match self.apply(id, write, now) {
                Ok((change, undo)) => {
                    changes.push(change);
                    undos.push(undo);
                }
                Err(code) => {
                    while let Some(undo) = undos.pop() {
                        self.tree.undo(undo);
                    }
                    return match code {
                        ErrorCode::MarshallingError => self.refuse(id, xid, code),
                        _ => self.reply(id, xid, |out| failed(out, writes.len(), index, code)),
                    };
                }
            }
        }
        for change in &changes {
            self.notify(change);
        }
        self.reply(id, xid, |out| {
            for (write, change) in writes.iter().zip(&changes) {
                result(out, write, change);
            }
            end(out);
        });
    }
}

/// Appends the header that precedes each result of a multi.
fn header(out: &mut Vec<u8>, op: i32, done: bool, error: i32) {
    out.put_int(op);
    out.put_bool(done);
    out.put_int(error);
}

/// Appends the header that ends the results of a multi.
pub fn end(out: &mut Vec<u8>) {
    header(out, op::ERROR, true, -1);
}

/// Appends the header of a successful result; its body follows.
pub fn good(out: &mut Vec<u8>, op: i32) {
    header(out, op, false, 0);
}

/// Appends a failed result.
pub fn bad(out: &mut Vec<u8>, error: i32) {
    header(out, op::ERROR, false, error);
    out.put_int(error);
}

/// Appends the result of a change. A result with both a path and a stat has the type `create2`.
fn result(out: &mut Vec<u8>, write: &WriteRequest<'_>, change: &TreeChange) {
    match (write, change) {
        (WriteRequest::Create(CreateRequest { op: op::CREATE, .. }), TreeChange::Created { path, .. }) => {
            good(out, op::CREATE);
            out.put_text(path);
        }
        (_, TreeChange::Created { path, stat, .. }) => {
            good(out, op::CREATE2);
            out.put_text(path);
            out.put_stat(stat);
        }
        (_, TreeChange::DataChanged { stat, .. } | TreeChange::AclChanged { stat }) => {
            good(out, op::SET_DATA);
            out.put_stat(stat);
        }
        (_, TreeChange::Deleted { .. }) => good(out, op::DELETE),
        (_, TreeChange::Checked { .. }) => good(out, op::CHECK),
    }
}

/// Appends the `count` results of a multi whose operation `refused` failed. Those before it have
/// the code 0; those after it were not tried.
fn failed(out: &mut Vec<u8>, count: usize, refused: usize, code: ErrorCode) {
    for index in 0..count {
        bad(
            out,
            match index.cmp(&refused) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => code.number(),
                std::cmp::Ordering::Greater => ErrorCode::RuntimeInconsistency.number(),
            },
        );
    }
    end(out);
}

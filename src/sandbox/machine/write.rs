//! Requests that create, change and delete nodes.

use super::Machine;
use crate::tree::{
    Change, Id, Owner, Tree, TreeMode, Undo, Wish, acl_bytes, check, effective_acls, known, parent, permission,
    validate,
};
use crate::wire::{Create, NodeWriter, Write};
use lockscope_base::wire::{ErrorCode, Malformed, RequestHead, Writer, op};

/// The longest time to live, in milliseconds. ZooKeeper stores it in 40 bits.
const LONGEST_TTL: i64 = 0x00ff_ffff_ffff;

impl Machine {
    /// Carries out a change that stands alone. It takes a zxid even when it is refused.
    pub(super) fn write(&mut self, id: usize, header: RequestHead, write: Result<Write<'_>, Malformed>, now: i64) {
        self.zxid += 1;
        let done = write.map_err(|_| ErrorCode::MarshallingError).and_then(|write| self.apply(id, &write, now));
        match done {
            Err(code) => self.refuse(id, header.xid, code),
            Ok((change, _)) => {
                self.notify(&change);
                self.reply(id, header.xid, |out| match &change {
                    Change::Created { path, stat, .. } => {
                        out.put_text(path);
                        if header.op != op::CREATE {
                            out.put_stat(stat);
                        }
                    }
                    Change::DataChanged { stat, .. } | Change::AclChanged { stat } | Change::Checked { stat } => {
                        out.put_stat(stat);
                    }
                    Change::Deleted { .. } => {}
                });
            }
        }
    }

    /// Applies a change if the client has the permission. The checks have a real server's order.
    pub(super) fn apply(&mut self, id: usize, write: &Write<'_>, now: i64) -> Result<(Change, Undo), ErrorCode> {
        let zxid = self.zxid;
        let connection = self.connections.get(id).ok_or(ErrorCode::MarshallingError)?;
        let who = &connection.who;
        match write {
            Write::Create(create) => self.create(id, create, now),
            Write::Delete { path, version } => {
                self.may(self.tree.deletable(path)?, permission::DELETE, who)?;
                self.tree.delete(path, *version, zxid)
            }
            Write::SetData { path, data, version } => {
                validate(path)?;
                self.may(path, permission::WRITE, who)?;
                let more = data.map_or(0, <[u8]>::len).saturating_sub(self.tree.node(path)?.data_length());
                if more > 0 && self.is_full(more) {
                    return Err(ErrorCode::QuotaExceeded);
                }
                self.tree.set_data(path, *data, *version, zxid, now)
            }
            Write::SetAcl { path, acls, version } => {
                validate(path)?;
                let acls = effective_acls(acls, who)?;
                self.may(path, permission::ADMIN, who)?;
                let more = acl_bytes(&acls).saturating_sub(acl_bytes(&self.tree.node(path)?.acls));
                if more > 0 && self.is_full(more) {
                    return Err(ErrorCode::QuotaExceeded);
                }
                self.tree.set_acl(path, acls, *version)
            }
            Write::Check { path, version } => {
                validate(path)?;
                self.may(path, permission::READ, who)?;
                self.tree.check(path, *version)
            }
        }
    }

    fn create(&mut self, id: usize, create: &Create<'_>, now: i64) -> Result<(Change, Undo), ErrorCode> {
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
    pub(super) fn may(&self, path: &str, permission: i32, who: &[Id]) -> Result<(), ErrorCode> {
        check(&self.tree.node(path)?.acls, permission, who)
    }
}

//! Encodes the stats and ACLs of nodes.

use crate::tree::{Acl, Stat};
use lockscope_base::wire::Writer;

/// Writes stats and ACLs.
pub trait NodeWriter {
    fn put_stat(&mut self, stat: &Stat);
    fn put_acls(&mut self, acls: &[Acl]);
}

impl NodeWriter for Vec<u8> {
    fn put_stat(&mut self, stat: &Stat) {
        self.put_long(stat.czxid);
        self.put_long(stat.mzxid);
        self.put_long(stat.ctime);
        self.put_long(stat.mtime);
        self.put_int(stat.version);
        self.put_int(stat.cversion);
        self.put_int(stat.aversion);
        self.put_long(stat.ephemeral_owner);
        self.put_int(stat.data_length);
        self.put_int(stat.num_children);
        self.put_long(stat.pzxid);
    }

    fn put_acls(&mut self, acls: &[Acl]) {
        self.put_length(acls.len());
        for acl in acls {
            self.put_int(acl.permissions);
            self.put_text(&acl.id.scheme);
            self.put_text(&acl.id.id);
        }
    }
}

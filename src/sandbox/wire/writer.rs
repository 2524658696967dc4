//! Writes frames and the values in them.

use super::ErrorCode;
use crate::tree::{Acl, Stat};

/// The zxid of a reply without one.
pub const NO_ZXID: i64 = -1;

/// The size of a reply's length and header, in bytes.
const HEADER: usize = 4 + 4 + 8 + 4;

/// Writes jute, ZooKeeper's own encoding.
pub trait Writer {
    fn put_bool(&mut self, value: bool);
    fn put_int(&mut self, value: i32);
    fn put_long(&mut self, value: i64);
    fn put_length(&mut self, length: usize);
    fn put_buffer(&mut self, bytes: Option<&[u8]>);
    fn put_text(&mut self, text: &str);
    fn put_stat(&mut self, stat: &Stat);
    fn put_acls(&mut self, acls: &[Acl]);
}

impl Writer for Vec<u8> {
    fn put_bool(&mut self, value: bool) {
        self.push(u8::from(value));
    }

    fn put_int(&mut self, value: i32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_long(&mut self, value: i64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    /// Lengths fit an `i32`: the values came in by frames or count such values.
    fn put_length(&mut self, length: usize) {
        self.put_int(i32::try_from(length).unwrap_or(i32::MAX));
    }

    fn put_buffer(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.put_int(-1),
            Some(bytes) => {
                self.put_length(bytes.len());
                self.extend_from_slice(bytes);
            }
        }
    }

    fn put_text(&mut self, text: &str) {
        self.put_buffer(Some(text.as_bytes()));
    }

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

/// Appends a frame: its length, and the output of `body`.
pub fn frame(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.put_int(0);
    body(out);
    let length = i32::try_from(out.len() - start - 4).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a reply.
pub fn reply(out: &mut Vec<u8>, xid: i32, zxid: i64, body: impl FnOnce(&mut Vec<u8>)) {
    frame(out, |out| {
        header(out, xid, zxid, 0);
        body(out);
    });
}

/// Appends a reply with an error code.
pub fn refusal(out: &mut Vec<u8>, xid: i32, zxid: i64, code: ErrorCode) {
    out.reserve(HEADER);
    frame(out, |out| header(out, xid, zxid, code.number()));
}

fn header(out: &mut Vec<u8>, xid: i32, zxid: i64, error: i32) {
    out.put_int(xid);
    out.put_long(zxid);
    out.put_int(error);
}

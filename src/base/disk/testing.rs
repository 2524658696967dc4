//! Real files, and records made by hand.

use crate::wire::Writer;

/// A log of ZooKeeper 3.8.0.
pub const LOG: &[u8] = include_bytes!("captures/log.1");

/// The snapshot that the server wrote when it started on that log and two more transactions.
pub const SNAPSHOT: &[u8] = include_bytes!("captures/snapshot.27");

/// The snapshot of an empty server.
pub const EMPTY: &[u8] = include_bytes!("captures/snapshot.0");

/// Snapshots of the same server, compressed in both ways.
pub const GZIP: &[u8] = include_bytes!("captures/snapshot.21.gz");
pub const SNAPPY: &[u8] = include_bytes!("captures/snapshot.24.snappy");

/// The session of [`entry`].
pub const SESSION: i64 = 0x0100_0000_0000_0007;

/// Returns what a closure writes.
pub fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// Returns an entry of this zxid and type, at a time that equals the zxid.
pub fn entry(zxid: i64, op: i32, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    written(|out| {
        out.put_long(SESSION);
        out.put_int(1);
        out.put_long(zxid);
        out.put_long(zxid);
        out.put_int(op);
        body(out);
    })
}

/// Appends an ACL that permits everything.
pub fn put_open_acl(out: &mut Vec<u8>) {
    out.put_int(1);
    out.put_int(31);
    out.put_text("world");
    out.put_text("anyone");
}

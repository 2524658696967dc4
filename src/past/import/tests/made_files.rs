//! Logs and snapshots, made by hand.

use lockscope_base::wire::{Writer, op};

/// The session of the contenders.
pub const SESSION: i64 = 0x0100_0000_0000_0007;

pub fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// The checksum of both kinds of files.
pub fn adler(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// Returns the time of a transaction: its number, and a second for each epoch.
pub fn time(zxid: i64) -> i64 {
    (zxid >> 32) * 1_000 + (zxid & 0xffff_ffff)
}

/// A log that grows by transactions.
pub struct Log(pub Vec<u8>);

impl Log {
    pub fn new() -> Self {
        Self([&b"ZKLG\0\0\0\x02"[..], &[0; 8]].concat())
    }

    fn entry(self, zxid: i64, by: (i64, i32), kind: i32, body: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.entry_at((zxid, time(zxid)), by, kind, body)
    }

    fn entry_at(
        mut self,
        (zxid, at): (i64, i64),
        (session, cxid): (i64, i32),
        kind: i32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        let entry = written(|out| {
            out.put_long(session);
            out.put_int(cxid);
            out.put_long(zxid);
            out.put_long(at);
            out.put_int(kind);
            body(out);
        });
        self.0.put_long(i64::from(adler(&entry)));
        self.0.put_buffer(Some(&entry));
        self.0.push(b'B');
        self
    }

    /// A session creates an ephemeral node; `ever` children has the parent had.
    pub fn creates(self, zxid: i64, path: &str, ever: i32) -> Self {
        self.creates_as((zxid, time(zxid)), path, ever)
    }

    /// A session creates the first child of a node at a time.
    pub fn creates_at(self, zxid: i64, at: i64, path: &str) -> Self {
        self.creates_as((zxid, at), path, 1)
    }

    fn creates_as(self, at: (i64, i64), path: &str, ever: i32) -> Self {
        self.entry_at(at, (SESSION, 1), op::CREATE, |out| {
            out.put_text(path);
            out.put_buffer(Some(b""));
            out.put_int(0);
            out.put_bool(!path.ends_with("/lock") && path != "/lock");
            out.put_int(ever);
        })
    }

    pub fn deletes(self, zxid: i64, path: &str) -> Self {
        self.entry(zxid, (SESSION, 1), op::DELETE, |out| out.put_text(path))
    }

    /// A node is deleted at a time.
    pub fn deletes_at(self, zxid: i64, at: i64, path: &str) -> Self {
        self.entry_at((zxid, at), (SESSION, 1), op::DELETE, |out| out.put_text(path))
    }

    /// The session expires. As before 3.6, its nodes are not listed.
    pub fn expires(self, zxid: i64) -> Self {
        self.entry(zxid, (SESSION, 0), op::CLOSE_SESSION, |_| ())
    }
}

/// A snapshot of `/lock` with ephemeral nodes: their paths and creations, how many children there
/// have ever been, and the last transaction that made or deleted one. `digest` is the last
/// transaction before the snapshot was finished.
pub fn snapshot(nodes: &[(&str, i64)], (ever, changed): (i32, i64), digest: Option<i64>) -> Vec<u8> {
    let mut out = [&b"ZKSN\0\0\0\x02"[..], &(-1_i64).to_be_bytes()].concat();
    out.put_int(0);
    out.put_int(0);
    let node = |out: &mut Vec<u8>, path: &str, zxid: i64, (ever, changed): (i32, i64), owner: i64| {
        out.put_text(path);
        out.put_buffer(Some(b""));
        out.put_long(-1);
        for long in [zxid, zxid, time(zxid), time(zxid)] {
            out.put_long(long);
        }
        for int in [0, ever, 0] {
            out.put_int(int);
        }
        for long in [owner, changed] {
            out.put_long(long);
        }
    };
    node(&mut out, "", 0, (1, 1), 0);
    node(&mut out, "/lock", 1, (ever, changed), 0);
    for (path, zxid) in nodes {
        node(&mut out, path, *zxid, (0, *zxid), SESSION);
    }
    out.put_text("/");
    seal(&mut out);
    if let Some(zxid) = digest {
        out.put_long(zxid);
        out.put_int(2);
        out.put_long(0);
        seal(&mut out);
    }
    out
}

/// The snapshot of an ensemble without a transaction.
pub fn empty_snapshot() -> Vec<u8> {
    let mut out = [&b"ZKSN\0\0\0\x02"[..], &(-1_i64).to_be_bytes(), &[0; 8]].concat();
    out.put_text("");
    out.put_buffer(Some(b""));
    out.put_long(-1);
    out.extend([0; 60]);
    out.put_text("/");
    seal(&mut out);
    out
}

pub fn seal(out: &mut Vec<u8>) {
    out.put_long(i64::from(adler(out)));
    out.put_text("/");
}

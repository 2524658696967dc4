//! An input read as the files of a server.

use adler2::adler32_slice;
use lockscope_base::wire::{Writer, op};

const PATHS: [&str; 8] = [
    "/lock",
    "/lock/_c_00000000-0000-4000-8000-000000000001-lock-0000000001",
    "/lock/_c_00000000-0000-4000-8000-000000000002-lock-0000000002",
    "/lock/_c_00000000-0000-4000-8000-000000000003-lock-0000000003",
    "/pool/leases",
    "/pool/leases/_c_00000000-0000-4000-8000-000000000004-lease-0000000000",
    "/pool/locks/_c_00000000-0000-4000-8000-000000000005-lock-0000000000",
    "/lock/read-0000000004",
];

/// Returns the files that an input stands for: itself, if it begins as one, or those of a script.
pub fn files(input: &[u8]) -> Vec<(String, Vec<u8>)> {
    let name = match input {
        [b'Z', b'K', b'L', b'G', ..] => "log.1",
        [b'Z', b'K', b'S', b'N', ..] => "snapshot.10",
        [0x1f, 0x8b, ..] => "snapshot.10.gz",
        [0x82, b'S', b'N', ..] => "snapshot.10.snappy",
        _ => return Script::new(input).run(),
    };
    vec![(name.to_owned(), input.to_vec())]
}

/// What servers write, one transaction after the other, each with its checksum.
struct Script<'a> {
    rest: &'a [u8],
    files: Vec<(String, Vec<u8>)>,
    log: Vec<u8>,
    first: i64,
    zxid: i64,
    time: i64,
}

impl<'a> Script<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self { rest: input, files: Vec::new(), log: head(b"ZKLG"), first: 1, zxid: 0, time: 1_714_574_467_250 }
    }

    fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *byte
    }

    fn path(&mut self) -> &'static str {
        PATHS[usize::from(self.byte()) % PATHS.len()]
    }

    fn run(mut self) -> Vec<(String, Vec<u8>)> {
        while !self.rest.is_empty() {
            match self.byte() % 16 {
                0..4 => self.creates(),
                4..7 => {
                    let path = self.path();
                    self.writes(op::DELETE, 1, |out| out.put_text(path));
                }
                7 => {
                    let path = self.path();
                    self.writes(op::SET_DATA, 1, |out| {
                        out.put_text(path);
                        out.put_buffer(Some(b"1"));
                        out.put_int(2);
                    });
                }
                8 => self.closes(),
                9 => self.sets_two(),
                10 => {
                    let length = usize::from(self.byte()).min(self.rest.len());
                    let (bytes, rest) = self.rest.split_at(length);
                    self.rest = rest;
                    put_record(&mut self.log, bytes);
                }
                11 => self.ends_log(),
                12 => self.snapshot(),
                13 => {
                    let at = self.log.len().saturating_sub(usize::from(self.byte()) + 1);
                    self.log[at] ^= 1;
                }
                14 => self.time += i64::from(self.byte() as i8) << (self.byte() % 24),
                _ => self.zxid += if self.byte() % 4 == 0 { 1 << 32 } else { i64::from(self.byte()) },
            }
        }
        self.ends_log();
        self.files
    }

    /// Writes a transaction of a session; a request of number 0 is the servers' own.
    fn writes(&mut self, kind: i32, cxid: i32, body: impl FnOnce(&mut Vec<u8>)) {
        self.zxid += 1;
        self.time += 250;
        let mut entry = Vec::new();
        entry.put_long(i64::from(self.byte() % 4));
        entry.put_int(cxid);
        entry.put_long(self.zxid);
        entry.put_long(self.time);
        entry.put_int(kind);
        body(&mut entry);
        put_record(&mut self.log, &entry);
    }

    fn creates(&mut self) {
        let (path, choice) = (self.path(), self.byte());
        self.writes(op::CREATE, 1, |out| {
            out.put_text(path);
            out.put_buffer(Some(b"data"));
            out.put_int(0);
            out.put_bool(choice % 4 != 0);
            out.put_int(i32::from(choice));
        });
    }

    fn closes(&mut self) {
        let (choice, paths) = (self.byte(), [self.path(), self.path()]);
        self.writes(op::CLOSE_SESSION, i32::from(choice % 2), |out| {
            if choice & 2 != 0 {
                out.put_int(2);
                paths.iter().for_each(|path| out.put_text(path));
            }
        });
    }

    fn sets_two(&mut self) {
        let paths = [self.path(), self.path()];
        self.writes(op::MULTI, 1, |out| {
            out.put_int(2);
            for path in paths {
                let mut part = Vec::new();
                part.put_text(path);
                out.put_int(op::DELETE);
                out.put_buffer(Some(&part));
            }
        });
    }

    fn ends_log(&mut self) {
        let log = std::mem::replace(&mut self.log, head(b"ZKLG"));
        self.files.push((format!("log.{:x}", self.first), log));
        self.first = self.zxid + 1;
    }

    /// Writes a snapshot with the nodes whose bits are set.
    fn snapshot(&mut self) {
        let (nodes, choice) = (self.byte(), self.byte());
        let mut out = head(b"ZKSN");
        out.put_int(0);
        out.put_int(0);
        for (at, path) in ["", "/lock", "/pool"].into_iter().chain(PATHS).enumerate() {
            if at < 3 || nodes & 1 << (at - 3) != 0 {
                let zxid = (self.zxid - at as i64).max(1);
                out.put_text(path);
                out.put_buffer(Some(b"1"));
                out.put_long(-1);
                [zxid, zxid, self.time, self.time].iter().for_each(|long| out.put_long(*long));
                [1, i32::from(choice), 0].iter().for_each(|int| out.put_int(*int));
                [if at < 3 { 0 } else { i64::from(choice % 4) }, zxid].iter().for_each(|long| out.put_long(*long));
            }
        }
        out.put_text("/");
        seal(&mut out);
        if choice & 4 != 0 {
            out.put_long(self.zxid + i64::from(choice % 8));
            out.put_int(2);
            out.put_long(0);
            seal(&mut out);
        }
        self.files.push((format!("snapshot.{:x}", self.zxid), out));
    }
}

fn head(magic: &[u8; 4]) -> Vec<u8> {
    [&magic[..], &2_i32.to_be_bytes(), &[0; 8]].concat()
}

fn put_record(log: &mut Vec<u8>, entry: &[u8]) {
    log.put_long(i64::from(adler32_slice(entry)));
    log.put_buffer(Some(entry));
    log.push(b'B');
}

fn seal(out: &mut Vec<u8>) {
    out.put_long(i64::from(adler32_slice(out)));
    out.put_text("/");
}

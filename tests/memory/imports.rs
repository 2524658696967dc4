//! The memory of an import of a snapshot with very many nodes and few locks.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::COUNTING;
use super::recordings::run;

/// The number of nodes that are no contenders.
const NODES: usize = 1_000_000;

/// The maximum memory of an import, in bytes.
const MOST: u64 = 200_000_000;

/// A packed snapshot that is written.
struct Snapshot {
    to: GzEncoder<File>,
    sum: (u32, u32),
}

impl Snapshot {
    fn create(path: &Path) -> Self {
        let mut snapshot =
            Self { to: GzEncoder::new(File::create(path).expect("a file"), Compression::fast()), sum: (1, 0) };
        // The head, no sessions and no ACLs.
        snapshot.put(&[&b"ZKSN\0\0\0\x02"[..], &(-1_i64).to_be_bytes(), &[0; 8]].concat());
        snapshot
    }

    fn put(&mut self, bytes: &[u8]) {
        // Adler-32, as servers sum a snapshot.
        for byte in bytes {
            self.sum.0 = (self.sum.0 + u32::from(*byte)) % 65_521;
            self.sum.1 = (self.sum.1 + self.sum.0) % 65_521;
        }
        self.to.write_all(bytes).expect("written");
    }

    fn put_text(&mut self, text: &str) {
        self.put(&i32::try_from(text.len()).expect("short").to_be_bytes());
        self.put(text.as_bytes());
    }

    fn node(&mut self, path: &str, zxid: i64, owner: i64) {
        self.put_text(path);
        self.put_text("10.0.4.170");
        let at = 1_700_000_000_000 + zxid;
        for long in [1, zxid, zxid, at, at] {
            self.put(&long.to_be_bytes());
        }
        self.put(&[0; 12]);
        self.put(&owner.to_be_bytes());
        self.put(&zxid.to_be_bytes());
    }

    fn end(mut self) -> io::Result<()> {
        self.put_text("/");
        self.put(&u64::from(self.sum.1 << 16 | self.sum.0).to_be_bytes());
        self.put_text("/");
        self.to.finish().map(drop)
    }
}

/// Writes a snapshot with a lock, and the other nodes in folders of so many.
fn write(path: &Path, in_a_folder: usize) -> io::Result<()> {
    let mut snapshot = Snapshot::create(path);
    snapshot.node("", 0, 0);
    snapshot.node("/locks", 1, 0);
    for session in 1..4 {
        let node = format!("/locks/_c_00000000-0000-4000-8000-00000000000{session}-lock-000000000{session}");
        snapshot.node(&node, session + 1, session);
    }
    for number in 0..NODES {
        let folder = number / in_a_folder;
        let zxid = i64::try_from(number).expect("a small number") + 100;
        if number % in_a_folder == 0 {
            snapshot.node(&format!("/folder-{folder}"), zxid, 0);
        }
        snapshot.node(&format!("/folder-{folder}/item-{number}"), zxid, 0);
    }
    snapshot.end()
}

#[test]
fn an_import_of_a_million_nodes_and_few_locks_takes_less_than_200_mb() {
    let _with_others = COUNTING.read();
    for in_a_folder in [500, NODES] {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, store) = (folder.path().join("snapshot.f5000.gz"), folder.path().join("locks.db"));
        write(&file, in_a_folder).expect("written");
        let (most, said) = run(&["import", "--store", store.to_str().expect("text"), file.to_str().expect("text")]);
        println!("{in_a_folder} in a folder: {most} bytes");
        assert!(store.exists(), "{said}");
        assert!(0 < most && most < MOST, "{in_a_folder} in a folder: {most} bytes; {said}");
    }
}

//! Files that a server writes while they are read.

use std::cell::RefCell;
use std::io::{self, SeekFrom};
use std::rc::Rc;

use super::*;
use crate::disk::testing::LOG;
use crate::znode::Zxid;

/// A file that changes while it is read.
#[derive(Clone, Default)]
struct Shared {
    bytes: Rc<RefCell<Vec<u8>>>,
    at: u64,
    /// What the file holds after the next read.
    next: Rc<RefCell<Option<Vec<u8>>>>,
}

impl Shared {
    fn write(&self, bytes: &[u8]) {
        *self.bytes.borrow_mut() = bytes.to_vec();
    }
}

impl Read for Shared {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut file = Cursor::new(self.bytes.borrow().clone());
        file.set_position(self.at);
        let read = file.read(into)?;
        self.at = file.position();
        if let Some(next) = self.next.take() {
            self.write(&next);
        }
        Ok(read)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut file = Cursor::new(self.bytes.borrow().clone());
        file.set_position(self.at);
        self.at = file.seek(to)?;
        Ok(self.at)
    }
}

/// The file as it is when this many bytes are written, before preallocated zeros.
fn written(count: usize) -> Vec<u8> {
    let mut bytes = LOG[..count].to_vec();
    bytes.resize(LOG.len(), 0);
    bytes
}

#[test]
fn each_record_is_read_once_it_is_whole() {
    let all = outcome(&mut open(LOG)).records;
    for step in [1, 50, 700] {
        let file = Shared::default();
        file.write(&written(16));
        let mut log = LogReader::open(file.clone()).expect("a head");
        let mut records = Vec::new();
        for count in (16..LOG.len()).step_by(step).chain([LOG.len()]) {
            file.write(&written(count));
            let found = outcome(&mut log);
            assert_eq!(found.damage, [], "{count} bytes are written");
            records.extend(found.records);
        }
        assert_eq!(records, all, "{step}");
    }
}

#[test]
fn bytes_from_before_a_write_are_no_damage() {
    let (mut file, data) = (head(), vec![7; 300 << 10]);
    for zxid in 1..9 {
        put_record(&mut file, &set_data(zxid, &data));
    }
    let mut early = file[..100 << 10].to_vec();
    early.resize(file.len(), 0);
    let shared = Shared::default();
    shared.write(&early);
    let mut log = LogReader::open(shared.clone()).expect("a head");
    // The first read of the buffer sees a part of the first record, and later ones all records.
    *shared.next.borrow_mut() = Some(file);
    let found = outcome(&mut log);
    assert_eq!((found.records.len(), found.damage.len()), (8, 0), "{found:?}");
}

#[test]
fn a_file_is_read_on_from_an_offset() {
    let all = outcome(&mut open(LOG)).records;
    let (offset, zxid) = all[10];
    let mut log = open(LOG);
    log.resume(offset, Some(Zxid(zxid - 1))).expect("bytes");
    assert_eq!((log.offset(), log.last_zxid()), (offset, Some(Zxid(zxid - 1))));
    assert_eq!(outcome(&mut log).records, all[10..]);
    log.resume(1 << 40, None).expect("bytes");
    assert_eq!(outcome(&mut log).end, Some(LogEnd::Whole { offset: 1 << 40 }));
}

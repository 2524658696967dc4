//! Checks that arbitrary bytes in a server's log or snapshot are read to an end without a panic,
//! and that the reading goes on, never back.

#![no_main]

mod files;

use std::io::Cursor;

use lockscope_base::disk::{LogItem, LogReader, SnapshotItem, SnapshotReader, Txn};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    for (name, bytes) in files::files(input) {
        if name.starts_with("log.") { read_log(&bytes) } else { read_snapshot(&bytes) }
    }
});

fn read_log(bytes: &[u8]) {
    let Ok(mut log) = LogReader::open(Cursor::new(bytes)) else { return };
    let mut at = 0;
    loop {
        match log.read().expect("bytes in memory") {
            LogItem::Record(record) => {
                assert!(record.offset >= at && record.offset < bytes.len() as u64);
                at = record.offset + record.bytes.len() as u64;
                match record.entry.txn {
                    Txn::Multi(multi) => drop(multi.parts().count()),
                    Txn::CloseSession { deleted: Some(deleted) } => drop(deleted.iter().count()),
                    Txn::Create(create) => drop(create.acl.entries().count()),
                    _ => {}
                }
            }
            LogItem::Damage(damage) => {
                assert!(damage.offset >= at && damage.bytes > 0);
                at = damage.offset + damage.bytes;
            }
            LogItem::End(_) => return,
        }
    }
}

fn read_snapshot(bytes: &[u8]) {
    let Ok(mut snapshot) = SnapshotReader::open(bytes) else { return };
    while !matches!(snapshot.read().expect("bytes in memory"), SnapshotItem::End(_)) {}
}

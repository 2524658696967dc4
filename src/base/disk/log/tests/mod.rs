//! Reading logs: what the tests share.

mod damage;
mod growing;
mod real;

use std::io::{Cursor, Read, Seek};

use super::*;
use crate::disk::testing::entry;
use crate::wire::{Writer, op};

/// A log that is in memory.
type Memory = LogReader<Cursor<Vec<u8>>>;

fn open(bytes: &[u8]) -> Memory {
    LogReader::open(Cursor::new(bytes.to_vec())).expect("a head")
}

/// Everything that reading yields: the offset and zxid of each record, what was passed over, and
/// the end.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    records: Vec<(u64, i64)>,
    damage: Vec<Damage>,
    end: Option<LogEnd>,
}

fn outcome(log: &mut LogReader<impl Read + Seek>) -> Outcome {
    let mut outcome = Outcome::default();
    while outcome.end.is_none() {
        match log.read().expect("bytes in memory") {
            LogItem::Record(record) => outcome.records.push((record.offset, record.entry.header.zxid.0)),
            LogItem::Damage(damage) => outcome.damage.push(damage),
            LogItem::End(end) => outcome.end = Some(end),
        }
    }
    outcome
}

/// The head of a log.
fn head() -> Vec<u8> {
    [&b"ZKLG\0\0\0\x02"[..], &[0; 8]].concat()
}

/// Appends an entry as a record.
fn put_record(out: &mut Vec<u8>, entry: &[u8]) {
    out.put_long(i64::from(sum(entry)));
    out.put_buffer(Some(entry));
    out.push(LAST);
}

fn set_data(zxid: i64, data: &[u8]) -> Vec<u8> {
    entry(zxid, op::SET_DATA, |out| {
        out.put_text("/a");
        out.put_buffer(Some(data));
        out.put_int(1);
    })
}

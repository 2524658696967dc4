//! The server's transaction log: how each node was deleted.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::harness::raw::Body;

/// The log's magic number, version and database id.
const HEADER_BYTES: usize = 16;

/// The time within which a server ends a session and the event arrives, even on a busy machine.
const AT_A_TICK_MS: i64 = 50;

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const CREATE2: i32 = 15;
const CREATE_SESSION: i32 = -10;
const CLOSE_SESSION: i32 = -11;

/// How a node was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// The node's own session deleted it.
    Deleted,
    /// Another session deleted it.
    DeletedByAnother,
    /// The client closed the session.
    Closed,
    /// The server ended the expired session.
    Expired,
}

/// A deleted node: the time by the server's clock, and the timeout of its session, both in
/// milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub fate: Fate,
    pub at: i64,
    pub timeout_ms: i32,
}

/// The ephemeral nodes in a log.
#[derive(Debug, Default)]
pub struct TransactionLog {
    /// The number of transactions.
    pub transactions: usize,
    /// The deleted nodes.
    pub ended: HashMap<String, Ended>,
    /// The existing nodes with their sessions.
    pub standing: HashMap<String, i64>,
    timeouts: HashMap<i64, i32>,
}

impl TransactionLog {
    /// Reads all logs of a server that may still be writing.
    pub fn read(data: &Path) -> Self {
        let folder = fs::read_dir(data.join("version-2")).expect("the server's data");
        let mut logs: Vec<_> = folder.map(|entry| entry.expect("a file").path()).collect();
        logs.retain(|path| path.extension().is_some() && path.file_stem().is_some_and(|stem| stem == "log"));
        let first_zxid = |path: &Path| {
            let hex = path.extension().and_then(|hex| hex.to_str()).expect("a number");
            u64::from_str_radix(hex, 16).expect("a zxid")
        };
        logs.sort_by_key(|path| first_zxid(path));
        let mut read = Self::default();
        for path in logs {
            let bytes = fs::read(path).expect("the log can be read");
            read.take(bytes.get(HEADER_BYTES..).unwrap_or_default());
        }
        read
    }

    /// Returns whether a node was deleted so near to a tick that nobody outside of the server can
    /// tell whether the expiry deleted it. Sessions expire at ticks, and a busy server ends them a
    /// little later.
    pub fn is_at_a_tick(&self, ended: &Ended, tick: Duration) -> bool {
        let tick = i64::try_from(tick.as_millis()).expect("a short time");
        let mut expired = self.ended.values().filter(|ended| ended.fate == Fate::Expired);
        expired.any(|expired| (expired.at - ended.at + AT_A_TICK_MS).rem_euclid(tick) <= 2 * AT_A_TICK_MS)
    }

    fn take(&mut self, mut rest: &[u8]) {
        // Each entry is preceded by a checksum and a length and followed by one byte. Unwritten
        // space is zero.
        while let Some((head, after)) = rest.split_at_checked(12) {
            let length = Body(&head[8..]).int();
            let Some((entry, after)) = after.split_at_checked(usize::try_from(length).expect("a length")) else {
                return;
            };
            if entry.is_empty() || after.first() != Some(&0x42) {
                return;
            }
            self.take_entry(Body(entry));
            rest = &after[1..];
        }
    }

    fn take_entry(&mut self, mut entry: Body<'_>) {
        self.transactions += 1;
        let (session, cxid) = (entry.long(), entry.int());
        let (_zxid, at, kind) = (entry.long(), entry.long(), entry.int());
        match kind {
            CREATE | CREATE2 => {
                let path = entry.text();
                entry.buffer();
                entry.list(|acl| (acl.int(), acl.text(), acl.text()));
                if entry.bool() {
                    self.standing.insert(path, session);
                }
            }
            DELETE => {
                let path = entry.text();
                let own = self.standing.get(&path) == Some(&session);
                self.ends(path, if own { Fate::Deleted } else { Fate::DeletedByAnother }, at);
            }
            CREATE_SESSION => {
                self.timeouts.insert(session, entry.int());
            }
            CLOSE_SESSION => {
                let fate = if cxid == 0 { Fate::Expired } else { Fate::Closed };
                let theirs = self.standing.iter().filter(|(_, owner)| **owner == session);
                let theirs: Vec<String> = theirs.map(|(path, _)| path.clone()).collect();
                for path in theirs {
                    self.ends(path, fate, at);
                }
            }
            _ => {}
        }
    }

    fn ends(&mut self, path: String, fate: Fate, at: i64) {
        if let Some(owner) = self.standing.remove(&path) {
            let timeout_ms = self.timeouts.get(&owner).copied().unwrap_or_default();
            self.ended.insert(path, Ended { fate, at, timeout_ms });
        }
    }
}

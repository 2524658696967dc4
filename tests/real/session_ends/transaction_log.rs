//! What a server wrote into its transaction log: how each node went.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::harness::raw::Body;

/// The log's magic number, version and database id.
const HEADER_BYTES: usize = 16;

/// A server ends a session, and an event reaches us, within this time, also while the machine is busy.
const AT_A_TICK_MS: i64 = 50;

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const CREATE2: i32 = 15;
const CREATE_SESSION: i32 = -10;
const CLOSE_SESSION: i32 = -11;

/// How a node went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// Its own session deleted it.
    Deleted,
    /// Another session deleted it.
    DeletedByAnother,
    /// Its client ended the session.
    Closed,
    /// The server ended the session, whose time had run out.
    Expired,
}

/// A node that went, when by the server's calendar, and the timeout of its session, both in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub fate: Fate,
    pub at: i64,
    pub timeout_ms: i32,
}

/// What a log says of all ephemeral nodes.
#[derive(Debug, Default)]
pub struct TransactionLog {
    /// How many transactions there are.
    pub transactions: usize,
    /// Those that went.
    pub ended: HashMap<String, Ended>,
    /// Those that stand, with their sessions.
    pub standing: HashMap<String, i64>,
    timeouts: HashMap<i64, i32>,
}

impl TransactionLog {
    /// Reads all logs of a server that may still write.
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

    /// Whether a node went so near to a tick that nobody outside of the server can tell whether it went at it: sessions expire at
    /// ticks, and a server that is busy ends them a little later.
    pub fn is_at_a_tick(&self, ended: &Ended, tick: Duration) -> bool {
        let tick = i64::try_from(tick.as_millis()).expect("a short time");
        let mut expired = self.ended.values().filter(|ended| ended.fate == Fate::Expired);
        expired.any(|expired| (expired.at - ended.at + AT_A_TICK_MS).rem_euclid(tick) <= 2 * AT_A_TICK_MS)
    }

    fn take(&mut self, mut rest: &[u8]) {
        // A checksum and a length before each entry, and a byte behind it; zeros where nothing was written yet.
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

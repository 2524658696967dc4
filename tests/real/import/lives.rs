//! An independent reading of the logs: which nodes came when, how they went, and which of them held.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::Path;

use lockscope_base::disk::{CreateTxn, Entry, LogItem, LogReader, Txn, TxnHeader};
use lockscope_base::znode::SessionId;

use super::fixture::{Row, named};

/// What marks the nodes of readers.
const READERS: [&str; 3] = ["__READ__", "__rlock__", "read-"];

/// How a node went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    By(SessionId),
    Closed,
    Expired,
}

/// An ephemeral node.
#[derive(Clone, Debug)]
pub struct Life {
    pub path: String,
    pub czxid: i64,
    pub owner: SessionId,
    pub came_at: i64,
    /// The transaction, the time and the manner of its end.
    pub went: Option<(i64, i64, Went)>,
}

impl Life {
    fn lock(&self) -> &str {
        self.path.rsplit_once('/').expect("a path").0
    }

    fn node(&self) -> &str {
        self.path.rsplit_once('/').expect("a path").1
    }

    fn number(&self) -> i64 {
        self.path[self.path.len().saturating_sub(10)..].parse().expect("a sequential node")
    }

    fn reads(&self) -> bool {
        READERS.iter().any(|mark| self.node().contains(mark))
    }
}

/// The nodes of some logs.
#[derive(Debug, Default)]
pub struct Lives {
    pub nodes: Vec<Life>,
    /// The other nodes that were made.
    pub made: BTreeSet<String>,
    pub last_zxid: i64,
    /// The transactions, in their order.
    pub zxids: Vec<i64>,
    standing: HashMap<String, usize>,
}

impl Lives {
    /// Reads all logs of a folder, whose server may still be writing.
    pub fn read(folder: &Path) -> Self {
        Self::of_members(&[folder])
    }

    /// Reads all logs of several members.
    pub fn of_members(folders: &[&Path]) -> Self {
        Self::in_logs_of(folders, 1)
    }

    /// Reads the transactions that a majority of three members has. A leader that is killed may leave
    /// some in its log which never happened.
    pub fn committed(folders: &[&Path]) -> Self {
        Self::in_logs_of(folders, 2)
    }

    fn in_logs_of(folders: &[&Path], least: usize) -> Self {
        let mut entries: BTreeMap<i64, (Vec<u8>, usize)> = BTreeMap::new();
        for folder in folders {
            for name in named(folder, "log.") {
                let Ok(mut log) = LogReader::open(File::open(folder.join(name)).expect("the log")) else { continue };
                while let LogItem::Record(record) = log.read().expect("the log can be read") {
                    let known = entries.entry(record.entry.header.zxid.0).or_default();
                    *known = (record.bytes.to_vec(), known.1 + 1);
                }
            }
        }
        let mut read = Self::default();
        for (bytes, _) in entries.values().filter(|(_, members)| *members >= least) {
            read.take(&Entry::read(bytes).expect("it was decoded before"));
        }
        read
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let header = entry.header;
        self.last_zxid = header.zxid.0;
        self.zxids.push(header.zxid.0);
        match &entry.txn {
            Txn::Multi(multi) if multi.failure().is_none() => {
                multi.parts().for_each(|part| self.part(header, &part));
            }
            Txn::CloseSession { .. } => {
                let went = if header.cxid == 0 { Went::Expired } else { Went::Closed };
                let lives = &self.nodes;
                let is_theirs = |at: &usize| lives[*at].owner == header.session;
                let theirs: Vec<usize> = self.standing.values().copied().filter(is_theirs).collect();
                for at in theirs {
                    self.goes(at, header, went);
                }
            }
            part => self.part(header, part),
        }
    }

    fn part(&mut self, header: TxnHeader, part: &Txn<'_>) {
        match part {
            Txn::Create(CreateTxn { path, kind, .. }) => match kind.session() {
                Some(owner) => {
                    let path = path.clone().into_owned();
                    self.standing.insert(path.clone(), self.nodes.len());
                    let (czxid, came_at) = (header.zxid.0, header.time.0);
                    self.nodes.push(Life { path, czxid, owner, came_at, went: None });
                }
                None => drop(self.made.insert(path.clone().into_owned())),
            },
            Txn::Delete { path, .. } => {
                if let Some(at) = self.standing.get(path.as_ref()) {
                    self.goes(*at, header, Went::By(header.session));
                }
            }
            _ => {}
        }
    }

    fn goes(&mut self, at: usize, header: TxnHeader, went: Went) {
        self.standing.remove(&self.nodes[at].path);
        self.nodes[at].went = Some((header.zxid.0, header.time.0, went));
    }

    /// Returns the nodes below this path.
    pub fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Life> {
        self.nodes.iter().filter(move |life| life.path.starts_with(path))
    }

    /// Returns what the history must say about the locks whose contenders wait for those with a lower
    /// number, readers only for writers; `queues` are paths at which such locks begin.
    pub fn rows(&self, queues: &[&str]) -> Vec<Row> {
        let mut locks: BTreeMap<&str, Vec<&Life>> = BTreeMap::new();
        for life in &self.nodes {
            if queues.iter().any(|queue| life.path.starts_with(&format!("{queue}/"))) {
                locks.entry(life.lock()).or_default().push(life);
            }
        }
        let of_lock = |all: &Vec<&Life>| all.iter().map(|life| row(life, acquired(life, all))).collect::<Vec<_>>();
        let mut rows: Vec<Row> = locks.values().flat_map(of_lock).collect();
        rows.sort();
        rows
    }
}

/// Returns when a contender of a queue came to hold: when the last went that it had to wait for.
fn acquired(life: &Life, all: &[&Life]) -> Option<i64> {
    let waits_for = |other: &&&Life| other.number() < life.number() && !(life.reads() && other.reads());
    let mut acquired = (life.czxid, life.came_at);
    for before in all.iter().filter(waits_for) {
        let (zxid, at, _) = before.went?;
        acquired = acquired.max((zxid, at));
    }
    let is_in_time = life.went.is_none_or(|(zxid, ..)| acquired.0 < zxid);
    is_in_time.then_some(acquired.1)
}

/// Returns the row of a contender that came to hold at a time.
pub fn row(life: &Life, acquired: Option<i64>) -> Row {
    let end = match life.went {
        None => "open",
        Some((.., Went::Closed)) => "closed",
        Some((.., Went::Expired)) => "expired",
        Some((.., Went::By(session))) if session != life.owner => "deleted",
        Some(_) if acquired.is_some() => "released",
        Some(_) => "left",
    };
    let by = life.went.and_then(|(.., went)| match went {
        Went::By(session) => Some(hex(session)),
        Went::Closed | Went::Expired => None,
    });
    Row {
        czxid: life.czxid,
        lock: life.lock().to_owned(),
        node: life.node().to_owned(),
        session: hex(life.owner),
        enqueued_at: Some(life.came_at),
        acquired_at: acquired,
        held: acquired.is_some(),
        released_at: life.went.map(|(_, at, _)| at),
        end: end.to_owned(),
        deleted_by: by,
    }
}

/// Returns a session as the program shows it.
pub fn hex(session: SessionId) -> String {
    format!("0x{:x}", session.0)
}

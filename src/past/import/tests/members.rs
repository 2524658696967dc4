//! Three members of an ensemble whose files are damaged at random: what any of them has is told, and
//! what none has is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use lockscope_base::disk::{CreateTxn, Entry, Txn};
use lockscope_base::recipe::Classifier;
use lockscope_base::wire::{Writer, op};
use lockscope_base::znode::{Timestamp, ZnodePath};
use tempfile::TempDir;

use super::made_files::{adler, empty_snapshot, seal, written};
use crate::import::digest::digest_change;
use crate::import::tree::LogTree;
use crate::import::{Certainty, Covered, Defect, ImportError, ImportOptions, Imported, ServerFiles, import};
use crate::record::Store;
use crate::record::history::{History, HistoryQuery, PastContender};
use crate::record::tables::ContenderEnd;

const LOCKS: [&str; 3] = ["/l/a", "/l/b", "/l/c"];

/// The rate at which a member begins another log, and makes a snapshot.
const ROLLS: usize = 40;

/// A record of a log, with its transaction.
type Record = (i64, Vec<u8>);

/// An ensemble that makes transactions.
struct Written {
    random: Rng,
    tree: LogTree,
    /// The nodes, each with its owner.
    nodes: BTreeMap<String, i64>,
    zxid: i64,
    time: i64,
    digest: i64,
    with_digests: bool,
    records: Vec<Record>,
    /// The snapshots that a member could have made: behind which transaction, and their bytes.
    snapshots: Vec<(i64, Vec<u8>)>,
}

impl Written {
    /// Servers before 3.6 write no digests.
    fn new(seed: u64, count: usize, with_digests: bool) -> Self {
        let mut tree = LogTree::new(&[ZnodePath::root()], Classifier::new([]));
        tree.clear(true);
        let random = Rng::with_seed(seed);
        let (zxid, time) = (1 << 32, 1_000_000);
        let mut ensemble = Self {
            random,
            tree,
            nodes: [(String::new(), 0)].into(),
            zxid,
            time,
            digest: 0,
            with_digests,
            records: Vec::new(),
            snapshots: Vec::new(),
        };
        for path in ["/l", "/l/a", "/l/b", "/l/c"] {
            ensemble.creates(path, 0);
        }
        while ensemble.records.len() < count {
            ensemble.step();
        }
        ensemble
    }

    fn step(&mut self) {
        let session = 0x100_0000 + self.random.i64(0..6);
        let own: Vec<String> =
            self.nodes.iter().filter(|(_, owner)| **owner == session).map(|(path, _)| path.clone()).collect();
        match self.random.u8(..100) {
            0..2 => {
                self.zxid = ((self.zxid >> 32) + 1) << 32;
                self.time += 300;
            }
            2..6 => self.writes((session, 1), op::CREATE_SESSION, |out| out.put_int(6_000)),
            6..10 => self.writes((session, 1), op::ERROR, |out| out.put_int(-110)),
            10..14 => {
                let cxid = self.random.i32(0..2);
                self.writes((session, cxid), op::CLOSE_SESSION, |out| {
                    out.put_length(own.len());
                    for path in &own {
                        out.put_text(path);
                    }
                });
            }
            14..60 if own.len() < 2 => {
                let lock = LOCKS[self.random.usize(..LOCKS.len())];
                let number = self.ever(lock);
                let (id, more) = (self.random.u32(..), self.random.u64(..1 << 48));
                self.creates(&format!("{lock}/_c_{id:08x}-0000-4000-8000-{more:012x}-lock-{number:010}"), session);
            }
            _ => {
                if let Some(path) = own.first() {
                    self.writes((session, 1), op::DELETE, |out| out.put_text(path));
                }
            }
        }
    }

    fn ever(&self, path: &str) -> i64 {
        self.tree.summed(path).and_then(|(stat, _)| stat.next_sequence()).unwrap_or(0)
    }

    fn creates(&mut self, path: &str, owner: i64) {
        let above = path.rsplit_once('/').map_or("/", |(above, _)| if above.is_empty() { "/" } else { above });
        let ever = i32::try_from(self.ever(above)).unwrap() + 1;
        self.writes((owner, 1), op::CREATE, |out| {
            out.put_text(path);
            out.put_buffer(Some(b"worker"));
            out.put_int(0);
            out.put_bool(owner != 0);
            out.put_int(ever);
        });
    }

    fn writes(&mut self, (session, cxid): (i64, i32), kind: i32, body: impl FnOnce(&mut Vec<u8>)) {
        self.zxid += 1;
        self.time += self.random.i64(1..40);
        let mut bytes = written(|out| {
            out.put_long(session);
            out.put_int(cxid);
            out.put_long(self.zxid);
            out.put_long(self.time);
            out.put_int(kind);
            body(out);
        });
        {
            let entry = Entry::read(&bytes).unwrap();
            self.digest = self.digest.wrapping_add(digest_change(&self.tree, &entry).unwrap());
            apply(&mut self.tree, &mut self.nodes, &entry);
        }
        if self.with_digests && kind != op::ERROR {
            bytes.put_int(2);
            bytes.put_long(self.digest);
        }
        let record = written(|out| {
            out.put_long(i64::from(adler(&bytes)));
            out.put_buffer(Some(&bytes));
            out.push(b'B');
        });
        self.records.push((self.zxid, record));
        self.snapshots.push((self.zxid, self.snapshot()));
    }

    /// Returns a snapshot of this moment.
    fn snapshot(&self) -> Vec<u8> {
        let mut out = [&b"ZKSN\0\0\0\x02"[..], &(-1_i64).to_be_bytes()].concat();
        out.put_int(0);
        out.put_int(0);
        for (path, owner) in &self.nodes {
            let (stat, _) = self.tree.summed(if path.is_empty() { "/" } else { path }).unwrap();
            out.put_text(path);
            out.put_buffer(Some(if path.is_empty() { b"" } else { b"worker" }));
            out.put_long(-1);
            for long in [stat.czxid.0, stat.mzxid.0, stat.ctime.0, stat.mtime.0] {
                out.put_long(long);
            }
            out.put_int(stat.version);
            out.put_int(i32::try_from(stat.next_sequence().unwrap()).unwrap());
            out.put_int(stat.aversion);
            out.put_long(*owner);
            out.put_long(stat.pzxid.0);
        }
        out.put_text("/");
        seal(&mut out);
        if self.with_digests {
            out.put_long(self.zxid);
            out.put_int(2);
            out.put_long(self.digest);
            seal(&mut out);
        }
        out
    }

    /// Writes the files of a member, whose logs and snapshots are its own.
    fn write_member(&mut self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let mut log: Option<(PathBuf, Vec<u8>)> = None;
        let end = |log: &mut Option<(PathBuf, Vec<u8>)>| {
            if let Some((path, mut bytes)) = log.take() {
                bytes.resize(bytes.len() + 4_096, 0);
                fs::write(path, bytes).unwrap();
            }
        };
        for at in 0..self.records.len() {
            let (zxid, record) = &self.records[at];
            let begin = || (folder.join(format!("log.{zxid:x}")), [&b"ZKLG\0\0\0\x02"[..], &[0; 8]].concat());
            log.get_or_insert_with(begin).1.extend(record);
            if self.random.usize(..ROLLS) == 0 {
                end(&mut log);
                if self.random.bool() {
                    fs::write(folder.join(format!("snapshot.{zxid:x}")), &self.snapshots[at].1).unwrap();
                }
            }
        }
        end(&mut log);
    }
}

fn apply(tree: &mut LogTree, nodes: &mut BTreeMap<String, i64>, entry: &Entry<'_>) {
    let header = entry.header;
    let mut deletes = |path: &str| {
        assert!(tree.delete(path, header.zxid));
        nodes.remove(path);
    };
    match &entry.txn {
        Txn::CloseSession { deleted: Some(paths) } => paths.iter().for_each(|path| deletes(&path)),
        Txn::Delete { path, .. } => deletes(path),
        Txn::Create(create @ CreateTxn { path, kind, .. }) => {
            tree.create(&ZnodePath::new(path).unwrap(), create, header.zxid, header.time);
            nodes.insert(path.to_string(), kind.session().map_or(0, |session| session.0));
        }
        _ => {}
    }
}

/// Damages a file at random.
fn damage(random: &mut Rng, path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    if bytes.is_empty() {
        return fs::remove_file(path).unwrap();
    }
    let at = random.usize(..bytes.len());
    let length = random.usize(1..600).min(bytes.len() - at);
    match random.u8(..5) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => bytes[at..at + length].fill(0),
        2 => bytes.truncate(at),
        3 => bytes[at..at + length].iter_mut().for_each(|byte| *byte = random.u8(..)),
        _ => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// What an import told.
struct Told {
    imported: Imported,
    rows: Vec<(PastContender, bool)>,
}

fn told(folders: &[PathBuf]) -> Result<Told, ImportError> {
    let target = tempfile::tempdir().unwrap();
    let store = target.path().join("history.db");
    let imported = import(ServerFiles::find(folders)?, &store, &ImportOptions::default(), &mut |_| true)?;
    let query = HistoryQuery { limit: 10_000, ..HistoryQuery::default() };
    let History { holds, waits, .. } = History::read(&mut Store::open(&store).unwrap(), &query).unwrap();
    let rows = holds.into_iter().map(|row| (row, true)).chain(waits.into_iter().map(|row| (row, false)));
    Ok(Told { imported, rows: rows.collect() })
}

impl Told {
    fn row(&self, of: &PastContender) -> Option<&(PastContender, bool)> {
        self.rows.iter().find(|(row, _)| row.node == of.node && row.lock == of.lock)
    }

    /// Returns what differs from the truth and is neither in a gap nor within a bound.
    fn untold(&self, truth: &Self) -> Vec<String> {
        let mut wrong: Vec<String> = self
            .rows
            .iter()
            .filter(|(row, _)| truth.row(row).is_none())
            .map(|(row, _)| format!("{} was never there", row.node))
            .collect();
        for (true_row, held) in &truth.rows {
            let told = self.row(true_row);
            if let Some(what) = self.differs(true_row, *held, told) {
                wrong.push(format!("{what}: {held} {true_row:?}\n  told {told:?}"));
            }
        }
        wrong
    }

    /// Returns whether a part of this time is not covered.
    fn has_gap(&self, from: Timestamp, to: Timestamp) -> bool {
        let is_within = |covered: &Covered| covered.from.1 < from && to <= covered.to.1;
        !self.imported.covered.iter().any(is_within)
    }

    /// Returns whether it names that older locks are left out until a snapshot has them.
    fn begins_within(&self) -> bool {
        self.imported.defects.iter().any(|defect| matches!(defect, Defect::NoSnapshot { .. }))
    }

    fn differs(&self, row: &PastContender, held: bool, told: Option<&(PastContender, bool)>) -> Option<&'static str> {
        let ended = row.ended.map_or(Timestamp(i64::MAX), |ended| ended.before);
        let began = row.enqueued_at.unwrap();
        let Some((told, told_held)) = told else {
            return (!self.begins_within() && !self.has_gap(began, ended)).then_some("not told");
        };
        let is_open = row.end == ContenderEnd::Open;
        let end = match (told.end, told.ended) {
            (ContenderEnd::Open, _) => is_open || ended >= told.known_until,
            (ContenderEnd::Unknown, Some(bounds)) => {
                !is_open && bounds.after <= ended && ended <= bounds.before && self.has_gap(bounds.after, bounds.before)
            }
            _ => (told.end, told.ended) == (row.end, row.ended),
        };
        let acquired = match (row.acquired, told.acquired) {
            (Some(at), Some(bounds)) => {
                let is_within = bounds.after <= at.before && at.before <= bounds.before;
                at == bounds || is_within && (self.begins_within() || self.has_gap(bounds.after, bounds.before))
            }
            (Some(at), None) => self.has_gap(at.before, at.before),
            (None, Some(_)) => false,
            (None, None) => true,
        };
        match (end, acquired, held || !told_held) {
            (false, ..) => Some("another end"),
            (_, false, _) => Some("another acquisition"),
            (.., false) => Some("it never held"),
            _ => None,
        }
    }
}

/// Damages the files of some of the members. Returns what is silently wrong, and whether a gap is
/// named.
fn round(seed: u64, damaged: usize, members: usize) -> (Vec<String>, bool) {
    let mut ensemble = Written::new(seed, 400, damaged < members || !seed.is_multiple_of(4));
    let folder = TempDir::new().unwrap();
    let folders: Vec<PathBuf> = (1..=members).map(|number| folder.path().join(format!("{number}/version-2"))).collect();
    let empty = empty_snapshot();
    for folder in &folders {
        ensemble.write_member(folder);
        fs::write(folder.join("snapshot.0"), &empty).unwrap();
    }
    let whole = folder.path().join("whole");
    fs::create_dir(&whole).unwrap();
    let all: Vec<u8> = ensemble.records.iter().flat_map(|(_, record)| record.clone()).collect();
    fs::write(whole.join("log.100000001"), [&b"ZKLG\0\0\0\x02"[..], &[0; 8], &all].concat()).unwrap();
    fs::write(whole.join("snapshot.0"), &empty).unwrap();
    let truth = told(&[whole]).unwrap();
    assert_eq!(truth.imported.missing, [], "seed {seed}");
    let random = &mut ensemble.random;
    for folder in folders.iter().take(damaged) {
        for _ in 0..random.usize(1..4) {
            let files = files(folder);
            if !files.is_empty() {
                let at = random.usize(..files.len());
                damage(random, &files[at]);
            }
        }
    }
    match told(&folders) {
        Ok(told) => {
            let mut wrong = told.untold(&truth);
            for gap in told.imported.missing.iter().filter(|gap| gap.certainty == Certainty::Certain) {
                let is_between = |(zxid, _): &&Record| gap.after.0 < *zxid && *zxid < gap.before.0;
                if !ensemble.records.iter().any(|record| is_between(&record)) {
                    wrong.push(format!("nothing is missing: {gap:?}"));
                }
            }
            (wrong, !told.imported.missing.is_empty())
        }
        Err(error) => (vec![format!("refused: {error}")], false),
    }
}

/// The ensembles that are damaged: always the same 40, unless `LOCKSCOPE_DAMAGES` says how many at
/// random, or `LOCKSCOPE_SEED` which one.
fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse().ok());
    match number("LOCKSCOPE_SEED") {
        Some(seed) => vec![seed],
        None => number("LOCKSCOPE_DAMAGES")
            .map_or((0..40).collect(), |count| (0..count).map(|_| fastrand::u64(..)).collect()),
    }
}

#[test]
fn damage_to_some_of_three_members_costs_nothing() {
    for seed in seeds() {
        let damaged = if seed.is_multiple_of(2) { 1 } else { 2 };
        let (untold, has_gap) = round(seed, damaged, 3);
        assert!(untold.is_empty() && !has_gap, "seed {seed}: {untold:#?}");
    }
}

#[test]
fn what_no_member_has_is_a_named_gap() {
    let (mut wrong, mut with_gaps, seeds) = (0, 0, seeds());
    for seed in seeds.iter().copied() {
        let members = [1, 1, 2, 3][usize::try_from(seed / 8 % 4).unwrap()];
        let (untold, has_gap) = round(seed, members, members);
        with_gaps += u64::from(has_gap);
        if !untold.is_empty() {
            wrong += 1;
            println!("seed {seed}, {members} members: {} differences, first {}", untold.len(), untold[0]);
        }
    }
    println!("{} rounds, {with_gaps} with a gap, {wrong} wrong", seeds.len());
    assert_eq!(wrong, 0);
}

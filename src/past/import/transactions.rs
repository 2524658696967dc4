//! Reads the transactions of all logs as one stream, in the order of their ids.
//!
//! Each transaction comes once, from whichever member has it: what is damaged or missing in one log
//! is taken from another. The logs also tell where they contradict each other.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::ImportError;
use super::files::{Defect, ServerFile, ServerFiles, note};
use lockscope_base::disk::{Entry, HeadError, LogEnd, LogItem, LogReader, Txn, TxnHeader};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// A transaction, and what the logs tell of those before it.
pub struct NextTransaction<'a> {
    pub entry: Entry<'a>,
    /// Whether a member's log proves that nothing is missing before it: it stands right behind the
    /// last one in the same file, and the member got no snapshot meanwhile. Only looked for where an
    /// epoch begins.
    pub runs_on: bool,
}

/// A log that is read, at its next transaction.
struct FileCursor {
    file: ServerFile,
    log: LogReader<File>,
    /// What is wrong with the head, until the log turns out to have a transaction or none.
    head: Option<HeadError>,
    zxid: Zxid,
    time: Timestamp,
    /// The transaction right before it in the file.
    before: Option<Zxid>,
    is_behind_damage: bool,
    /// The first transaction, and its time.
    first: Option<(Zxid, Timestamp)>,
    /// The bytes of the transaction.
    entry: Vec<u8>,
}

/// Reads logs of one or more members of an ensemble. Each transaction comes once, even if several
/// logs have it. Memory is bounded by one transaction for each log that covers the same time.
pub struct Transactions<'f> {
    files: &'f ServerFiles,
    /// The logs that are not open yet, the earliest first.
    waiting: VecDeque<ServerFile>,
    open: Vec<FileCursor>,
    last: Option<Zxid>,
    defects: Vec<Defect>,
    /// The bytes of the logs that were read to their end.
    finished_bytes: u64,
    spans: BTreeMap<PathBuf, MemberSpan>,
}

impl<'f> Transactions<'f> {
    /// Starts with the first transaction of all logs.
    pub fn of(files: &'f ServerFiles) -> Self {
        Self::of_logs(files, &files.logs)
    }

    fn of_logs(files: &'f ServerFiles, logs: &[ServerFile]) -> Self {
        Self {
            files,
            waiting: logs.iter().cloned().collect(),
            open: Vec::new(),
            last: None,
            defects: Vec::new(),
            finished_bytes: 0,
            spans: BTreeMap::new(),
        }
    }

    /// Starts behind a transaction. Logs that cannot have a later one are not opened.
    pub fn after(files: &'f ServerFiles, last: Zxid) -> Self {
        let next = Zxid(last.0.saturating_add(1));
        let mut logs: Vec<ServerFile> =
            files.folders().into_iter().flat_map(|folder| files.logs_from(folder, next)).collect();
        logs.sort_by_key(|log| log.name.zxid);
        Self { last: Some(last), ..Self::of_logs(files, &logs) }
    }

    /// Takes the defects found so far.
    pub fn take_defects(&mut self) -> Vec<Defect> {
        std::mem::take(&mut self.defects)
    }

    /// Returns what each member's logs that were read cover.
    pub fn into_spans(mut self) -> BTreeMap<PathBuf, MemberSpan> {
        for cursor in std::mem::take(&mut self.open) {
            self.closes(&cursor);
        }
        self.spans
    }

    /// Returns how many bytes of the logs were read.
    pub fn bytes(&self) -> u64 {
        self.finished_bytes + self.open.iter().map(|cursor| cursor.log.offset()).sum::<u64>()
    }

    /// Returns the next transaction; `None` at the end.
    pub fn next(&mut self) -> Result<Option<NextTransaction<'_>>, ImportError> {
        self.pass(self.last)?;
        let next = loop {
            let Some(next) = self.earliest()? else { return Ok(None) };
            if !self.was_never_committed(next) {
                break next;
            }
            let FileCursor { file, zxid, .. } = &self.open[next];
            let (file, zxid) = (file.path.clone(), *zxid);
            note(&mut self.defects, Defect::NeverCommitted { file, zxid });
            self.pass(Some(zxid))?;
        };
        self.compare(next)?;
        let last = self.last.replace(self.open[next].zxid);
        let runs_on = last.is_some_and(|last| self.runs_on(last, self.open[next].zxid));
        Ok(Some(NextTransaction { entry: self.open[next].entry(), runs_on }))
    }

    /// Opens the logs that may have the next transaction. Returns where it stands.
    fn earliest(&mut self) -> Result<Option<usize>, ImportError> {
        loop {
            let earliest = (0..self.open.len()).min_by_key(|at| self.open[*at].zxid);
            let may_have = |log: &ServerFile| earliest.is_none_or(|at| log.name.zxid <= self.open[at].zxid);
            if !self.waiting.front().is_some_and(may_have) {
                return Ok(earliest);
            }
            self.open_next()?;
        }
    }

    /// Opens the next log at its first transaction behind the last one.
    fn open_next(&mut self) -> Result<(), ImportError> {
        let Some(file) = self.waiting.pop_front() else { return Ok(()) };
        let Some((log, head)) = file.open_log()? else { return Ok(()) };
        self.open.push(FileCursor {
            file,
            log,
            head,
            zxid: Zxid(i64::MIN),
            time: Timestamp(i64::MIN),
            before: None,
            is_behind_damage: false,
            first: None,
            entry: Vec::new(),
        });
        self.pass(self.last.or(Some(Zxid(i64::MIN))))
    }

    /// Moves each log behind a transaction. Logs without a later one are closed.
    fn pass(&mut self, last: Option<Zxid>) -> Result<(), ImportError> {
        let Some(last) = last else { return Ok(()) };
        let mut at = 0;
        while let Some(cursor) = self.open.get_mut(at) {
            if cursor.pass(last, &mut self.defects)? {
                at += 1;
            } else {
                let cursor = self.open.remove(at);
                self.finished_bytes += cursor.log.offset();
                self.closes(&cursor);
            }
        }
        Ok(())
    }

    fn closes(&mut self, cursor: &FileCursor) {
        if let (Some(first), Some(folder)) = (cursor.first, cursor.file.path.parent()) {
            let last = (cursor.zxid, cursor.time);
            let span = self.spans.entry(folder.to_owned()).or_insert(MemberSpan { first, last });
            *span = MemberSpan { first: span.first.min(first), last: span.last.max(last) };
        }
    }

    /// Returns whether a member's log proves that its transaction at an epoch's beginning is the next
    /// one behind another.
    fn runs_on(&self, last: Zxid, next: Zxid) -> bool {
        next.epoch() != last.epoch()
            && self.open.iter().any(|cursor| cursor.zxid == next && self.goes_from(cursor, last))
    }

    /// Returns whether a log goes on right behind a transaction.
    fn goes_from(&self, cursor: &FileCursor, last: Zxid) -> bool {
        let folder = cursor.file.path.parent().unwrap_or(Path::new(""));
        cursor.before == Some(last) && !self.files.may_skip(folder, last, cursor.zxid)
    }

    /// Returns whether only one member has a transaction where another goes on with the next epoch.
    fn was_never_committed(&self, at: usize) -> bool {
        let (Some(last), FileCursor { file, zxid, .. }) = (self.last, &self.open[at]) else { return false };
        let is_other = |cursor: &FileCursor| cursor.file.path.parent() != file.path.parent();
        self.open
            .iter()
            .any(|cursor| cursor.zxid.epoch() > zxid.epoch() && is_other(cursor) && self.goes_from(cursor, last))
            && !self.open.iter().any(|cursor| is_other(cursor) && cursor.zxid == *zxid)
    }

    /// Compares the transaction with those of the same id in other logs. Its leader gives it an id
    /// and a time, so another time is another ensemble. A server of another version may write more
    /// or less behind it.
    fn compare(&mut self, at: usize) -> Result<(), ImportError> {
        let FileCursor { entry: used, zxid, file, .. } = &self.open[at];
        for other in self.open.iter().filter(|other| other.zxid == *zxid) {
            let common = used.len().min(other.entry.len());
            if used[..common] == other.entry[..common] {
                continue;
            }
            if used[..TxnHeader::BYTES] != other.entry[..TxnHeader::BYTES] {
                let (one, other) = (file.path.clone(), other.file.path.clone());
                return Err(ImportError::OtherEnsemble { one, other });
            }
            note(&mut self.defects, Defect::Differs { file: other.file.path.clone(), zxid: *zxid });
        }
        Ok(())
    }
}

/// What the logs of one member cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberSpan {
    /// The first transaction, and its time.
    pub first: (Zxid, Timestamp),
    /// The last transaction, and its time.
    pub last: (Zxid, Timestamp),
}

impl MemberSpan {
    /// Returns whether two members without a common transaction wrote at the same time: in one
    /// ensemble, both would have the same ones. The clock of a leader may be wrong by a little.
    fn contradicts(&self, later: &Self) -> bool {
        let shared = self.last.1.min(later.last.1).since(self.first.1.max(later.first.1));
        let shorter = self.last.1.since(self.first.1).min(later.last.1.since(later.first.1));
        self.last.0 < later.first.0 && shared > MAX_SKEW && shared >= shorter / 2
    }
}

/// How far the clocks of two leaders may be apart without a doubt that they are of one ensemble.
const MAX_SKEW: Duration = Duration::from_secs(2);

/// The most sessions of one member that are looked for in the logs of another.
const MAX_SESSIONS: usize = 1 << 20;

impl ServerFiles {
    /// Returns whether these are the logs of an ensemble that began this session.
    pub fn know_session(&self, session: SessionId) -> Result<bool, ImportError> {
        for log in self.logs.iter().rev() {
            let mut transactions = Transactions::of_logs(self, std::slice::from_ref(log));
            while let Some(NextTransaction { entry, .. }) = transactions.next()? {
                if entry.header.session == session && matches!(entry.txn, Txn::CreateSession { .. }) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the time of the last transaction; the current time if there are no logs.
    pub fn latest_time(&self) -> Result<Timestamp, ImportError> {
        let mut latest = None;
        for log in self.logs.iter().rev() {
            let mut transactions = Transactions::of_logs(self, std::slice::from_ref(log));
            while let Some(NextTransaction { entry, .. }) = transactions.next()? {
                latest = latest.max(Some(entry.header.time));
            }
            if latest.is_some() {
                break;
            }
        }
        Ok(latest.unwrap_or_else(lockscope_base::time::now))
    }

    /// Refuses members of which nothing shows that they are of one ensemble, and their times that
    /// they are not: they have no transaction in common although they wrote at the same time, and no
    /// session of one is in the other.
    pub(super) fn refuse_strangers(&self, spans: &BTreeMap<PathBuf, MemberSpan>) -> Result<(), ImportError> {
        for (one, span) in spans {
            for (other, _) in spans.iter().filter(|(_, later)| span.contradicts(later)) {
                if !self.share_a_session(one, other)? {
                    return Err(ImportError::OtherEnsemble { one: one.clone(), other: other.clone() });
                }
            }
        }
        Ok(())
    }

    fn share_a_session(&self, one: &Path, other: &Path) -> Result<bool, ImportError> {
        let mut begun = FxHashSet::default();
        let mut transactions = Transactions::of_logs(self, &self.logs_from(one, Zxid(i64::MIN)));
        while let Some(NextTransaction { entry, .. }) = transactions.next()? {
            if matches!(entry.txn, Txn::CreateSession { .. }) && begun.len() < MAX_SESSIONS {
                begun.insert(entry.header.session);
            }
        }
        let mut transactions = Transactions::of_logs(self, &self.logs_from(other, Zxid(i64::MIN)));
        while let Some(NextTransaction { entry, .. }) = transactions.next()? {
            if begun.contains(&entry.header.session) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl FileCursor {
    fn entry(&self) -> Entry<'_> {
        Entry::read(&self.entry).expect("the log's reader has decoded it")
    }

    /// Moves behind a transaction. Returns whether there is a later one.
    fn pass(&mut self, last: Zxid, defects: &mut Vec<Defect>) -> Result<bool, ImportError> {
        while self.zxid <= last {
            let file = || self.file.path.clone();
            let defect = match self.log.read().map_err(|error| self.file.unreadable(error))? {
                LogItem::Record(record) => {
                    let TxnHeader { zxid, time, .. } = record.entry.header;
                    // Behind a damage, and at the beginning, nothing stands right before.
                    self.before = (self.zxid.0 != i64::MIN && !self.is_behind_damage).then_some(self.zxid);
                    (self.zxid, self.time, self.is_behind_damage) = (zxid, time, false);
                    self.first.get_or_insert((zxid, time));
                    if zxid > last {
                        self.entry.clear();
                        self.entry.extend_from_slice(record.bytes);
                    }
                    if self.head.take().is_some() {
                        note(defects, Defect::BadHead { file: file() });
                    }
                    continue;
                }
                LogItem::Damage(damage) => {
                    self.is_behind_damage = true;
                    Defect::Damaged { file: file(), damage }
                }
                LogItem::End(end) => {
                    if let Some(head) = self.head.take() {
                        note(defects, Defect::NotALog { file: file(), reason: head.to_string() });
                    } else if let LogEnd::Torn { offset, .. } = end {
                        note(defects, Defect::Torn { file: file(), offset });
                    }
                    return Ok(false);
                }
            };
            note(defects, defect);
        }
        Ok(true)
    }
}

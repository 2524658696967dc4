//! The rows that concern all locks: the gaps, in which nothing was seen, with their reasons, and
//! what happened to the ensemble as a whole.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use rustc_hash::FxHashMap;

use super::contender::RowSource;
use crate::record::memory::RowMemory;
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp};
use lockscope_model::ensemble::{EnsembleEvent, EnsembleEventKind, EnsembleLine};
use lockscope_model::queue::LockTable;

/// The reason of a gap between two runs.
const NOT_RUNNING: &str = "the recorder was not running";

/// The reason of a gap before the first reading.
pub(in crate::record) const NOT_READ: &str = "not everything was read yet";

/// The most rows kept while nothing can be written.
const MAX_CHANGED_GAPS: usize = 10_000;

/// A time in which nothing was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRecord {
    /// The number of the gap. An excerpt numbers the gaps that it takes over anew.
    pub(in crate::record) id: i64,
    pub(in crate::record) began_at: Timestamp,
    /// `None` while it lasts.
    pub(in crate::record) ended_at: Option<Timestamp>,
    pub(in crate::record) reason: String,
}

/// Tracks when the table of locks stops being live, and when it is live again.
#[derive(Clone, Debug)]
pub struct Gaps {
    next_id: i64,
    open: Option<GapRecord>,
    pub changed: Vec<GapRecord>,
    /// Whether the gaps are given by the caller, and only tracked here.
    are_given: bool,
}

impl Gaps {
    /// Starts a run, before anything is read. `open` is a gap that was open already; without one,
    /// the last run ended at `until`.
    pub fn new(next_id: i64, open: Option<GapRecord>, until: Option<Timestamp>) -> Self {
        let mut gaps = Self { next_id, open, changed: Vec::new(), are_given: false };
        if let (None, Some(until)) = (&gaps.open, until) {
            gaps.begin(until, NOT_RUNNING.to_owned());
        }
        gaps
    }

    /// Writes no gaps but those that are [given](Self::give). `unseen` is a gap that is open
    /// already.
    pub fn will_be_given(&mut self, unseen: Option<GapRecord>) {
        self.are_given = true;
        self.changed.clear();
        if let Some(GapRecord { began_at, reason, .. }) = unseen {
            self.begin(began_at, reason);
        }
    }

    /// Sets the gaps, oldest first.
    pub fn give(&mut self, gaps: Vec<GapRecord>) {
        self.changed = gaps;
    }

    /// Returns the time up to which everything had been seen; `None` while everything is seen, and
    /// before anything was.
    pub fn since(&self) -> Option<Timestamp> {
        self.open.as_ref().map(|gap| gap.began_at)
    }

    /// Returns the gap that the end of a run leaves behind: the open one, or one that begins at
    /// `last_true`.
    pub fn left(&self, last_true: Option<Timestamp>) -> Option<GapRecord> {
        let begins =
            |began_at| GapRecord { id: self.next_id, began_at, ended_at: None, reason: NOT_RUNNING.to_owned() };
        self.open.clone().or_else(|| last_true.map(begins))
    }

    fn begin(&mut self, began_at: Timestamp, reason: String) {
        let gap = GapRecord { id: self.next_id, began_at, ended_at: None, reason };
        self.next_id += 1;
        self.push(gap.clone());
        self.open = Some(gap);
    }

    fn push(&mut self, gap: GapRecord) {
        if self.changed.len() < MAX_CHANGED_GAPS && !self.are_given {
            self.changed.push(gap);
        }
    }

    /// Begins a gap because the table is no longer live, unless one is open. The gap begins at
    /// `last_true`, or at `now` before the first reading.
    pub fn begins(&mut self, last_true: Option<Timestamp>, table: &LockTable, now: Timestamp) {
        if self.open.is_some() {
            return;
        }
        let reason = last_true.map_or(NOT_READ, |_| table.connection().why_not_seen()).to_owned();
        self.begin(last_true.unwrap_or(now), reason);
    }

    /// Ends the gap because everything was read.
    pub fn ends(&mut self, at: Timestamp) {
        let Some(mut gap) = self.open.take() else { return };
        // A gap without a length that nobody has seen yet is none.
        let unwritten = self.changed.iter().position(|changed| changed.id == gap.id && at <= gap.began_at);
        if let Some(unwritten) = unwritten {
            self.changed.remove(unwritten);
            return;
        }
        gap.ended_at = Some(at.max(gap.began_at));
        self.push(gap);
    }

    /// Records that events between these times could not be written. If the rows were read again
    /// from the file, the gap since the last row gets the reason, because the recorder was running.
    pub fn lost(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        match &mut self.open {
            Some(open) if open.reason == NOT_RUNNING => {
                reason.clone_into(&mut open.reason);
                let open = open.clone();
                self.changed.retain(|gap| gap.id != open.id);
                self.push(open);
            }
            _ => self.add(from, to, reason),
        }
    }

    /// Adds a gap that the recorder itself caused.
    pub fn add(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        let gap =
            GapRecord { id: self.next_id, began_at: from, ended_at: Some(to.max(from)), reason: reason.to_owned() };
        self.next_id += 1;
        self.push(gap);
    }
}

/// The most rows kept while nothing can be written.
const MAX_CHANGED_EVENTS: usize = 10_000;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::record) struct EnsembleRecord {
    /// The number of the row. An excerpt numbers the rows that it takes over anew.
    id: i64,
    pub(in crate::record) what: EnsembleEventKind,
    pub(in crate::record) member: Option<Arc<str>>,
    pub(in crate::record) epoch: Option<u32>,
    pub(in crate::record) began: TimeBounds,
    pub(in crate::record) ended: Option<TimeBounds>,
    pub(in crate::record) detail: Option<Arc<str>>,
    source: RowSource,
}

impl EnsembleRecord {
    fn of(event: &EnsembleEvent, id: i64, source: RowSource) -> Self {
        let EnsembleEvent { what, epoch, began, ended, .. } = *event;
        let (member, detail) = (event.member.clone(), event.detail.clone());
        Self { id, what, member, epoch, began, ended, detail, source }
    }
}

/// Follows the time line of the ensemble, and turns its changes into rows.
#[derive(Clone, Debug)]
pub struct EnsembleRows {
    next_id: i64,
    source: RowSource,
    /// The revision of the line whose events are rows; `None` before the first.
    revision: Option<u64>,
    /// The rows of the events that last, by the ids of the events.
    open: FxHashMap<u64, i64>,
    /// The last change of a leader, and its row: who leads may be known later.
    changed_leader: Option<(u64, i64)>,
    /// The rows that an earlier run left open, and when it ended.
    unfinished: Vec<EnsembleRecord>,
    until: Option<Timestamp>,
    /// Whether the rows are given by the caller.
    are_given: bool,
    pub changed: Vec<EnsembleRecord>,
}

impl EnsembleRows {
    /// Continues the rows of an earlier run, which ended at `until`.
    pub fn new(next_id: i64, unfinished: Vec<EnsembleRecord>, until: Option<Timestamp>) -> Self {
        Self {
            next_id,
            source: RowSource::Watched,
            revision: None,
            open: FxHashMap::default(),
            changed_leader: None,
            unfinished,
            until,
            are_given: false,
            changed: Vec::new(),
        }
    }

    pub fn set_source(&mut self, source: RowSource) {
        self.source = source;
    }

    /// Writes no rows but those that are [given](Self::give).
    pub fn will_be_given(&mut self) {
        (self.are_given, self.unfinished) = (true, Vec::new());
    }

    /// Sets the rows, oldest first.
    pub fn give(&mut self, rows: Vec<EnsembleRecord>) {
        self.changed = (1..).zip(rows).map(|(id, row)| EnsembleRecord { id, ..row }).collect();
    }

    /// Takes over what changed in the line. Takes no time where nothing did.
    pub fn happened(&mut self, line: &EnsembleLine, now: Timestamp) {
        if self.are_given || self.revision == Some(line.revision()) {
            return;
        }
        let is_first = self.revision.is_none();
        let since = self.revision.replace(line.revision()).unwrap_or(0);
        for event in line.changed_after(since) {
            // After a failure to write, the line goes on with events that are rows already.
            let is_written = |ended: TimeBounds| self.until.is_some_and(|until| ended.before <= until);
            if !is_first || !event.ended.is_some_and(is_written) {
                self.take(event);
            }
        }
        for mut row in std::mem::take(&mut self.unfinished) {
            let until = self.until.unwrap_or(row.began.before).max(row.began.after);
            row.ended = Some(TimeBounds::between(until, now.max(until)));
            self.push(row);
        }
    }

    fn take(&mut self, event: &EnsembleEvent) {
        let continues =
            |row: &EnsembleRecord| row.what == event.what && row.member == event.member && row.began == event.began;
        let found = self.unfinished.iter().position(continues);
        let left = found.map(|place| self.unfinished.remove(place).id);
        let changed = self.changed_leader.filter(|(changed, _)| *changed == event.id).map(|(_, id)| id);
        let id = self.open.remove(&event.id).or(left).or(changed).unwrap_or_else(|| self.new_id());
        if event.what == EnsembleEventKind::LeaderChanged {
            self.changed_leader = Some((event.id, id));
        }
        if event.ended.is_none() {
            self.open.insert(event.id, id);
        }
        self.push(EnsembleRecord::of(event, id, self.source));
    }

    /// Adds an event that the line does not have, since its source is no server's answer.
    pub fn add(&mut self, event: &EnsembleEvent) {
        let id = self.new_id();
        self.push(EnsembleRecord::of(event, id, self.source));
    }

    fn new_id(&mut self) -> i64 {
        let id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        id
    }

    fn push(&mut self, row: EnsembleRecord) {
        if self.changed.len() < MAX_CHANGED_EVENTS {
            self.changed.push(row);
        }
    }
}

/// Writes a row.
pub fn write(connection: &Connection, row: &EnsembleRecord) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "REPLACE INTO ensemble_event (id, what, member, epoch, began_after, began_before, ended_after, ended_before, detail, source)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let EnsembleRecord { id, what, member, epoch, began, ended, detail, source } = row;
    let (after, before) = (ended.map(|ended| ended.after.0), ended.map(|ended| ended.before.0));
    let begun = (began.after.0, began.before.0);
    statement.execute(params![id, what.id(), member, epoch, begun.0, begun.1, after, before, detail, source.id()])?;
    Ok(())
}

/// Reads the rows that earlier runs left open.
pub fn unfinished(connection: &Connection) -> rusqlite::Result<Vec<EnsembleRecord>> {
    rows(connection, "ended_before IS NULL AND ?1 <= ?2", [i64::MIN, i64::MAX], usize::MAX)
}

/// Reads the rows that overlap a time range. An event that ends later is open.
pub fn within(connection: &Connection, time: TimeRange) -> rusqlite::Result<Vec<EnsembleRecord>> {
    let overlap = "ifnull(ended_before, 9223372036854775807) >= ?1 AND began_before <= ?2 AND ?1 <= ?2";
    let mut found = rows(connection, overlap, [time.from.0, time.to.0], usize::MAX)?;
    for row in &mut found {
        row.ended = row.ended.filter(|ended| ended.before <= time.to);
    }
    Ok(found)
}

/// Gives a recording the rows that the recording of a log has within the times that only the log
/// knows.
pub(in crate::record) fn complete(
    connection: &Connection,
    log: &Connection,
    times: impl Iterator<Item = TimeRange>,
) -> rusqlite::Result<()> {
    let known = "SELECT EXISTS (SELECT 1 FROM ensemble_event WHERE what = ?1 AND epoch IS ?2 AND member IS ?3
        AND ifnull(ended_before, 9223372036854775807) >= ?4 AND began_after <= ?5)";
    let mut known = connection.prepare(known)?;
    for row in times.map(|time| within(log, time)).collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten() {
        let ended = row.ended.map_or(i64::MAX, |ended| ended.before.0);
        let same = params![row.what.id(), row.epoch, row.member, row.began.after.0, ended];
        if !known.query_row(same, |row| row.get::<_, bool>(0))? {
            let next = "SELECT ifnull(max(id), 0) + 1 FROM ensemble_event";
            let id = connection.query_row(next, [], |row| row.get(0))?;
            write(connection, &EnsembleRecord { id, ..row })?;
        }
    }
    Ok(())
}

/// Reads the rows that a condition on a time range selects, the earliest first, up to `limit`. Rows
/// of kinds that a newer version recorded are left out, and recordings before format 6 have none.
pub(in crate::record) fn rows(
    connection: &Connection,
    condition: &str,
    [from, to]: [i64; 2],
    limit: usize,
) -> rusqlite::Result<Vec<EnsembleRecord>> {
    if !connection.table_exists(None, "ensemble_event")? {
        return Ok(Vec::new());
    }
    let mut query = connection.prepare(&format!(
        "SELECT id, what, member, epoch, began_after, began_before, ended_after, ended_before, detail, source \
         FROM ensemble_event WHERE {condition} ORDER BY began_before, id LIMIT ?3"
    ))?;
    let memory = RowMemory::default();
    let record = |row: &Row<'_>| {
        memory.charge(row)?;
        let Some(what) = EnsembleEventKind::from_id(&row.get::<_, String>(1)?) else { return Ok(None) };
        let text = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(at)?.map(Arc::from));
        let bounds = |after, before| TimeBounds::between(Timestamp(after), Timestamp(before));
        let ended = row.get::<_, Option<i64>>(6)?.zip(row.get::<_, Option<i64>>(7)?);
        Ok(Some(EnsembleRecord {
            id: row.get(0)?,
            what,
            member: text(2)?,
            epoch: row.get::<_, Option<i64>>(3)?.and_then(|epoch| u32::try_from(epoch).ok()),
            began: bounds(row.get(4)?, row.get(5)?),
            ended: ended.map(|(after, before)| bounds(after, before)),
            detail: text(8)?,
            source: RowSource::from_id(row.get::<_, Option<String>>(9)?.as_deref()),
        }))
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    query.query_map([from, to, limit], record)?.filter_map(Result::transpose).collect()
}

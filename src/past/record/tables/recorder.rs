//! Collects facts and turns them into rows, or into spans without a file.

use std::sync::Arc;

use rusqlite::Connection;

use super::contender::{EventTime, RowSource};
use super::coverage::ProvenTime;
use super::facts::{Attempts, ChangedSessions, DeletionRows, RecordedAttempts, StandingFindingRows};
use super::resume::{TableExcerpt, Unfinished};
use super::rows::{RunRecord, TableRows};
use super::standing::StandingContenders;
use super::timeline::{EnsembleRows, Gaps};
use super::trace::Tracer;
use super::{GapRecord, RecordedDeletion, create, resume, timeline};
use crate::record::RecordedState;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::FindingChanges;
use lockscope_model::ensemble::EnsembleEvent;
use lockscope_model::queue::{Happening, LockTable};
use lockscope_model::span::Span;

/// Collects the content of the tables: see [the module](super) for the order of calls. Memory is
/// bounded by the number of present contenders.
#[derive(Clone, Debug)]
pub struct TableRecorder {
    no_data: bool,
    /// `None` if nobody queries holds and waits.
    contenders: Option<StandingContenders>,
    /// The number of events since rows were last taken.
    events: u64,
    findings: StandingFindingRows,
    sessions: ChangedSessions,
    gaps: Gaps,
    ensemble: Box<EnsembleRows>,
    attempts: Attempts,
    deletions: DeletionRows,
    was_live: bool,
    /// The last known time at which the table was live.
    last_true: Option<Timestamp>,
    proven: Vec<ProvenTime>,
    source: Option<RowSource>,
    /// The id of this run's row in `recording`, and the beginning of the run.
    run: (i64, Option<Timestamp>),
    /// The time at which rows were last taken.
    flushed_at: Timestamp,
    /// The spans of the rows that were last taken, and how many were lost.
    spans: (Vec<Span>, u64),
}

impl TableRecorder {
    /// Reads the state that earlier runs left, and begins a new run. With `no_data` no contender's
    /// data are written.
    pub fn resume(connection: &Connection, no_data: bool) -> rusqlite::Result<Self> {
        let next = |query| resume::next_id(connection, query);
        let until = resume::recorded_until(connection)?;
        let gaps = Gaps::new(next("SELECT max(id) FROM gap")?, resume::open_gap(connection)?, until);
        connection.execute(
            "UPDATE finding SET cleared_at = max(raised_at, ifnull(?1, raised_at)), ending = 'unknown' WHERE cleared_at IS NULL",
            [until.map(|until| until.0)],
        )?;
        Ok(Self {
            no_data,
            contenders: Some(StandingContenders::new(
                no_data,
                Unfinished::read(connection)?,
                next("SELECT max(id) FROM contender")?,
            )),
            events: 0,
            findings: StandingFindingRows::new(no_data, next("SELECT max(id) FROM finding")?),
            sessions: ChangedSessions::default(),
            gaps,
            ensemble: Box::new(EnsembleRows::new(
                next("SELECT max(id) FROM ensemble_event")?,
                timeline::unfinished(connection)?,
                until,
            )),
            attempts: Attempts::default(),
            deletions: DeletionRows::default(),
            proven: Vec::new(),
            source: Some(RowSource::Watched),
            was_live: false,
            last_true: until,
            run: (next("SELECT max(id) FROM recording")?, None),
            flushed_at: Timestamp(i64::MIN),
            spans: Default::default(),
        })
    }

    /// Leaves out holds, waits and sessions: the segments contain them too, and only a history
    /// reads these rows. With many contenders they are most of a recording.
    #[must_use]
    pub(in crate::record) fn without_contenders(self) -> Self {
        Self { contenders: None, ..self }
    }

    /// Makes spans too, for [`take_spans`](Self::take_spans). `gap` is the time since an
    /// earlier run, whose tables this recorder does not continue.
    #[must_use]
    fn with_spans(mut self, gap: Option<GapRecord>) -> Self {
        if let Some(contenders) = &mut self.contenders {
            contenders.tracer = Tracer::on();
        }
        self.gaps = Gaps::new(1, gap, None);
        self
    }

    /// Goes on with a table from the end of the file. Must be called before anything is recorded.
    pub(in crate::record) fn resume_with(&mut self, table: &LockTable) {
        if let (Some(contenders), Some(at)) = (&mut self.contenders, self.last_true) {
            let moment = EventTime { at, unseen_since: Some(at) };
            table.locks().for_each(|lock| contenders.look_at(lock, table, moment));
        }
    }

    /// Sets where the rows come from; `None` where an older recording does not note it.
    #[must_use]
    pub(in crate::record) fn of_source(mut self, source: Option<RowSource>) -> Self {
        let of_rows = source.unwrap_or_default();
        if let Some(contenders) = &mut self.contenders {
            contenders.set_source(of_rows);
        }
        self.ensemble.set_source(of_rows);
        self.source = source;
        self
    }

    /// Starts the tables of an excerpt, in a file that has none. Present contenders continue as the
    /// recording's tables have them, and the gaps are those that are [given](Self::set_gaps).
    pub(in crate::record) fn of_excerpt(
        connection: &Connection,
        no_data: bool,
        excerpt: &mut TableExcerpt,
        RecordedState { table, diagnosis }: &RecordedState,
        at: Timestamp,
    ) -> rusqlite::Result<Self> {
        let mut tables = Self::resume(connection, no_data)?;
        let standing = excerpt.take_standing(table, no_data);
        let next_id = standing.iter().map(|record| record.id).max().unwrap_or(0).saturating_add(1);
        tables.contenders = Some(StandingContenders::new(no_data, Unfinished::of(standing), next_id));
        let unseen = excerpt.unseen.take().filter(|_| !table.is_in_step());
        tables.last_true = unseen.as_ref().map(|gap| gap.began_at);
        tables.gaps.will_be_given(unseen);
        tables.ensemble.will_be_given();
        tables.happened(&[], table, at);
        tables.findings.stood(excerpt.findings(diagnosis, at).into_iter(), table);
        Ok(tables)
    }

    /// Continues an excerpt after a gap, with the state known then.
    pub(in crate::record) fn resume_excerpt(
        connection: &Connection,
        no_data: bool,
        RecordedState { table, diagnosis }: &RecordedState,
        at: Timestamp,
    ) -> rusqlite::Result<Self> {
        let mut tables = Self::resume(connection, no_data)?;
        tables.gaps.will_be_given(None);
        tables.ensemble.will_be_given();
        tables.happened(&[], table, at);
        tables.findings.stood(diagnosis.findings().map(|finding| (Arc::new(finding.clone()), at)), table);
        Ok(tables)
    }

    /// Sets the gaps of an excerpt: those of its recording, and others. Also sets what happened to
    /// the ensemble, and what is proven of the time.
    pub(in crate::record) fn set_gaps(&mut self, mut excerpt: TableExcerpt, others: Vec<GapRecord>) {
        self.proven = std::mem::take(&mut excerpt.proven);
        self.ensemble.give(std::mem::take(&mut excerpt.ensemble));
        self.gaps.give(excerpt.into_gaps(others));
    }

    /// Records the events of one change; the table is in the state after the change. Must be called
    /// after each change, even without events. Takes as long as the change did, except for the
    /// change that makes the table live: that one is linear in the number of contenders.
    pub fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        // What happens while the ensemble is silent is recorded later: nothing is missed.
        let is_live = table.is_in_step();
        self.ensemble.happened(table.ensemble_line(), at);
        if !is_live {
            self.gaps.begins(self.last_true, table, at);
        }
        // Before the first reading nothing was seen, so contenders found then may be older than the
        // gap.
        let unseen_since = self.gaps.since().filter(|_| !self.was_live && self.last_true.is_some());
        self.events += happenings.len() as u64;
        if let Some(contenders) = &mut self.contenders {
            contenders.unsettled.heard(table.view());
            for happening in happenings {
                contenders.happened(happening, table, EventTime { at: happening.at, unseen_since });
                self.sessions.happened(happening, happening.at, self.no_data);
            }
        }
        if is_live {
            if !self.was_live {
                if let Some(contenders) = &mut self.contenders {
                    contenders.compare(table, EventTime { at, unseen_since });
                }
                self.gaps.ends(at);
                self.run.1.get_or_insert(at);
            }
            self.last_true = table.last_true().or(Some(at));
        }
        self.was_live = is_live;
    }

    /// Records the changes of one look for findings.
    pub fn findings_changed(&mut self, changes: &FindingChanges, table: &LockTable, at: Timestamp) {
        let known = self.findings.changed.len();
        self.findings.changed(changes, table, at);
        if let Some(maker) = self.contenders.as_mut().and_then(|contenders| contenders.tracer.maker()) {
            maker.found(self.findings.changed.get(known..).unwrap_or_default());
        }
    }

    /// Returns the gap that the end of a run leaves behind. At the beginning of a run that is the
    /// gap since the earlier one.
    pub(in crate::record) fn left_gap(&self) -> Option<GapRecord> {
        self.gaps.left(self.last_true)
    }

    /// Records a gap between these times that the recorder itself caused.
    pub fn gap(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        self.gaps.add(from, to, reason);
    }

    /// Records that events between these times were lost, because they could not be written.
    pub fn lost(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        self.gaps.lost(from, to, reason);
    }

    /// Records what a transaction log shows of the ensemble.
    pub fn happened_to_ensemble(&mut self, event: &EnsembleEvent) {
        self.ensemble.add(event);
    }

    /// Records what proves that logs are complete.
    pub fn proven(&mut self, proven: ProvenTime) {
        self.proven.push(proven);
    }

    /// Records attempts in vain.
    pub fn attempted(&mut self, attempts: RecordedAttempts) {
        if self.contenders.is_some() {
            self.attempts.add(attempts);
        }
    }

    /// Records an outcome of the audit log, before or after the end of its contender was seen.
    pub fn deleted(&mut self, deletion: RecordedDeletion) {
        self.deletions.add(deletion);
    }

    /// Takes the rows that are due. Must be called about once a second, and with `is_last` at the
    /// end of the run, which includes the latest contenders. The caller writes the rows with
    /// [`TableWriter::write`](super::TableWriter::write).
    pub fn take_rows(&mut self, table: &LockTable, now: Timestamp, is_last: bool) -> TableRows {
        let seen_until = if is_last { now } else { self.flushed_at };
        let since = if self.was_live { None } else { self.gaps.since() };
        let (mut contenders, settled, lost) = match &mut self.contenders {
            Some(standing) => {
                let due = standing.take_due(table, EventTime { at: now, unseen_since: since }, seen_until);
                let settled = std::mem::take(&mut standing.unsettled.settled);
                (due, settled, std::mem::take(&mut standing.lost))
            }
            None => (Vec::new(), Vec::new(), 0),
        };
        if lost > 0 {
            let reason = format!("{lost} contenders ended that could not be written in time");
            self.gaps.add(self.flushed_at.max(Timestamp(0)), now, &reason);
        }
        self.deletions.explain(&mut contenders);
        if let Some(maker) = self.contenders.as_mut().and_then(|contenders| contenders.tracer.maker()) {
            maker.settled(&settled, contenders.iter());
            self.spans = maker.take(&self.gaps.changed, now, is_last);
        }
        for record in &contenders {
            self.sessions.stood(record, now);
        }
        let run = self.run.1.map(|began_at| {
            let until = if self.was_live { seen_until } else { self.last_true.unwrap_or(began_at) };
            RunRecord { id: self.run.0, began_at, until: until.max(began_at), source: self.source }
        });
        self.flushed_at = now;
        TableRows {
            contenders,
            settled,
            findings: std::mem::take(&mut self.findings.changed),
            sessions: std::mem::take(&mut self.sessions.changed).into_iter().collect(),
            gaps: std::mem::take(&mut self.gaps.changed),
            ensemble: std::mem::take(&mut self.ensemble.changed),
            attempts: self.attempts.take(),
            deletions: std::mem::take(&mut self.deletions.unwritten),
            activity: (now, std::mem::take(&mut self.events)),
            proven: std::mem::take(&mut self.proven),
            run,
        }
    }

    /// Takes the spans of the rows that were last taken, and the number of those lost.
    fn take_spans(&mut self) -> (Vec<Span>, u64) {
        std::mem::take(&mut self.spans)
    }

    #[cfg(test)]
    pub(super) fn standing(&self) -> usize {
        self.contenders.as_ref().map_or(0, StandingContenders::len)
    }
}

/// Makes spans of finished waits and holds, of locks and of gaps.
///
/// The owner of the table calls [`happened`](Self::happened) after each change,
/// [`findings_changed`](Self::findings_changed) after each look for findings, and
/// [`take`](Self::take) once a second. A span comes about a second after its end was seen; one
/// whose end the servers may still explain, up to ten seconds after it.
///
/// What happened before the first reading has no span. A hold that is found then begins within the
/// bounds that the table knows.
#[derive(Debug)]
pub struct SpanRecorder {
    tables: TableRecorder,
}

impl SpanRecorder {
    /// Starts to make spans. With `no_data` they contain neither the data of nodes nor names read
    /// from them: pass a table whose changes had their data removed. `gap` is the one that an earlier
    /// run left, if there was one; it becomes a span when everything is read.
    ///
    /// # Errors
    ///
    /// Only when there is no memory for empty tables.
    pub fn start(no_data: bool, gap: Option<GapRecord>) -> rusqlite::Result<Self> {
        let connection = Connection::open_in_memory()?;
        create(&connection)?;
        Ok(Self { tables: TableRecorder::resume(&connection, no_data)?.with_spans(gap) })
    }

    /// Returns the gap that the end of this run leaves behind.
    pub fn left_gap(&self) -> Option<GapRecord> {
        self.tables.left_gap()
    }

    /// Records the events of one change, as [`TableRecorder::happened`] does.
    pub fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        self.tables.happened(happenings, table, at);
    }

    /// Records the changes of one look for findings.
    pub fn findings_changed(&mut self, changes: &FindingChanges, table: &LockTable, at: Timestamp) {
        self.tables.findings_changed(changes, table, at);
    }

    /// Records that a node was deleted by hand, according to the audit log.
    pub fn deleted(&mut self, deletion: RecordedDeletion) {
        self.tables.deleted(deletion);
    }

    /// Takes the finished spans, and the number of those that were lost because there were too many
    /// at once. Must be called about once a second, and with `is_last` at the end of the run.
    pub fn take(&mut self, table: &LockTable, now: Timestamp, is_last: bool) -> (Vec<Span>, u64) {
        self.tables.take_rows(table, now, is_last);
        self.tables.take_spans()
    }
}

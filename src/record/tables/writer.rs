//! Takes what is learned, and writes what it comes to as rows.

use rusqlite::{Connection, Transaction};

use super::deletion::{Deletions, RecordedDeletion};
use super::found::StandingFindingRows;
use super::gaps::Gaps;
use super::lookup::Moment;
use super::resume::{self, Unfinished};
use super::rows::RowIds;
use super::sessions::ChangedSessions;
use super::standing::StandingContenders;
use super::{TABLES_VERSION, rows};
use crate::diagnose::FindingChanges;
use crate::queue::{ContenderId, Happening, LockId, LockTable};
use crate::znode::Timestamp;

/// Keeps the tables of a recording: see [the module](super) for the order of calls. Memory is bounded by the contenders that stand.
#[derive(Debug)]
pub struct TableWriter {
    no_data: bool,
    contenders: StandingContenders,
    findings: StandingFindingRows,
    sessions: ChangedSessions,
    gaps: Gaps,
    deletions: Deletions,
    ids: RowIds,
    was_live: bool,
    /// When the table was true the last time that was looked.
    last_true: Option<Timestamp>,
    /// This run's row in `recording`, and when it began.
    run: (i64, Option<Timestamp>),
    /// When the last flush was, which had all that was known then.
    flushed_at: Timestamp,
    /// What the transaction that is not confirmed yet holds.
    unconfirmed: Option<Unconfirmed>,
}

/// What is in a transaction.
#[derive(Debug)]
struct Unconfirmed {
    at: Timestamp,
    due: Vec<(LockId, ContenderId)>,
}

impl TableWriter {
    /// Reads what earlier runs left, and begins a new one. With `no_data` no contender's data is written.
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
            contenders: StandingContenders::new(
                no_data,
                Unfinished::read(connection)?,
                next("SELECT max(id) FROM contender")?,
            ),
            findings: StandingFindingRows::new(no_data, next("SELECT max(id) FROM finding")?),
            sessions: ChangedSessions::default(),
            gaps,
            deletions: Deletions::default(),
            ids: RowIds::default(),
            was_live: false,
            last_true: until,
            run: (next("SELECT max(id) FROM recording")?, None),
            flushed_at: Timestamp(i64::MIN),
            unconfirmed: None,
        })
    }

    /// Takes what one change meant; the table is as it is after the change. To be called after each change, also when nothing
    /// happened. Takes time as the change did, but for the one that makes the table live: that is linear in the contenders.
    pub fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        let is_live = table.is_live();
        if !is_live {
            self.gaps.begins(self.last_true, table, at);
        }
        // Before the first reading nothing was seen: what is found then is not known to have begun since.
        let unseen_since = self.gaps.since().filter(|_| !self.was_live && self.last_true.is_some());
        for happening in happenings {
            self.contenders.happened(happening, table, Moment { at: happening.at, unseen_since });
            self.sessions.happened(happening, happening.at, self.no_data);
        }
        if is_live {
            if !self.was_live {
                self.contenders.look(table, Moment { at, unseen_since });
                self.gaps.ends(at);
                self.run.1.get_or_insert(at);
            }
            self.last_true = table.last_true().or(Some(at));
        }
        self.was_live = is_live;
    }

    /// Takes what a look for findings changed.
    pub fn findings_changed(&mut self, changes: &FindingChanges, table: &LockTable, at: Timestamp) {
        self.findings.changed(changes, table, at);
    }

    /// The recorder itself missed what happened between these times.
    pub fn gap(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        self.gaps.add(from, to, reason);
    }

    /// Takes an outcome of the audit log, before or after the end of its contender was seen.
    pub fn deleted(&mut self, deletion: RecordedDeletion) {
        self.deletions.add(deletion);
    }

    /// Writes what is due into the caller's transaction. Nothing is forgotten until [`Self::written`] says that it was committed.
    pub fn write(&mut self, transaction: &Transaction<'_>, table: &LockTable, now: Timestamp) -> rusqlite::Result<()> {
        self.write_seen_until(transaction, table, now, self.flushed_at)
    }

    /// The same at the end of a run: also those who came just now.
    pub fn finish(&mut self, transaction: &Transaction<'_>, table: &LockTable, now: Timestamp) -> rusqlite::Result<()> {
        self.write_seen_until(transaction, table, now, now)
    }

    fn write_seen_until(
        &mut self,
        transaction: &Transaction<'_>,
        table: &LockTable,
        now: Timestamp,
        seen_until: Timestamp,
    ) -> rusqlite::Result<()> {
        if self.unconfirmed.take().is_some() {
            // What the last one had numbered was rolled back with it.
            self.ids = RowIds::default();
        }
        let since = if self.was_live { None } else { self.gaps.since() };
        let due = self.contenders.due(table, Moment { at: now, unseen_since: since }, seen_until);
        self.unconfirmed = Some(Unconfirmed { at: now, due });
        if self.contenders.lost > 0 {
            let reason = format!("{} contenders ended that could not be written in time", self.contenders.lost);
            self.gaps.add(self.flushed_at.max(Timestamp(0)), now, &reason);
        }
        self.deletions.explain(&mut self.contenders.ended);
        let due = self.unconfirmed.iter().flat_map(|unconfirmed| &unconfirmed.due);
        let standing: Vec<_> = due.filter_map(|key| self.contenders.get(key)).collect();
        for record in standing.into_iter().chain(&self.contenders.ended) {
            self.sessions.stood(record, now);
            rows::contender(transaction, &mut self.ids, record)?;
        }
        for record in &self.findings.changed {
            rows::finding(transaction, &mut self.ids, record)?;
        }
        for (session, record) in &self.sessions.changed {
            rows::session(transaction, &mut self.ids, *session, record)?;
        }
        for record in &self.gaps.changed {
            rows::gap(transaction, record)?;
        }
        for deletion in &self.deletions.unwritten {
            rows::deletion(transaction, deletion)?;
        }
        if let (id, Some(began_at)) = self.run {
            let until = if self.was_live { seen_until.max(began_at) } else { self.last_true.unwrap_or(began_at) };
            transaction
                .prepare_cached(
                    "REPLACE INTO recording (id, tables_version, began_at, until_at) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute([id, TABLES_VERSION, began_at.0, until.0])?;
        }
        Ok(())
    }

    /// The transaction was committed.
    pub fn written(&mut self) {
        let Some(Unconfirmed { at, due }) = self.unconfirmed.take() else { return };
        self.contenders.written(&due);
        self.findings.changed.clear();
        self.sessions.changed.clear();
        self.gaps.changed.clear();
        self.deletions.unwritten.clear();
        self.ids.stay_small();
        self.flushed_at = at;
    }

    /// Rows of the past were deleted: what is remembered of their locks and clients may be wrong.
    pub fn forgotten(&mut self) {
        self.ids = RowIds::default();
    }

    /// How many contenders stand, as far as is recorded.
    #[cfg(test)]
    pub(super) fn standing(&self) -> usize {
        self.contenders.len()
    }
}

//! Everything in the tables about a time range, for a report.

use std::time::Duration;

use rusqlite::Connection;

use super::rows::{self, PastContender, PastDeletion, PastFinding, PastGap};
use super::{HistoryQuery, PastAttempts, PastEnsembleEvent, attempts, ensemble, scan, unrecorded};
use crate::record::store::{Store, StoreError};
use crate::record::tables::NOT_READ;
use lockscope_base::znode::Timestamp;

/// The most contenders of a report; of more, the last ones are kept.
const MAX_CONTENDERS: usize = 200_000;

/// The most findings, events of the ensemble, and deletions, of a report.
const MAX_OTHERS: usize = 2_000;

/// A first reading that took longer is a gap that is worth to be told.
const MAX_FIRST_READING: Duration = Duration::from_secs(10);

/// The content of the tables for a time range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWindow {
    /// The beginning of the requested time, or of the recording.
    pub from: Timestamp,
    /// The end of the requested time, or the time up to which the tables are complete.
    pub to: Timestamp,
    /// The time up to which open contenders are known to be present.
    pub known_until: Timestamp,
    /// The contenders, in the order in which they were first seen.
    pub contenders: Vec<PastContender>,
    /// The number of earlier contenders that are left out.
    pub left_out: usize,
    /// The gaps, in which nothing was seen.
    pub gaps: Vec<PastGap>,
    /// The findings, in the order in which they were raised.
    pub findings: Vec<PastFinding>,
    /// What happened to the ensemble as a whole, the earliest first.
    pub ensemble: Vec<PastEnsembleEvent>,
    /// The deletions, in the order of time.
    pub deletions: Vec<PastDeletion>,
    /// The attempts in vain, in the order of time.
    pub attempts: Vec<PastAttempts>,
    /// Whether findings, events of the ensemble or deletions are left out.
    pub is_cut: bool,
}

impl PastWindow {
    /// Reads the window; `None` when nothing was recorded yet. Blocks the thread during disk
    /// access.
    pub fn read(store: &mut Store, from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Option<Self>, StoreError> {
        store.sql(|connection| {
            let Some(mut window) = Self::from_tables(connection, from, to)? else { return Ok(None) };
            unrecorded::add(connection, from, to, &mut window.gaps)?;
            if from.is_none() {
                window.skip_first_reading();
            }
            Ok(Some(window))
        })
    }

    /// Lets the window begin when everything had been read for the first time. Before that there was
    /// nothing to miss.
    fn skip_first_reading(&mut self) {
        let first = self.gaps.first().filter(|gap| gap.reason == NOT_READ && gap.from <= self.from);
        let read = first.and_then(|gap| gap.to).filter(|read| read.since(self.from) < MAX_FIRST_READING);
        if let Some(read) = read.filter(|read| *read <= self.to) {
            self.from = read;
            self.gaps.remove(0);
        }
    }

    pub(in crate::record) fn from_tables(
        connection: &mut Connection,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> rusqlite::Result<Option<Self>> {
        let transaction = connection.transaction()?;
        let (Some(began), Some(until)) = rows::recorded(&transaction)? else { return Ok(None) };
        let from = from.unwrap_or(began);
        let to = to.unwrap_or(until).max(from);
        let query = HistoryQuery { from: Some(from), to: Some(to), ..HistoryQuery::default() };
        let found = scan::scan(&transaction, &query, Some(until))?;
        let ids = found.listed(MAX_CONTENDERS);
        let (mut findings, mut deletions) = (
            rows::findings(&transaction, from, to, MAX_OTHERS + 1)?,
            rows::deletions(&transaction, from, to, MAX_OTHERS + 1)?,
        );
        let mut events = ensemble::events(&transaction, Some(from), Some(to), MAX_OTHERS + 1)?;
        let is_cut = findings.len().max(deletions.len()).max(events.len()) > MAX_OTHERS;
        events.truncate(MAX_OTHERS);
        findings.truncate(MAX_OTHERS);
        deletions.truncate(MAX_OTHERS);
        Ok(Some(Self {
            from,
            to,
            known_until: until.min(to),
            contenders: rows::contenders(&transaction, &ids, Some(until))?,
            left_out: (found.holds + found.waits).saturating_sub(ids.len()),
            gaps: rows::gaps(&transaction, Some(from), Some(to))?,
            findings,
            ensemble: events,
            deletions,
            attempts: attempts::rows_of(&transaction, &query)?,
            is_cut,
        }))
    }
}

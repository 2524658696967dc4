//! All that the tables say of a time, for a report of it.

use rusqlite::Connection;

use super::rows::{self, PastContender, PastDeletion, PastFinding, PastGap};
use super::{HistoryQuery, scan, unrecorded};
use crate::record::store::{Store, StoreError};
use lockscope_base::znode::Timestamp;

/// Contenders of a report at most: those that came last.
const MAX_CONTENDERS: usize = 200_000;

/// Findings and deletions of a report at most.
const MAX_OTHERS: usize = 2_000;

/// What happened within a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWindow {
    /// Its beginning: that which was asked for, or when recording began.
    pub from: Timestamp,
    /// Its end: that which was asked for, or up to when everything is in the tables.
    pub to: Timestamp,
    /// Up to when it is known what stands.
    pub known_until: Timestamp,
    /// In the order in which they were first seen.
    pub contenders: Vec<PastContender>,
    /// How many there are before these.
    pub left_out: usize,
    /// When nothing was seen.
    pub gaps: Vec<PastGap>,
    /// In the order in which they were raised.
    pub findings: Vec<PastFinding>,
    /// In the order in which they happened.
    pub deletions: Vec<PastDeletion>,
    /// Whether there are more findings or deletions than these.
    pub is_cut: bool,
}

impl PastWindow {
    /// Reads it; `None` when nothing was recorded yet. Blocks the thread as long as the disk does.
    pub fn read(store: &mut Store, from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Option<Self>, StoreError> {
        store.sql(|connection| {
            let Some(mut window) = Self::from_tables(connection, from, to)? else { return Ok(None) };
            unrecorded::add(connection, (from, to), &mut window.gaps)?;
            Ok(Some(window))
        })
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
        let is_cut = findings.len().max(deletions.len()) > MAX_OTHERS;
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
            deletions,
            is_cut,
        }))
    }
}

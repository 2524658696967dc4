//! An overview of a recording: its activity over time, its gaps, its findings.

use rusqlite::params;

use super::history::{self, PastGap};
use super::past::Past;
use super::row_memory::RowMemory;
use super::store::StoreError;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::diagnose::Severity;

/// The most gaps in a list: the last ones.
const MAX_GAPS: usize = 1_000;

impl Past {
    /// Returns the number of events in each of `parts` equal parts of a time range.
    pub fn density(&mut self, of: TimeRange, parts: usize) -> Result<Vec<u32>, StoreError> {
        let length = of.to.0.saturating_sub(of.from.0).max(1);
        let query = "SELECT (until_at - ?1) * ?2 / ?3 AS part, sum(events) FROM activity
                     WHERE until_at BETWEEN ?1 AND ?4 GROUP BY part";
        let mut density = vec![0_u32; parts];
        let count = i64::try_from(parts).unwrap_or(i64::MAX);
        let counted: Vec<(i64, u32)> = self.store.sql(|sql| {
            // Older recordings have no such table.
            if !sql.table_exists(None, "activity")? {
                return Ok(Vec::new());
            }
            let mut query = sql.prepare_cached(query)?;
            query.query_map(params![of.from.0, count, length, of.to.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        for (part, events) in counted {
            if let Some(part) = usize::try_from(part).ok().and_then(|part| density.get_mut(part.min(parts - 1))) {
                *part = part.saturating_add(events);
            }
        }
        Ok(density)
    }

    /// Returns the gaps and their reasons, oldest first; of too many, the last ones.
    pub fn gaps(&mut self) -> Result<Vec<PastGap>, StoreError> {
        let gaps = self.store.sql(|sql| history::gaps(sql))?;
        Ok(gaps[gaps.len().saturating_sub(MAX_GAPS)..].to_vec())
    }

    /// Returns when findings were raised, their worst severity, and their codes: the last ones,
    /// oldest first.
    pub fn last_findings(&mut self, most: usize) -> Result<Vec<(Timestamp, Severity, String)>, StoreError> {
        let query =
            "SELECT * FROM (SELECT raised_at, severity, code FROM finding ORDER BY raised_at DESC LIMIT ?1) ORDER BY 1";
        let severity = |id: &str| match id {
            "critical" => Severity::Critical,
            "warning" => Severity::Warning,
            _ => Severity::Info,
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.store.sql(|sql| {
            let mut query = sql.prepare_cached(query)?;
            let memory = RowMemory::default();
            let rows = query.query_map([most], |row| {
                memory.charge(row)?;
                let id: String = row.get(1)?;
                Ok((Timestamp(row.get(0)?), severity(&id), row.get(2)?))
            })?;
            rows.collect()
        })
    }

    /// Returns when the next finding was raised, or the previous one.
    pub fn finding_beside(&mut self, at: Timestamp, forward: bool) -> Result<Option<Timestamp>, StoreError> {
        let query = if forward {
            "SELECT min(raised_at) FROM finding WHERE raised_at > ?1"
        } else {
            "SELECT max(raised_at) FROM finding WHERE raised_at < ?1"
        };
        let found: Option<i64> = self.store.sql(|sql| sql.query_row(query, [at.0], |row| row.get(0)))?;
        Ok(found.map(Timestamp))
    }
}

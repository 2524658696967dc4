//! Puts an earlier recording before the beginning of one in memory.

use std::path::Path;

use rusqlite::{Connection, params};

use super::SegmentInfo;
use super::batch_writer::BatchWriter;
use super::bounds::used_bytes;
use super::past::segment_info;
use super::row_memory::RowMemory;
use super::store::{Store, StoreError};
use lockscope_base::znode::Timestamp;

impl BatchWriter {
    /// Puts the segments of another recording before the first one, with their gaps, findings and
    /// activity. Takes the latest ones that fit into three quarters of the bound, and none that ends
    /// after the beginning. Returns the new beginning, if
    /// anything was taken. Blocks the thread for as long as reading takes.
    pub fn prepend(&mut self, earlier: &Path) -> Result<Option<Timestamp>, StoreError> {
        let mut earlier = Store::open(earlier)?;
        let bound = self.most_bytes().map_or(u64::MAX, |most| most / 4 * 3);
        let first = "SELECT ifnull(min(from_ms), 9223372036854775807) FROM segment";
        let until: i64 = self.sql(|sql| sql.query_row(first, [], |row| row.get(0)))?;
        let mut began = None;
        for segment in earlier.sql(|sql| segments(sql, until))? {
            let (keyframe, chunks) = earlier.sql(|sql| content(sql, segment.id))?;
            let bytes = keyframe.len() + chunks.iter().map(|(_, entries)| entries.len()).sum::<usize>();
            let fits = self.sql(|sql| Ok(used_bytes(sql)? + bytes as u64 <= bound))?;
            if !fits {
                break;
            }
            let connect = earlier.sql(|sql| {
                let query = "SELECT ifnull((SELECT connect FROM run WHERE id = ?1), '')";
                sql.query_row(query, [segment.run], |row| row.get::<_, String>(0))
            })?;
            self.sql(|sql| put_first(sql, &segment, &connect, &keyframe, &chunks))?;
            began = Some(segment.from.0);
        }
        if let Some(began) = began {
            copy(&mut earlier, self, "gap", &["began_at", "ended_at", "reason"], "began_at", (began, until))?;
            let event = [
                "what",
                "member",
                "epoch",
                "began_after",
                "began_before",
                "ended_after",
                "ended_before",
                "detail",
                "source",
            ];
            copy(&mut earlier, self, "ensemble_event", &event, "began_before", (began, until))?;
            copy(&mut earlier, self, "activity", &["until_at", "events"], "until_at", (began, until))?;
            self.copy_findings(&mut earlier, (began, until))?;
        }
        Ok(began.map(Timestamp))
    }

    fn copy_findings(&mut self, earlier: &mut Store, time: (i64, i64)) -> Result<(), StoreError> {
        let locks = ["path", "name", "recipe", "kind"];
        copy(earlier, self, "lock", &locks, "1", (1, 1))?;
        let columns = ["session", "node", "code", "severity", "raised_at", "cleared_at", "ending", "summary", "remedy"];
        let named = columns.join(", ");
        let select = format!(
            "SELECT lock.path, lock.name, {named} FROM finding JOIN lock ON lock.id = lock_id WHERE raised_at BETWEEN ?1 AND ?2"
        );
        let rows = earlier.sql(|sql| values(sql, &select, columns.len() + 2, time))?;
        let insert = format!(
            "INSERT INTO finding (id, lock_id, {named}) SELECT (SELECT ifnull(min(id), 1) - 1 FROM finding), id,
                ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
             FROM lock WHERE path = ?1 AND ifnull(name, x'') = ifnull(?2, x'')"
        );
        self.sql(|sql| {
            let mut insert = sql.prepare(&insert)?;
            rows.into_iter().try_for_each(|row| insert.execute(rusqlite::params_from_iter(row)).map(drop))
        })
    }
}

/// Returns the segments that end by a time, the latest first.
fn segments(sql: &Connection, until: i64) -> rusqlite::Result<Vec<SegmentInfo>> {
    let query = "SELECT id, run, from_ms, until_ms, entries FROM segment WHERE until_ms <= ?1 ORDER BY id DESC";
    sql.prepare(query)?.query_map([until], segment_info)?.collect()
}

type Chunks = Vec<(i64, Vec<u8>)>;

fn content(sql: &Connection, segment: i64) -> rusqlite::Result<(Vec<u8>, Chunks)> {
    let keyframe = sql.query_row("SELECT state FROM keyframe WHERE segment = ?1", [segment], |row| row.get(0))?;
    let mut chunks = sql.prepare_cached("SELECT number, entries FROM chunk WHERE segment = ?1 ORDER BY number")?;
    let chunks = chunks.query_map([segment], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    Ok((keyframe, chunks))
}

/// Inserts a segment with the smallest id. Its run has the id of the run in the other recording,
/// below those of this one.
fn put_first(
    sql: &mut Connection,
    segment: &SegmentInfo,
    connect: &str,
    keyframe: &[u8],
    chunks: &Chunks,
) -> rusqlite::Result<()> {
    let transaction = sql.transaction()?;
    let run = segment.run.saturating_sub(i64::from(u32::MAX));
    let version = env!("CARGO_PKG_VERSION");
    transaction.execute(
        "INSERT OR IGNORE INTO run (id, connect, version) VALUES (?1, ?2, ?3)",
        params![run, connect, version],
    )?;
    transaction.execute(
        "INSERT INTO segment (id, run, from_ms, until_ms, entries)
         VALUES ((SELECT ifnull(min(id), 1) - 1 FROM segment), ?1, ?2, ?3, ?4)",
        params![run, segment.from.0, segment.until.0, segment.entries],
    )?;
    let id = transaction.last_insert_rowid();
    transaction.execute("INSERT INTO keyframe (segment, state) VALUES (?1, ?2)", params![id, keyframe])?;
    for (number, entries) in chunks {
        let insert = "INSERT INTO chunk (segment, number, entries) VALUES (?1, ?2, ?3)";
        transaction.execute(insert, params![id, number, entries])?;
    }
    transaction.commit()
}

/// Copies the rows of a table whose `by` lies within a time.
fn copy(
    from: &mut Store,
    to: &mut BatchWriter,
    table: &str,
    columns: &[&str],
    by: &str,
    time: (i64, i64),
) -> Result<(), StoreError> {
    let copied = columns.join(", ");
    let select = format!("SELECT {copied} FROM {table} WHERE {by} BETWEEN ?1 AND ?2");
    let rows = from.sql(|sql| values(sql, &select, columns.len(), time))?;
    let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
    let id = format!("(SELECT ifnull(min(id), 1) - 1 FROM {table})");
    let (id, named) = if table == "activity" { (String::new(), copied) } else { (id + ", ", format!("id, {copied}")) };
    let insert = format!("INSERT OR IGNORE INTO {table} ({named}) VALUES ({id}{})", places.join(", "));
    to.sql(|sql| {
        let mut insert = sql.prepare(&insert)?;
        rows.into_iter().try_for_each(|row| insert.execute(rusqlite::params_from_iter(row)).map(drop))
    })
}

type Values = Vec<rusqlite::types::Value>;

fn values(sql: &Connection, select: &str, columns: usize, time: (i64, i64)) -> rusqlite::Result<Vec<Values>> {
    let memory = RowMemory::default();
    let row = |row: &rusqlite::Row<'_>| {
        memory.charge(row)?;
        (0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<Values>>()
    };
    sql.prepare(select)?.query_map(params![time.0, time.1], row)?.collect()
}

//! Checks whether a recording is whole, and says what it covers.
//!
//! Everything is read: the pages and indexes of the database, each keyframe and each entry of the
//! stream with their checksums, and each row of the contenders, which must agree with the
//! keyframes. The rows have no checksums: a changed byte in a text or a time of a row is not seen.
//!
//! The file may be recorded meanwhile. What is deleted by age in between is not missing.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::batch_writer::NOT_WRITTEN;
use super::history::{PastContender, PastGap};
use super::{Past, ReadError, SegmentDamage, SegmentInfo, Store, StoreError, TimedEntry, tables};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{TimeRange, Timestamp, Zxid};
use lockscope_model::queue::LockTable;

/// The most defects that are described; the others are counted.
const MAX_DEFECTS: usize = 100;

/// A contender has a row two writes after it came, and a writer that is killed loses one. So the
/// contenders of a keyframe need rows only if the segment goes on for at least this long.
const MAX_ROW_DELAY: Duration = Duration::from_secs(5);

/// What a recording covers, and what is wrong with it. Made only by [`check_store`], from a look at
/// everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCheck {
    /// The size of the recording in bytes, without the files beside it.
    pub bytes: u64,
    /// What was recorded without a gap, oldest first.
    pub runs: Vec<CheckedRun>,
    /// When nothing was seen, and why; of too many gaps the last ones.
    pub gaps: Vec<PastGap>,
    /// How many contenders have which source: `watched`, `log` or `both`.
    pub sources: Vec<(String, u64)>,
    /// How much was looked at.
    pub looked_at: CheckedParts,
    /// Why the rows were not compared with the stream; `None` if they were.
    pub not_compared: Option<&'static str>,
    /// How much memory a segment takes that was not read because so much is not allowed, in bytes.
    pub needs_memory: Option<u64>,
    /// What is wrong, in the order in which it was found; at most a hundred.
    pub defects: Vec<StoreDefect>,
    /// How many more defects there are.
    pub more_defects: u64,
}

/// A part of a recording without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRun {
    id: i64,
    /// The servers and the chroot.
    pub connect: String,
    /// The version of lockscope that wrote it; `None` where the run is not described.
    pub version: Option<String>,
    /// The time that it covers.
    pub time: TimeRange,
    /// The number of its segments.
    pub segments: u64,
}

/// How much a check looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedParts {
    /// Pages of the database.
    pub pages: u64,
    /// Segments of the stream, each with its keyframe.
    pub segments: u64,
    /// Entries of the stream.
    pub entries: u64,
    /// Rows of contenders.
    pub rows: u64,
    /// Contenders of keyframes that have a row.
    pub compared: u64,
}

/// Something that is wrong with a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreDefect {
    /// What is wrong, as a sentence without a full stop.
    pub what: String,
    /// The time that it concerns; `None` where that is not known.
    pub time: Option<TimeRange>,
}

impl StoreCheck {
    /// Returns whether everything was looked at, and nothing is wrong; `None` if nothing is wrong
    /// with what was looked at.
    pub fn is_whole(&self) -> Option<bool> {
        match (self.not_compared, self.needs_memory) {
            _ if !self.defects.is_empty() => Some(false),
            (None, None) => Some(true),
            _ => None,
        }
    }

    /// Returns the time from the beginning to the end, whatever lies between.
    pub fn span(&self) -> Option<TimeRange> {
        let from = self.runs.iter().map(|run| run.time.from).min()?;
        let to = self.runs.iter().map(|run| run.time.to).max()?;
        Some(TimeRange { from, to })
    }

    fn found(&mut self, what: String, time: Option<TimeRange>) {
        if self.defects.len() < MAX_DEFECTS {
            self.defects.push(StoreDefect { what, time });
        } else {
            self.more_defects += 1;
        }
    }

    /// Returns what was read; a damaged part is a defect.
    fn read<T>(&mut self, what: &str, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(StoreError::Damaged { error, .. }) => {
                self.found(format!("{what} cannot be read: {error}"), None);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Checks a recording. Returns `None` when `should_stop` says so, which is asked between parts.
/// Blocks the thread for as long as reading everything takes; the memory is that of one segment, and
/// of the ids of the contenders that its keyframes show.
///
/// # Errors
///
/// Returns an error if the file is no recording, or cannot be opened at all.
pub fn check_store(path: &Path, should_stop: &dyn Fn() -> bool) -> Result<Option<StoreCheck>, StoreError> {
    check_opened(Store::open(path)?, Past::open(path)?, should_stop)
}

/// Checks an open recording.
pub(super) fn check_opened(
    mut store: Store,
    mut past: Past,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<StoreCheck>, StoreError> {
    let mut check = StoreCheck::default();
    check_pages(&mut check, &mut store)?;
    let gaps = past.gaps();
    check.gaps = check.read("the table of the gaps", gaps)?.unwrap_or_default();
    let bytes = past.bytes();
    check.bytes = check.read("the size", bytes)?.unwrap_or_default();
    let segments = past.segments();
    let segments = check.read("the table of the segments", segments)?.unwrap_or_default();
    if segments.is_empty() && check.defects.is_empty() {
        check.found("nothing was recorded yet".to_owned(), None);
    }
    let (mut stood, mut before) = (FxHashMap::default(), None);
    for segment in segments {
        if should_stop() {
            return Ok(None);
        }
        check_segment(&mut check, &mut past, segment, before, &mut stood)?;
        add_to_runs(&mut check, &mut store, segment)?;
        before = Some(segment);
    }
    check_rows(&mut check, &mut store, stood)?;
    Ok(Some(check))
}

/// Checks the pages, the indexes, and what the rows of the stream refer to.
fn check_pages(check: &mut StoreCheck, store: &mut Store) -> Result<(), StoreError> {
    let pages = store.sql(|sql| sql.pragma_query_value(None, "page_count", |row| row.get(0)));
    check.looked_at.pages = check.read("the number of pages", pages)?.unwrap_or_default();
    let texts = |query: &'static str| {
        move |sql: &mut Connection| -> rusqlite::Result<Vec<String>> {
            sql.prepare(query)?.query_map([], |row| row.get(0))?.collect()
        }
    };
    let found = store.sql(texts("PRAGMA integrity_check(100)"));
    for text in check.read("the database", found)?.unwrap_or_default() {
        if text != "ok" {
            check.found(format!("the database is damaged: {}", text.replace('\n', " ")), None);
        }
    }
    let lacking = store.lacks_of_schema();
    for name in check.read("the schema", lacking)?.unwrap_or_default() {
        check.found(format!("the {name} is missing"), None);
    }
    let orphans = store.sql(texts("SELECT DISTINCT \"table\" FROM pragma_foreign_key_check"));
    for table in check.read("the references of the stream", orphans)?.unwrap_or_default() {
        check.found(format!("rows of {table} belong to no segment or run"), None);
    }
    Ok(())
}

/// The contenders of keyframes that need a row, and the time of the keyframe.
type Stood = FxHashMap<Zxid, Timestamp>;

/// Decodes a segment with its keyframe, and checks that it follows the one before.
fn check_segment(
    check: &mut StoreCheck,
    past: &mut Past,
    segment: SegmentInfo,
    before: Option<SegmentInfo>,
    stood: &mut Stood,
) -> Result<(), StoreError> {
    let time = TimeRange { from: segment.from, to: segment.until };
    if segment.from > segment.until {
        check.found("a segment ends before it begins".to_owned(), Some(time));
    }
    if let Some(before) = before.filter(|before| before.run == segment.run && before.until < segment.from) {
        let missing = TimeRange { from: before.until, to: segment.from };
        check.found("a part of the stream is missing".to_owned(), Some(missing));
    }
    let read = look_at(past, &segment);
    // It may have grown since it was listed, or been deleted by age.
    let listed = past.segment(segment.id);
    let Some(now) = check.read("the table of the segments", listed)?.flatten() else { return Ok(()) };
    match read {
        Ok((rows, entries)) => {
            check.looked_at.segments += 1;
            check.looked_at.entries += entries.len() as u64;
            if entries.len() as u64 > now.entries {
                check.found(format!("a segment has {} entries instead of {}", entries.len(), now.entries), Some(time));
            }
            if entries.iter().any(|entry| entry.at < now.from || entry.at > now.until) {
                check.found("entries lie outside of the time of their segment".to_owned(), Some(time));
            }
            if now.until.since(now.from) >= MAX_ROW_DELAY {
                stood.extend(rows.into_iter().map(|czxid| (czxid, now.from)));
            }
        }
        Err(ReadError::Damaged(SegmentDamage::NeedsMemory(bytes))) => {
            check.needs_memory = check.needs_memory.max(Some(bytes));
        }
        Err(ReadError::Damaged(damage)) => check.found(format!("a segment is damaged: {damage}"), Some(time)),
        Err(ReadError::Store(error)) => check.read("a segment", Err::<(), _>(error)).map(drop)?,
    }
    Ok(())
}

/// Decodes the keyframe of a segment, and then its entries: both at once may take more memory than is
/// allowed. Returns the contenders of the keyframe that have rows, and the entries.
fn look_at(past: &mut Past, segment: &SegmentInfo) -> Result<(Vec<Zxid>, Vec<TimedEntry>), ReadError> {
    let rows = with_rows(&past.keyframe(segment.id)?.table).collect();
    Ok((rows, past.entries(segment)?))
}

/// Returns the creating transactions of contenders that have a row of their own. The row of a
/// semaphore's holder names its lease instead.
fn with_rows(table: &LockTable) -> impl Iterator<Item = Zxid> {
    let locks = table.locks().filter(|lock| lock.kind() != LockKind::Semaphore);
    let rows = locks.flat_map(|lock| lock.rows(0..lock.len()));
    rows.filter(|row| row.contender.is_read()).map(|row| row.contender.czxid)
}

fn add_to_runs(check: &mut StoreCheck, store: &mut Store, segment: SegmentInfo) -> Result<(), StoreError> {
    let time = TimeRange { from: segment.from, to: segment.until };
    if let Some(run) = check.runs.iter_mut().rfind(|run| run.id == segment.run) {
        run.time = TimeRange { from: run.time.from.min(time.from), to: run.time.to.max(time.to) };
        run.segments += 1;
        return Ok(());
    }
    let described = store.sql(|sql| {
        let mut query = sql.prepare_cached("SELECT connect, version FROM run WHERE id = ?1")?;
        query.query_map([segment.run], |row| Ok((row.get(0)?, row.get(1)?)))?.next().transpose()
    });
    let described: Option<(String, String)> = check.read("the table of the runs", described)?.flatten();
    let (connect, version) = described.map(|(connect, version)| (connect, Some(version))).unwrap_or_default();
    check.runs.push(CheckedRun { id: segment.run, connect, version, time, segments: 1 });
    Ok(())
}

/// Conditions that no row meets, and what is wrong with those that do.
const CONTRADICTIONS: [(&str, &str); 3] = [
    (
        "contender WHERE acquired_after > acquired_before OR ended_after > ended_before
            OR (acquired_after IS NULL) <> (acquired_before IS NULL) OR (ended_after IS NULL) <> (ended_before IS NULL)",
        "contenders have times that contradict each other",
    ),
    ("contender WHERE lock_id NOT IN (SELECT id FROM lock)", "contenders belong to no lock"),
    ("gap WHERE ended_at < began_at", "gaps end before they begin"),
];

/// Reads the rows of the contenders, and compares them with those that stood in the keyframes.
fn check_rows(check: &mut StoreCheck, store: &mut Store, mut stood: Stood) -> Result<(), StoreError> {
    let compared = stood.len() as u64;
    let rows = store.sql(|sql| {
        let select = tables::select_contenders(sql)?;
        let (mut statement, mut count, mut unreadable) = (sql.prepare(&select)?, 0_u64, 0_u64);
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            count += 1;
            match PastContender::read(row) {
                Ok(contender) => drop(contender.czxid.and_then(|czxid| stood.remove(&Zxid(czxid)))),
                Err(_) => unreadable += 1,
            }
        }
        Ok((count, unreadable))
    });
    let Some((count, unreadable)) = check.read("the table of the contenders", rows)? else { return Ok(()) };
    check.looked_at.rows = count;
    if unreadable > 0 {
        check.found(format!("{unreadable} rows of contenders cannot be read"), None);
    }
    for (condition, what) in CONTRADICTIONS {
        let query = format!("SELECT count(*) FROM {condition}");
        let wrong = store.sql(|sql| sql.query_row(&query, [], |row| row.get::<_, u64>(0)));
        let wrong = check.read("a table", wrong)?.unwrap_or_default();
        if wrong > 0 {
            check.found(format!("{wrong} {what}"), None);
        }
    }
    let sources = store.sql(|sql| {
        // Older recordings have no such column.
        if !sql.column_exists(None, "contender", "source")? {
            return Ok(vec![("watched".to_owned(), count)]);
        }
        let query = "SELECT ifnull(source, 'watched'), count(*) FROM contender GROUP BY 1 ORDER BY 1";
        sql.prepare(query)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    });
    check.sources = check.read("the table of the contenders", sources)?.unwrap_or_default();
    // The logs of servers correct the rows of a recording that they complete, and not its stream.
    let is_corrected = check.sources.iter().any(|(source, _)| source == "both");
    let are_lost = check.gaps.iter().any(|gap| gap.reason.starts_with(NOT_WRITTEN));
    check.not_compared = match (is_corrected, are_lost) {
        (true, _) => Some("transaction logs have corrected the rows and not the stream"),
        (_, true) => Some("rows were given up while nothing could be written"),
        _ => None,
    };
    if check.not_compared.is_some() {
        return Ok(());
    }
    check.looked_at.compared = compared - stood.len() as u64;
    if let (Some(from), Some(to)) = (stood.values().min(), stood.values().max()) {
        let time = TimeRange { from: *from, to: *to };
        check.found(format!("{} contenders of the stream have no row in the tables", stood.len()), Some(time));
    }
    Ok(())
}

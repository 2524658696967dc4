//! A recording in several files, each of a period: its parts.
//!
//! A recorder that rotates begins another file when a period is over, or when the file is large
//! enough. The name of a part is that of the recording with the time of its beginning:
//! `locks-20261128T000000Z.db` is a part of `locks.db`, and so is `locks.db` itself.
//!
//! Each part is a recording that needs no other. It begins with a keyframe, and its tables begin
//! with the rows of what stands, and of what ended so lately that more may become known of it. So
//! two parts that follow each other share rows: of these, the later part knows more. [`combine`]
//! makes one recording of all parts for those who read them.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use chrono::NaiveDateTime;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::file_identity::dated;
use super::store::{Store, StoreError};
use lockscope_base::znode::{TimeRange, Timestamp};

/// When a recorder begins another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// When a period is over. Periods are counted from 1970-01-01 UTC: that of a day begins at
    /// midnight UTC.
    Every(Duration),
    /// When the file has so many bytes.
    At(u64),
}

impl Rotation {
    /// The shortest period.
    pub const MIN_PERIOD: Duration = Duration::from_secs(60);

    /// Returns whether a file with these bytes that begins at `began` is to be followed by another.
    pub(super) fn is_due(self, began: Timestamp, bytes: u64, now: Timestamp) -> bool {
        match self {
            Self::Every(period) => {
                let period = i64::try_from(period.max(Self::MIN_PERIOD).as_millis()).unwrap_or(i64::MAX);
                now.0.div_euclid(period) > began.0.div_euclid(period)
            }
            Self::At(most) => bytes >= most,
        }
    }
}

/// The most parts of a recording.
const MAX_PARTS: usize = 10_000;

/// Returns the files of a recording: the file itself first, where it exists, and then those with a
/// time in their names, the earliest first.
///
/// # Errors
///
/// Returns an error if an entry of the folder cannot be read, or there are more than 10,000 parts.
pub fn parts_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let itself = path.is_file().then(|| path.to_owned());
    let mut dated_parts = Vec::new();
    // A user who may not list the folder may still read the file, whose own errors say more.
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let name = entry?.file_name();
        if let Some(at) = name.to_str().and_then(|name| dated(path, name)) {
            dated_parts.push((at, path.with_file_name(&name)));
        }
        if dated_parts.len() > MAX_PARTS {
            return Err(io::Error::other("the folder has too many parts of this recording"));
        }
    }
    dated_parts.sort();
    Ok(itself.into_iter().chain(dated_parts.into_iter().map(|(_, part)| part)).collect())
}

/// Returns when a part of a recording begins, according to its name.
pub(super) fn begin_of(path: &Path, part: &Path) -> Option<Timestamp> {
    let (time, _) = dated(path, part.file_name()?.to_str()?)?;
    let time = NaiveDateTime::parse_from_str(&time, "%Y%m%dT%H%M%SZ").ok()?;
    Some(Timestamp(time.and_utc().timestamp_millis()))
}

/// Returns the recording that a file is a part of, if the name of the file has a time.
pub fn recording_of(part: &Path) -> Option<PathBuf> {
    let name = part.file_name()?.to_str()?;
    // The time, and a number behind it, are the last one or two pieces of the name.
    let cuts = part.file_stem()?.to_str()?.rmatch_indices('-').take(2);
    let end = part.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    let mut wholes = cuts.map(|(at, _)| part.with_file_name(format!("{}{end}", &name[..at])));
    wholes.find(|whole| dated(whole, name).is_some())
}

/// How long rows stay of what has ended: so long after it, an audit log may explain the end.
const CARRIED_FOR_MS: i64 = 3_600_000;

/// The rows of a part that the next one begins with, by table.
const CARRIED: [(&str, &str); 9] = [
    ("run", "id = (SELECT max(id) FROM part.run)"),
    ("recording", "id = (SELECT max(id) FROM part.recording)"),
    ("contender", "ifnull(ended_before, 9223372036854775807) >= ?1"),
    ("finding", "ifnull(cleared_at, 9223372036854775807) >= ?1"),
    ("gap", "ifnull(ended_at, 9223372036854775807) >= ?1"),
    ("ensemble_event", "ifnull(ended_before, 9223372036854775807) >= ?1"),
    ("lock", "id IN (SELECT lock_id FROM main.contender UNION SELECT lock_id FROM main.finding)"),
    ("session", "session IN (SELECT session FROM main.contender)"),
    (
        "client",
        "id IN (SELECT client_id FROM main.contender UNION SELECT client_id FROM main.finding
            UNION SELECT client_id FROM main.session)",
    ),
];

/// Begins an empty part with what the part before it leaves: the rows of what stands, and the
/// numbers of the next run and segment.
pub(super) fn carry_over(from: &Path, to: &mut Store, now: Timestamp) -> Result<(), StoreError> {
    let ended_since = now.0.saturating_sub(CARRIED_FOR_MS);
    with_part(to, from, |sql| {
        let transaction = sql.transaction()?;
        for (table, condition) in CARRIED {
            // Not every condition has the time, and each statement must.
            insert(&transaction, table, &[], &format!("WHERE {condition} AND ?1 = ?1"), [ended_since])?;
        }
        transaction.execute_batch(
            "DELETE FROM main.sqlite_sequence;
             INSERT INTO main.sqlite_sequence (name, seq) SELECT name, seq FROM part.sqlite_sequence;",
        )?;
        transaction.commit()
    })
}

/// Runs `act` while another recording is attached as `part`.
fn with_part<T>(
    store: &mut Store,
    part: &Path,
    act: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    store.sql(|sql| {
        sql.execute("ATTACH ?1 AS part", [part.to_string_lossy()])?;
        let done = act(sql);
        let detached = sql.execute_batch("DETACH part");
        let done = done?;
        detached.map(|()| done)
    })
}

/// What of the parts is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combined {
    /// The tables, for a history or a report.
    Tables,
    /// The tables, and the stream of a time.
    Stream(TimeRange),
}

/// Makes one recording of parts in a new file, which nobody else reads meanwhile. The parts may be
/// recorded meanwhile: they are taken as they are. Takes as much room as what is copied, and blocks
/// the thread for as long as that takes.
///
/// # Errors
///
/// Returns an error if a part cannot be read, or the file cannot be written.
pub fn combine(parts: &[PathBuf], target: &Path, what: Combined) -> Result<(), StoreError> {
    let mut order = Vec::new();
    for part in parts {
        // This refuses what is no recording, before it is attached.
        let mut store = Store::open(part)?;
        let first: Option<i64> =
            store.sql(|sql| sql.query_row("SELECT min(from_ms) FROM segment", [], |row| row.get(0)))?;
        order.extend(first.map(|first| (first, part)));
    }
    order.sort();
    let mut whole = Store::create(target, false)?;
    whole.is_for_nobody_else();
    whole.sql(|sql| sql.pragma_update(None, "synchronous", "OFF"))?;
    let mut of_run = 0;
    for (_, part) in order {
        of_run = with_part(&mut whole, part, |sql| add(sql, what, of_run))?;
    }
    Ok(())
}

/// Adds the attached part. Returns by how much the numbers of its runs rose.
fn add(sql: &mut Connection, what: Combined, of_run: i64) -> rusqlite::Result<i64> {
    let transaction = sql.transaction()?;
    transaction.execute_batch(NAMES)?;
    for SharedRows { table, same, .. } in SHARED {
        if transaction.table_exists(Some("part"), table)? {
            transaction.execute_batch(&format!(
                "DELETE FROM main.{table} WHERE EXISTS (SELECT 1 FROM part.{table} AS p
                    WHERE p.id = main.{table}.id AND p.{same} = main.{table}.{same})"
            ))?;
        }
    }
    for SharedRows { table, replaced, .. } in SHARED {
        let by = shift(&transaction, table)?;
        insert(&transaction, table, &[&[("id", "p.id + ?1")], replaced].concat(), "", [by])?;
    }
    insert(&transaction, "coverage", &[("id", "NULL")], "", [])?;
    insert(&transaction, "attempt", &[("id", "NULL")], "", [])?;
    insert(&transaction, "deletion", &[("id", "NULL")], "", [])?;
    insert(&transaction, "activity", &[], "", [])?;
    insert(&transaction, "session", &[("client_id", CLIENT)], "", [])?;
    let of_run = add_stream(&transaction, what, of_run)?;
    transaction.execute_batch("DROP TABLE temp.lock_of; DROP TABLE temp.client_of")?;
    transaction.commit()?;
    Ok(of_run)
}

/// Adds the locks and clients, which are known by their names, and finds their ids.
const NAMES: &str = "
INSERT INTO main.lock (path, name, recipe, kind) SELECT path, name, recipe, kind FROM part.lock WHERE true
    ON CONFLICT (path, ifnull(name, x'')) DO UPDATE SET recipe = excluded.recipe, kind = excluded.kind;
INSERT OR IGNORE INTO main.client (address, name) SELECT address, name FROM part.client;
CREATE TEMP TABLE lock_of (part_id INTEGER PRIMARY KEY, id INTEGER);
INSERT INTO temp.lock_of SELECT p.id, m.id FROM part.lock AS p
    JOIN main.lock AS m ON m.path = p.path AND ifnull(m.name, x'') = ifnull(p.name, x'');
CREATE TEMP TABLE client_of (part_id INTEGER PRIMARY KEY, id INTEGER);
INSERT INTO temp.client_of SELECT p.id, m.id FROM part.client AS p
    JOIN main.client AS m ON ifnull(m.address, x'') = ifnull(p.address, x'') AND ifnull(m.name, x'') = ifnull(p.name, x'');
";

const LOCK: &str = "(SELECT id FROM temp.lock_of WHERE part_id = p.lock_id)";
const CLIENT: &str = "(SELECT id FROM temp.client_of WHERE part_id = p.client_id)";

/// A table whose rows may be in two parts.
struct SharedRows {
    table: &'static str,
    /// The column by which two rows with one id are the same: it never changes. A recorder that starts
    /// again may give ids that earlier parts have, too.
    same: &'static str,
    /// Columns that name other rows, and their values.
    replaced: &'static [(&'static str, &'static str)],
}

const NAMED: &[(&str, &str)] = &[("lock_id", LOCK), ("client_id", CLIENT)];

const SHARED: [SharedRows; 5] = [
    SharedRows { table: "contender", same: "first_seen_at", replaced: NAMED },
    SharedRows { table: "finding", same: "raised_at", replaced: NAMED },
    SharedRows { table: "gap", same: "began_at", replaced: &[] },
    SharedRows { table: "ensemble_event", same: "began_before", replaced: &[] },
    SharedRows { table: "recording", same: "began_at", replaced: &[] },
];

/// Returns by how much the ids of a part's rows must rise, so that each is of one row.
fn shift(sql: &Connection, table: &str) -> rusqlite::Result<i64> {
    let clash = format!("SELECT EXISTS (SELECT 1 FROM part.{table} AS p JOIN main.{table} AS m ON m.id = p.id)");
    if !sql.table_exists(Some("part"), table)? || !sql.query_row(&clash, [], |row| row.get::<_, bool>(0))? {
        return Ok(0);
    }
    let ends = format!("SELECT (SELECT max(id) FROM main.{table}) - (SELECT min(id) FROM part.{table}) + 1");
    sql.query_row(&ends, [], |row| row.get(0))
}

/// Copies the rows of a table that both files have, with the columns that both have. Rows that have a
/// key of the table already replace the others.
fn insert<const N: usize>(
    sql: &Connection,
    table: &str,
    replaced: &[(&str, &str)],
    condition: &str,
    values: [i64; N],
) -> rusqlite::Result<()> {
    let columns = |schema: &str| -> rusqlite::Result<Vec<String>> {
        sql.prepare(&format!("SELECT name FROM pragma_table_info('{table}', '{schema}')"))?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    let theirs = columns("part")?;
    let names: Vec<String> = columns("main")?.into_iter().filter(|name| theirs.contains(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let value = |name: &String| {
        let value = replaced.iter().find(|(column, _)| column == name).map(|(_, value)| (*value).to_owned());
        value.unwrap_or_else(|| format!("p.{name}"))
    };
    let selected: Vec<String> = names.iter().map(value).collect();
    let (names, selected) = (names.join(", "), selected.join(", "));
    sql.execute(
        &format!("REPLACE INTO main.{table} ({names}) SELECT {selected} FROM part.{table} AS p {condition}"),
        params_from_iter(values),
    )?;
    Ok(())
}

/// Adds the segments, with their content where it is wanted. The numbers of the runs rise by `of_run`
/// where a run goes on. Returns by how much they rose.
fn add_stream(sql: &Connection, what: Combined, of_run: i64) -> rusqlite::Result<i64> {
    let number = |query: &str| sql.query_row(query, [], |row| row.get::<_, Option<i64>>(0));
    let (until, from) =
        (number("SELECT max(until_ms) FROM main.segment")?, number("SELECT min(from_ms) FROM part.segment")?);
    let run = |query| sql.query_row(query, [], |row| row.get::<_, i64>(0)).optional();
    let ended = run("SELECT run FROM main.segment ORDER BY id DESC LIMIT 1")?;
    let begins = run("SELECT run FROM part.segment ORDER BY id LIMIT 1")?;
    // A run goes on in the next part only if that begins where this one ends: else a part is missing.
    let goes_on = until == from && ended == begins.and_then(|run| run.checked_add(of_run));
    let of_run = if goes_on { of_run } else { shift(sql, "run")? };
    let (of_segment, TimeRange { from, to }) = (
        shift(sql, "segment")?,
        match what {
            Combined::Tables => TimeRange { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) },
            Combined::Stream(time) => time,
        },
    );
    let within = "WHERE p.id IN (SELECT run FROM part.segment WHERE until_ms >= ?2 AND from_ms <= ?3)";
    insert(sql, "run", &[("id", "p.id + ?1")], within, [of_run, from.0, to.0])?;
    let within = "WHERE p.until_ms >= ?3 AND p.from_ms <= ?4";
    let ids = [("id", "p.id + ?1"), ("run", "p.run + ?2")];
    insert(sql, "segment", &ids, within, [of_segment, of_run, from.0, to.0])?;
    if what == Combined::Tables {
        return Ok(of_run);
    }
    let within = "WHERE p.segment IN (SELECT id FROM part.segment WHERE until_ms >= ?2 AND from_ms <= ?3)";
    for table in ["keyframe", "keyframe_piece", "chunk"] {
        insert(sql, table, &[("segment", "p.segment + ?1")], within, [of_segment, from.0, to.0])?;
    }
    Ok(of_run)
}

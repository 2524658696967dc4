//! An in-memory ensemble whose changes are recorded into in-memory tables.

use rusqlite::Connection;

use crate::fixture::{TableFixture, surveyed};
use crate::record::tables::{TableRecorder, TableRows, TableWriter};
use crate::testing::{connected, deleted, lost};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::{Change, Happening, LockTable};

pub struct RecordedFixture {
    pub ensemble: TableFixture,
    pub connection: Connection,
    pub tables: TableRecorder,
    pub writer: TableWriter,
    pub happenings: Vec<Happening>,
}

/// A row of `contender`: when it came, acquired and ended, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub node: String,
    pub enqueued_at: Option<i64>,
    pub acquired: Option<(i64, i64)>,
    pub ended: Option<(i64, i64)>,
    pub ending: String,
}

impl RecordedFixture {
    pub fn new() -> Self {
        Self::with(TableFixture::new(), false)
    }

    pub fn with(mut ensemble: TableFixture, no_data: bool) -> Self {
        ensemble.apply(surveyed(Vec::new(), ensemble.now));
        let connection = Connection::open_in_memory().expect("a database in memory");
        super::super::create(&connection).expect("tables");
        let mut tables = TableRecorder::resume(&connection, no_data).expect("a recorder");
        tables.happened(&[], &ensemble.table, ensemble.now);
        Self { ensemble, connection, tables, writer: TableWriter::default(), happenings: Vec::new() }
    }

    pub fn apply(&mut self, change: Change) -> Timestamp {
        let happenings = self.ensemble.apply(change);
        self.tables.happened(&happenings, &self.ensemble.table, self.ensemble.now);
        self.happenings.extend(happenings);
        self.ensemble.now
    }

    pub fn create(&mut self, prefix: &str, session: i64) -> (ZnodePath, Timestamp) {
        let path = self.ensemble.put_numbered(prefix, session);
        let at = self.apply(self.ensemble.observed(&path));
        (path, at)
    }

    pub fn delete(&mut self, path: &ZnodePath) -> Timestamp {
        self.ensemble.tree.remove(path);
        self.apply(deleted(path))
    }

    pub fn pass(&mut self, ms: i64) {
        self.ensemble.now.0 += ms;
    }

    /// Loses the connection. Returns the last time at which everything was seen.
    pub fn cut(&mut self) -> Timestamp {
        let seen = self.ensemble.table.last_true().expect("it was live");
        self.apply(lost());
        seen
    }

    /// Reads everything again. Returns the time at which that was done.
    pub fn read_again(&mut self) -> Timestamp {
        for change in [connected()].into_iter().chain(self.ensemble.walk()) {
            self.apply(change);
        }
        self.ensemble.now
    }

    pub fn flush(&mut self) {
        let rows = self.tables.take_rows(&self.ensemble.table, self.ensemble.now, false);
        self.write(&rows);
    }

    pub fn finish(&mut self) {
        let rows = self.tables.take_rows(&self.ensemble.table, self.ensemble.now, true);
        self.write(&rows);
    }

    fn write(&mut self, rows: &TableRows) {
        let transaction = self.connection.transaction().expect("a transaction");
        self.writer.write(&transaction, rows).expect("written");
        transaction.commit().expect("committed");
    }

    /// Kills the recorder and starts it again: it knows nothing but the file, and reads everything.
    pub fn restart(&mut self) -> Timestamp {
        self.tables = TableRecorder::resume(&self.connection, false).expect("a recorder");
        self.ensemble.table = LockTable::new([]);
        self.read_again()
    }

    pub fn rows(&self) -> Vec<Row> {
        let query = "SELECT node, enqueued_at, acquired_after, acquired_before, ended_after, ended_before, ending
            FROM contender ORDER BY id";
        let mut statement = self.connection.prepare(query).expect("a query");
        let rows = statement.query_map([], |row| {
            let bounds = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.zip(row.get(at + 1)?));
            Ok(Row {
                node: row.get(0)?,
                enqueued_at: row.get(1)?,
                acquired: bounds(2)?,
                ended: bounds(4)?,
                ending: row.get(6)?,
            })
        });
        rows.expect("rows").collect::<Result<_, _>>().expect("rows")
    }

    pub fn texts(&self, query: &str) -> Vec<String> {
        let mut statement = self.connection.prepare(query).expect("a query");
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).expect("rows");
        rows.map(|row| row.expect("a row").unwrap_or_else(|| "null".to_owned())).collect()
    }
}

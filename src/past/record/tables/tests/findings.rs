//! Findings in the tables.

use std::sync::Arc;

use rusqlite::Connection;

use crate::fixture::TableFixture;
use crate::record::tables::{TableRecorder, TableWriter};
use crate::testing::{lost, path};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Code, Finding, FindingChanges, Severity};
use lockscope_model::queue::{ClientIdentity, LockId, LockName};

fn finding(severity: Severity) -> Finding {
    Finding {
        code: Code::Stuck,
        severity,
        lock: LockName { id: LockId(0), path: path("/a"), name: None },
        node: Some("lock-0000000000".into()),
        client: Some(ClientIdentity { name: Some("worker-3".into()), ..ClientIdentity::default() }.into()),
        summary: "worker-3 holds it".to_owned(),
        remedy: "look at it".into(),
        muted: None,
    }
}

struct FindingsFixture {
    ensemble: TableFixture,
    connection: Connection,
    tables: TableRecorder,
}

impl FindingsFixture {
    fn new(no_data: bool) -> Self {
        let mut ensemble = TableFixture::new();
        ensemble.create("/a/lock-", 1);
        let connection = Connection::open_in_memory().unwrap();
        super::super::create(&connection).unwrap();
        let tables = TableRecorder::resume(&connection, no_data).unwrap();
        Self { ensemble, connection, tables }
    }

    fn changed(&mut self, raised: &[Finding], cleared: &[Finding], at: i64) {
        let shared = |findings: &[Finding]| findings.iter().cloned().map(Arc::new).collect();
        let changes = FindingChanges { raised: shared(raised), cleared: shared(cleared), muted: Vec::new() };
        self.tables.findings_changed(&changes, &self.ensemble.table, Timestamp(at));
        let rows = self.tables.take_rows(&self.ensemble.table, Timestamp(at), false);
        let transaction = self.connection.transaction().unwrap();
        TableWriter::default().write(&transaction, &rows).unwrap();
        transaction.commit().unwrap();
    }

    fn rows(&self) -> Vec<String> {
        let query = "SELECT severity || ' ' || raised_at || ' ' || ifnull(cleared_at, '-') || ' ' || ending || ' ' || summary FROM finding";
        let mut statement = self.connection.prepare(query).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

#[test]
fn a_finding_is_open_until_it_is_cleared_and_keeps_its_worst_severity() {
    let mut fixture = FindingsFixture::new(false);
    fixture.changed(&[finding(Severity::Warning)], &[], 100);
    assert_eq!(fixture.rows(), ["warning 100 - open worker-3 holds it"]);
    fixture.changed(&[finding(Severity::Critical)], &[], 200);
    fixture.changed(&[], &[finding(Severity::Critical)], 300);
    fixture.changed(&[finding(Severity::Info)], &[], 400);
    assert_eq!(fixture.rows(), ["critical 100 300 cleared worker-3 holds it", "info 400 - open worker-3 holds it"]);
    // The next run does not know whether the finding is still open.
    drop(TableRecorder::resume(&fixture.connection, false).unwrap());
    assert!(fixture.rows()[1].contains(" unknown "), "{:?}", fixture.rows());
}

#[test]
fn without_a_connection_no_finding_is_cleared() {
    let mut fixture = FindingsFixture::new(false);
    fixture.changed(&[finding(Severity::Warning)], &[], 100);
    fixture.ensemble.apply(lost());
    let seen = fixture.ensemble.table.last_true().unwrap().0;
    fixture.changed(&[], &[finding(Severity::Warning)], seen + 9_000);
    assert_eq!(fixture.rows(), [format!("warning 100 {seen} unknown worker-3 holds it")]);
}

#[test]
fn without_data_a_sentence_does_not_name_a_client_by_its_data() {
    let mut fixture = FindingsFixture::new(true);
    fixture.changed(&[finding(Severity::Warning)], &[], 100);
    assert_eq!(fixture.rows(), ["warning 100 - open (name not recorded) holds it"]);
}

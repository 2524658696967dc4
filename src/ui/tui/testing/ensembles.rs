//! A console of several ensembles: one that is well, one with findings, one that cannot be reached.

use std::sync::Arc;

use super::{NOW, settings};
use crate::testing::{lost, reading, table};
use crate::tui::app::{
    App, EnsembleReport, EnsembleRow, Event, FoundLocks, KnownContext, KnownFindings, Settings, WatchedEnsembles,
};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, EnsembleClaims, TableAt, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_model::summary::{ChangeRate, EnsembleSummary};

/// A node that nobody will ever release.
pub fn orphan(lock: &str) -> Change {
    let node = format!("{lock}/_c_00000000-0000-4000-8000-000000000001-lock-0000000001");
    let Change::Seen { path, mut node } = super::seen(&node, 7, super::ago(600), b"worker-7") else {
        unreachable!("seen makes Seen")
    };
    node.stat.ephemeral_owner = None;
    Change::Seen { path, node }
}

/// Summarizes a table as of a time, looking for findings first.
pub fn summary(table: &LockTable, now: Timestamp) -> EnsembleSummary {
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    diagnosis.examine(table, now);
    EnsembleSummary::new(table, &diagnosis, &ChangeRate::default(), None, now)
}

pub fn report(name: &str, table: &LockTable, now: Timestamp) -> EnsembleReport {
    let claims = EnsembleClaims::of(TableAt::new(table, now));
    EnsembleReport {
        name: name.into(),
        summary: summary(table, now),
        found: FoundLocks::default(),
        noted: Arc::default(),
        claims,
    }
}

/// The settings of a console of several ensembles, with one of them open or none.
pub fn of_several(open: Option<&str>) -> Settings {
    let context = |name: &str, production| KnownContext { name: name.to_owned(), production };
    let contexts = vec![context("dev", false), context("prod-eu", true), context("prod-us", true)];
    Settings { context: open.map(str::to_owned), contexts, ..settings() }
}

fn row(name: &str, connect: &str) -> EnsembleRow {
    EnsembleRow {
        name: Arc::from(name),
        connect: connect.to_owned(),
        production: name.starts_with("prod"),
        trouble: None,
        summary: None,
        news: 0,
        troubles: 0,
        known: KnownFindings::default(),
        found: FoundLocks::default(),
    }
}

/// A console whose list has the three ensembles, of which nothing is known yet.
pub fn unknown(size: (u16, u16)) -> App {
    let rows = [row("dev", "dev1:2181"), row("prod-eu", "zk1,zk2,zk3:2181/prod"), row("prod-us", "us1:2181")];
    App::new(of_several(None), size, NOW).with_ensembles(Box::new(WatchedEnsembles::new(rows)))
}

/// What the three ensembles report: `dev` is well, `prod-eu` has an orphan, and `prod-us` gives no
/// connection.
pub fn reports() -> Vec<EnsembleReport> {
    let well = table(super::ensemble().into_iter().filter(|change| matches!(change, Change::Seen { .. })).take(4), NOW);
    let waiter = super::curator("/locks/billing", 2, 9, 300);
    let mut unreachable = LockTable::new([]);
    let reason = Some("us1:2181 refused the connection: check the port, and that the server runs".to_owned());
    let refused = ConnectionState::Connecting { attempt: 3, reason, next_try: Some(NOW) };
    unreachable.apply(Change::Connection(refused), NOW);
    vec![
        report("dev", &well, NOW),
        report("prod-eu", &table([orphan("/locks/billing"), waiter, orphan("/locks/orders")], NOW), NOW),
        report("prod-us", &unreachable, NOW),
    ]
}

/// A console of three ensembles that have reported.
pub fn three(size: (u16, u16)) -> App {
    let mut app = unknown(size);
    app.update(Event::EnsemblesReported(reports()), NOW);
    app
}

/// A table that was in step with an orphan, and whose connection is lost since.
pub fn cut_off() -> LockTable {
    let mut cut = LockTable::new([]);
    reading([orphan("/locks/billing")]).for_each(|change| drop(cut.apply(change, NOW)));
    cut.apply(lost(), NOW);
    cut
}

//! The ensembles that the console watches at once: a row for each, and what happened in all of
//! them.

mod events;
mod order;
mod row;

use std::sync::Arc;

use self::events::EventLog;
pub use self::events::{EnsembleEvent, EnsembleNews};
pub use self::order::EnsembleOrder;
pub use self::row::EnsembleRow;
use super::cursor::Rows;
use super::filter::Filter;
use super::list::Sorting;
use lockscope_model::summary::{ChangeRate, EnsembleSummary};

/// A summary of the ensemble with that name.
#[derive(Clone, Debug)]
pub struct EnsembleReport {
    pub name: Arc<str>,
    pub summary: EnsembleSummary,
}

/// The ensembles that the console watches, in order.
#[derive(Clone, Debug, Default)]
pub struct WatchedEnsembles {
    rows: Vec<EnsembleRow>,
    /// The positions in `rows` of those that pass the filter, in the shown order.
    order: Vec<usize>,
    sorting: Sorting<EnsembleOrder>,
    filter: Filter,
    events: EventLog,
    /// The name of the ensemble that is open.
    open: Option<Arc<str>>,
    /// The changes of the open ensemble.
    changes: ChangeRate,
    /// The ensemble that the user asked to open.
    wanted: Option<Arc<str>>,
}

impl WatchedEnsembles {
    /// Ensembles of which nothing is known yet.
    pub fn new(rows: impl IntoIterator<Item = EnsembleRow>) -> Self {
        let mut ensembles = Self { rows: rows.into_iter().collect(), ..Self::default() };
        ensembles.arrange();
        ensembles
    }

    /// Takes the latest summaries.
    pub fn take(&mut self, reports: Vec<EnsembleReport>) {
        for EnsembleReport { name, summary } in reports {
            let is_open = self.open.as_ref() == Some(&name);
            if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
                let news = self.events.compare(&name, row.summary.as_ref(), &summary);
                row.news = if is_open { 0 } else { row.news.saturating_add(news) };
                row.summary = Some(summary);
            }
        }
        self.arrange();
    }

    /// Says which ensemble is open. What is new there counts as seen, and its options are good.
    pub fn opened(&mut self, name: Option<&str>) {
        self.changes = ChangeRate::default();
        self.open = name.and_then(|name| self.rows.iter().find(|row| *row.name == *name)).map(|row| row.name.clone());
        if let Some(row) = self.rows.iter_mut().find(|row| Some(&row.name) == self.open.as_ref()) {
            row.news = 0;
            row.trouble = None;
        }
    }

    /// The name of the open ensemble; `None` when none of them is open.
    pub fn open(&self) -> Option<&Arc<str>> {
        self.open.as_ref()
    }

    /// The changes of the open ensemble.
    pub(super) fn changes_mut(&mut self) -> &mut ChangeRate {
        &mut self.changes
    }

    pub(super) fn changes(&self) -> &ChangeRate {
        &self.changes
    }

    /// Asks to open an ensemble.
    pub(super) fn want(&mut self, name: Arc<str>) {
        self.wanted = Some(name);
    }

    pub(super) fn take_wanted(&mut self) -> Option<Arc<str>> {
        self.wanted.take()
    }

    /// The number of ensembles, whether they pass the filter or not.
    pub fn all(&self) -> usize {
        self.rows.len()
    }

    /// Every ensemble, whether it passes the filter or not.
    pub fn each(&self) -> impl Iterator<Item = &EnsembleRow> {
        self.rows.iter()
    }

    /// The ensembles that pass the filter, in order.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &EnsembleRow> {
        self.order.iter().map(|at| &self.rows[*at])
    }

    pub fn row(&self, rank: usize) -> Option<&EnsembleRow> {
        self.rows.get(*self.order.get(rank)?)
    }

    pub fn named(&self, name: &str) -> Option<&EnsembleRow> {
        self.rows.iter().find(|row| *row.name == *name)
    }

    /// What happened, the oldest first, in the ensembles that pass the filter.
    pub fn events(&self) -> impl Iterator<Item = &EnsembleEvent> {
        let passes = |event: &&EnsembleEvent| {
            self.filter.is_empty() || self.named(&event.ensemble).is_some_and(|row| row.passes(&self.filter))
        };
        self.events.each().filter(passes)
    }

    pub fn sorting(&self) -> Sorting<EnsembleOrder> {
        self.sorting
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn sort(&mut self, sorting: Sorting<EnsembleOrder>) {
        self.sorting = sorting;
        self.arrange();
    }

    pub(super) fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.arrange();
    }

    fn arrange(&mut self) {
        let (rows, filter) = (&self.rows, &self.filter);
        self.order = (0..rows.len()).filter(|at| rows[*at].passes(filter)).collect();
        let sorting = self.sorting;
        self.order.sort_by(|one, other| order::compare(&rows[*one], &rows[*other], sorting));
    }
}

impl Rows<Arc<str>> for WatchedEnsembles {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn rank(&self, id: &Arc<str>) -> Option<usize> {
        self.order.iter().position(|at| self.rows[*at].name == *id)
    }

    fn id(&self, rank: usize) -> Option<Arc<str>> {
        self.row(rank).map(|row| row.name.clone())
    }
}

#[cfg(test)]
mod tests;

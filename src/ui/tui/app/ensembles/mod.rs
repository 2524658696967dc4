//! The ensembles that the console watches at once: a row for each, and what happened in all of
//! them.

mod events;
mod found;
mod order;
mod row;

use std::sync::Arc;

use self::events::EventLog;
pub use self::events::{EnsembleEvent, EnsembleNews};
pub use self::found::FoundLocks;
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
    /// The locks that pass the filter of the list.
    pub found: FoundLocks,
}

/// Where a lock that was looked for is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// In that ensemble alone.
    In(Arc<str>),
    /// In so many ensembles.
    InSeveral(usize),
    /// In none of those that can be seen; so many others cannot.
    Nowhere(usize),
}

/// What to show of an ensemble that is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenWith {
    /// The locks that pass a filter.
    Filter(Filter),
    /// The lock at a path.
    Lock(String),
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
    /// What to show there.
    open_with: Option<OpenWith>,
    /// The filter about which the ensembles were asked last.
    asked: Filter,
    /// Whether the filter is the path of a lock that is to be opened.
    is_sought: bool,
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
        for EnsembleReport { name, summary, found } in reports {
            let is_open = self.open.as_ref() == Some(&name);
            if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
                let news = self.events.compare(&name, row.summary.as_ref(), &summary);
                row.news = if is_open { 0 } else { row.news.saturating_add(news) };
                (row.summary, row.found) = (Some(summary), found);
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

    /// Asks to open an ensemble: with the filter of the list, if that is about its locks.
    pub(super) fn want(&mut self, name: Arc<str>) {
        let row = self.named(&name).filter(|row| row.is_about_locks(&self.filter));
        let with = row.map(|_| OpenWith::Filter(self.filter.clone()));
        self.want_with(name, with);
    }

    /// Returns whether ensembles that can be seen have not answered yet whether their locks pass the
    /// filter.
    pub fn is_looking(&self) -> bool {
        !self.filter.is_empty() && self.rows.iter().any(|row| row.is_live() && !row.found.answers(&self.filter))
    }

    /// Looks for a lock at a path: filters the list by it.
    pub(super) fn seek(&mut self, path: &str) {
        self.set_filter(Filter::new(path));
        self.is_sought = true;
    }

    /// Returns where the lock is that is looked for, once every ensemble has answered, and ends the
    /// search. A filter that was typed meanwhile ends it, too.
    pub(super) fn take_sought(&mut self) -> Option<Sought> {
        let filter = &self.filter;
        // An ensemble whose options are wrong never answers.
        let mut asked = self.rows.iter().filter(|row| row.trouble.is_none());
        if !self.is_sought || !asked.all(|row| row.found.answers(filter)) {
            return None;
        }
        self.is_sought = false;
        let mut having = self.rows.iter().filter(|row| row.found.has_path(&self.filter));
        Some(match (having.next(), having.count()) {
            (None, _) => Sought::Nowhere(self.rows.iter().filter(|row| !row.is_live()).count()),
            (Some(row), 0) => Sought::In(Arc::clone(&row.name)),
            (Some(_), more) => Sought::InSeveral(more + 1),
        })
    }

    /// Asks to open an ensemble, and says what to show there.
    pub(super) fn want_with(&mut self, name: Arc<str>, with: Option<OpenWith>) {
        (self.wanted, self.open_with) = (Some(name), with);
    }

    /// Takes what to show of the ensemble that is opened.
    pub(super) fn take_open_with(&mut self) -> Option<OpenWith> {
        self.open_with.take()
    }

    /// Returns the filter if it is another one than last time.
    pub(super) fn take_changed_filter(&mut self) -> Option<Filter> {
        let is_changed = self.asked != self.filter;
        is_changed.then(|| {
            self.asked.clone_from(&self.filter);
            self.filter.clone()
        })
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
        (self.filter, self.is_sought) = (filter, false);
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

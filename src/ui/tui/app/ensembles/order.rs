//! The order of ensembles.

use std::cmp::{Ordering, Reverse};
use std::time::Duration;

use super::row::EnsembleRow;
use crate::tui::app::list::{Directed, Sorting};
use lockscope_model::summary::EnsembleSummary;

/// A column that Ensembles can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EnsembleOrder {
    /// The worst first: locks that will never be granted again, then ensembles that cannot be seen,
    /// then warnings.
    #[default]
    Worst,
    /// By name, ascending.
    Ensemble,
    /// Those that cannot be seen first.
    State,
    Locks,
    Contenders,
    /// The ensemble with the longest wait first.
    Longest,
    Findings,
    Changes,
    /// The most news first.
    New,
}

/// Compares two ensembles. The name decides between those that are equal otherwise.
pub(super) fn compare(one: &EnsembleRow, other: &EnsembleRow, sorting: Sorting<EnsembleOrder>) -> Ordering {
    let by = |Directed { by, reversed }: Directed<EnsembleOrder>| {
        let ordering = compare_by(by, one, other);
        if reversed { ordering.reverse() } else { ordering }
    };
    by(sorting.first).then_with(|| sorting.then.map_or(Ordering::Equal, by)).then_with(|| one.name.cmp(&other.name))
}

/// The sort key of the default order.
fn badness(row: &EnsembleRow) -> (u8, usize, usize, Option<Duration>) {
    match (&row.trouble, &row.summary) {
        (None, Some(summary)) => summary.badness(),
        // An ensemble whose options are wrong cannot be seen.
        (Some(_), _) => (4, 0, 0, None),
        (None, None) => (2, 0, 0, None),
    }
}

fn compare_by(order: EnsembleOrder, one: &EnsembleRow, other: &EnsembleRow) -> Ordering {
    let most = |figure: fn(&EnsembleSummary) -> usize| {
        let of = |row: &EnsembleRow| Reverse(row.summary.as_ref().map(figure));
        of(one).cmp(&of(other))
    };
    match order {
        EnsembleOrder::Worst => badness(other).cmp(&badness(one)),
        EnsembleOrder::Ensemble => one.name.cmp(&other.name),
        EnsembleOrder::State => other.state().cmp(&one.state()),
        EnsembleOrder::Locks => most(|summary| summary.locks),
        EnsembleOrder::Contenders => most(|summary| summary.contenders),
        EnsembleOrder::Longest => {
            let of = |row: &EnsembleRow| row.summary.as_ref().and_then(|summary| summary.longest_wait);
            of(other).cmp(&of(one))
        }
        EnsembleOrder::Findings => {
            let of = |row: &EnsembleRow| {
                row.summary.as_ref().map(|seen| (seen.counts.critical, seen.counts.warning, seen.counts.info))
            };
            of(other).cmp(&of(one))
        }
        EnsembleOrder::Changes => {
            let of = |row: &EnsembleRow| row.summary.as_ref().map_or(0.0, |summary| summary.changes_per_second);
            of(other).total_cmp(&of(one))
        }
        EnsembleOrder::New => other.news.cmp(&one.news),
    }
}

//! The ensembles that the console watches at once: a row for each, and what happened in all of
//! them.
//!
//! Each ensemble reports a summary from time to time. Two summaries are compared, and what has
//! changed becomes an event: findings that were raised and cleared, and connections that were lost
//! and made. While an ensemble is not seen, nothing is known to be over.
//!
//! A filter of the list also looks for locks: each ensemble answers with the locks that pass, as
//! its Locks would list them.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::filter::Filter;
use super::found::{FoundLocks, FoundPlace};
use super::known::KnownFindings;
use super::list::{Rows, Sorting};
use crate::tui::app::filter::Matching;
use crate::tui::app::list::Directed;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::admin::notebook::KnownFinding;
use lockscope_model::diagnose::{AcrossEnsembles, Code, CrossWaitsByEnsemble, EnsembleClaims, Finding};
use lockscope_model::queue::{LockName, WaitedFor, WaiterTime};
use lockscope_model::summary::{
    ChangeRate, EnsembleFacts, EnsembleSummary, MAX_FINDINGS, MAX_WAITED_FOR, StateKind, is_same,
};
use lockscope_model::verdict::ServerTrouble;

#[cfg(test)]
mod tests;

/// A summary of the ensemble with that name.
#[derive(Clone, Debug)]
pub struct EnsembleReport {
    pub name: Arc<str>,
    pub summary: EnsembleSummary,
    /// The locks that pass the filter of the list.
    pub found: FoundLocks,
    /// The findings that notes know.
    pub noted: Arc<[KnownFinding]>,
    /// The holders and the waiters there, as far as they may matter to other ensembles.
    pub claims: EnsembleClaims,
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
    /// The ensembles that pass the filter, in the shown order, each followed by what was found there.
    order: Vec<ShownRow>,
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
    /// Whether the filter is looked for everywhere, even if it names an ensemble.
    finds: bool,
    across: AcrossEnsembles,
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
        for EnsembleReport { name, summary, found, noted, claims } in reports {
            self.across.take(Arc::clone(&name), claims);
            let is_open = self.open.as_ref() == Some(&name);
            if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
                let troubles = self.events.compare(&name, row.summary.as_ref(), &summary);
                row.troubles = if is_open { 0 } else { row.troubles.saturating_add(troubles) };
                row.known.load(&noted, summary.at);
                let findings = summary.findings.iter().map(|finding| &**finding);
                row.known.take(findings, summary.state.kind() == StateKind::Live, is_open, summary.at);
                row.news = row.troubles + row.known.unseen();
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
            (row.news, row.troubles) = (0, 0);
            row.known.see();
            row.trouble = None;
        }
    }

    /// The name of the open ensemble; `None` when none of them is open.
    pub fn open(&self) -> Option<&Arc<str>> {
        self.open.as_ref()
    }

    /// The holders that made others wait most within the last ten minutes, and how much of them was
    /// seen: those of one ensemble, or where nobody waited there, of all, with their ensembles.
    pub(super) fn most_waited_for(&self, of: Option<&EnsembleRow>) -> (Duration, Vec<(Option<&str>, &WaitedFor)>) {
        let waited = |row: &&EnsembleRow| row.summary.as_ref().is_some_and(|seen| !seen.most_waited_for.is_empty());
        let one = self.rows.iter().find(|row| of.is_some_and(|of| of.name == row.name)).filter(waited);
        let rows = || self.rows.iter().filter(|row| one.is_none_or(|one| one.name == row.name));
        let known = || rows().filter_map(|row| Some((one.is_none().then_some(&*row.name), row.summary.as_ref()?)));
        let each = known().flat_map(|(name, summary)| summary.most_waited_for.iter().map(move |one| (name, one)));
        let mut all: Vec<_> = each.collect();
        all.sort_by_key(|(_, one)| Reverse(one.waited));
        all.truncate(MAX_WAITED_FOR);
        (known().map(|(_, summary)| summary.waited.1).max().unwrap_or_default(), all)
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

    /// Takes the known findings of each ensemble that are to be kept, with its connect string.
    pub(super) fn take_known(&mut self) -> Vec<(String, Vec<KnownFinding>)> {
        let changed = self.rows.iter_mut().map(|row| Some((row.connect.clone(), row.known.take_changed()?)));
        changed.flatten().collect()
    }

    /// Returns since when a finding of an ensemble is known.
    pub(super) fn known_since(&self, name: &str, finding: &Finding) -> Option<Timestamp> {
        self.named(name)?.known.since(finding)
    }

    /// Returns the cycles of waits over several ensembles, if there is news of them.
    pub(super) fn compare_claims(&mut self, now: Timestamp) -> Option<CrossWaitsByEnsemble> {
        self.across.compare(now)
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
    pub fn shown(&self) -> impl Iterator<Item = &EnsembleRow> {
        self.order.iter().filter(|shown| shown.place.is_none()).map(|shown| &self.rows[shown.ensemble])
    }

    /// The number of places that were found and are listed.
    pub fn listed_places(&self) -> usize {
        self.order.iter().filter(|shown| shown.place.is_some()).count()
    }

    /// The ensemble of the row at a position.
    pub fn row(&self, rank: usize) -> Option<&EnsembleRow> {
        self.rows.get(self.order.get(rank)?.ensemble)
    }

    /// The row at a position.
    pub fn listed(&self, rank: usize) -> Option<ListedRow<'_>> {
        let ShownRow { ensemble, place } = self.order.get(rank)?;
        let row = self.rows.get(*ensemble)?;
        match place {
            None => Some(ListedRow::Ensemble(row)),
            Some(place) => row.found.places.get(*place).map(|place| ListedRow::Place(row, place)),
        }
    }

    pub fn named(&self, name: &str) -> Option<&EnsembleRow> {
        self.rows.iter().find(|row| *row.name == *name)
    }

    /// What happened, the oldest first, in the ensembles that pass the filter.
    pub fn events(&self) -> impl Iterator<Item = &ListedEvent> {
        let passes = |event: &&ListedEvent| {
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
        (self.filter, self.is_sought, self.finds) = (filter, false, false);
        self.arrange();
    }

    /// Looks for a filter in the locks of all ensembles, even if it names one of them.
    pub(super) fn find(&mut self, filter: Filter) {
        self.set_filter(filter);
        self.finds = true;
        self.arrange();
    }

    fn arrange(&mut self) {
        let (rows, filter) = (&self.rows, &self.filter);
        let mut passing: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].passes(filter)).collect();
        let sorting = self.sorting;
        passing.sort_by(|one, other| compare_ensembles(&rows[*one], &rows[*other], sorting));
        let finds = self.finds;
        self.order = passing
            .into_iter()
            .flat_map(|ensemble| {
                let row = &rows[ensemble];
                let lists = row.found.answers(filter) && (finds || !row.named_by(filter).passes());
                let places = 0..if lists { row.found.places.len() } else { 0 };
                let places = places.map(move |place| ShownRow { ensemble, place: Some(place) });
                [ShownRow { ensemble, place: None }].into_iter().chain(places)
            })
            .collect();
    }
}

impl Rows<EnsembleListId> for WatchedEnsembles {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn rank(&self, id: &EnsembleListId) -> Option<usize> {
        (0..self.order.len()).find(|rank| self.id(*rank).as_ref() == Some(id))
    }

    fn id(&self, rank: usize) -> Option<EnsembleListId> {
        Some(match self.listed(rank)? {
            ListedRow::Ensemble(row) => EnsembleListId { ensemble: Arc::clone(&row.name), place: None },
            ListedRow::Place(row, place) => {
                EnsembleListId { ensemble: Arc::clone(&row.name), place: Some(place.path()) }
            }
        })
    }
}

/// An ensemble by its position, or one of the places found there.
#[derive(Clone, Copy, Debug)]
struct ShownRow {
    ensemble: usize,
    place: Option<usize>,
}

/// What tells a row of the list from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnsembleListId {
    pub ensemble: Arc<str>,
    /// The lock or node that was found there.
    pub place: Option<ZnodePath>,
}

/// A row of the list.
#[derive(Clone, Copy, Debug)]
pub enum ListedRow<'a> {
    Ensemble(&'a EnsembleRow),
    /// A lock or a contender that was looked for, in that ensemble.
    Place(&'a EnsembleRow, &'a FoundPlace),
}

impl<'a> ListedRow<'a> {
    /// The ensemble.
    pub fn ensemble(self) -> &'a EnsembleRow {
        match self {
            Self::Ensemble(row) | Self::Place(row, _) => row,
        }
    }
}

/// An ensemble that the console watches.
#[derive(Clone, Debug)]
pub struct EnsembleRow {
    /// The name of its context.
    pub name: Arc<str>,
    /// Its servers and chroot, without identities.
    pub connect: String,
    /// Whether its context is marked as production.
    pub production: bool,
    /// Why it cannot be watched, as a sentence: its options are wrong.
    pub trouble: Option<String>,
    /// The latest summary; `None` before the first.
    pub summary: Option<EnsembleSummary>,
    /// The number of findings and troubles of servers that the person has not seen.
    pub news: usize,
    /// The troubles of servers among them.
    pub troubles: usize,
    /// The findings that are known.
    pub known: KnownFindings,
    /// The locks that pass the filter of the list.
    pub found: FoundLocks,
}

impl EnsembleRow {
    /// The state of the connection.
    pub fn state(&self) -> StateKind {
        match (&self.trouble, &self.summary) {
            (Some(_), _) => StateKind::Refused,
            (None, Some(summary)) => summary.state.kind(),
            (None, None) => StateKind::Connecting,
        }
    }

    /// Whether the figures are true now.
    pub fn is_live(&self) -> bool {
        self.state() == StateKind::Live
    }

    /// Why its locks cannot be seen; `None` when they can.
    pub fn reason(&self) -> Option<&str> {
        self.trouble.as_deref().or_else(|| self.summary.as_ref()?.state.reason())
    }

    /// What is wrong with its servers.
    pub fn servers_trouble(&self) -> Option<&ServerTrouble> {
        self.summary.as_ref()?.servers_trouble.as_ref()
    }

    /// The row as JSON.
    pub(super) fn facts(&self) -> EnsembleFacts<'_> {
        EnsembleFacts::new(
            &self.name,
            &self.connect,
            self.production,
            self.state(),
            self.reason(),
            self.summary.as_ref(),
        )
    }

    /// Whether the ensemble passes a filter: by itself, or by one of its locks.
    fn passes(&self, filter: &Filter) -> bool {
        self.passes_itself(filter) || self.found.locks(filter).is_some() || self.found.may_lack(filter)
    }

    /// The locks that pass a filter, and the first of them, unless the ensemble passes by itself.
    pub fn found_locks(&self, filter: &Filter) -> Option<(usize, &LockName)> {
        self.found.locks(filter).filter(|_| !self.passes_itself(filter))
    }

    /// Whether locks pass a filter, and the ensemble is not named by it.
    fn is_about_locks(&self, filter: &Filter) -> bool {
        self.found.is_listed(filter) && !self.named_by(filter).passes()
    }

    /// Whether the ensemble passes a filter by its name, servers, state and findings.
    fn passes_itself(&self, filter: &Filter) -> bool {
        let mut matching = self.named_by(filter);
        for finding in self.summary.iter().flat_map(|summary| &summary.findings) {
            if matching.is_decided() {
                break;
            }
            matching.lock(&finding.lock).text(finding.code.id()).text(finding.severity.id()).text(&finding.summary);
        }
        matching.passes()
    }

    /// Matches its name, servers and state.
    fn named_by<'f>(&self, filter: &'f Filter) -> Matching<'f> {
        let mut matching = filter.matching();
        matching.text(&self.name).text(&self.connect).text(self.state().id());
        if self.production {
            matching.text("production");
        }
        matching.texts(self.reason()).texts(self.servers_trouble().map(ToString::to_string).as_deref());
        matching
    }
}

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
    /// By what all waited within the last ten minutes, most first.
    Cost,
    Findings,
    Changes,
    /// The most news first.
    New,
}

/// Compares two ensembles. The name decides between those that are equal otherwise.
fn compare_ensembles(one: &EnsembleRow, other: &EnsembleRow, sorting: Sorting<EnsembleOrder>) -> Ordering {
    let by = |Directed { by, reversed }: Directed<EnsembleOrder>| {
        let ordering = compare_by(by, one, other);
        if reversed { ordering.reverse() } else { ordering }
    };
    by(sorting.first).then_with(|| sorting.then.map_or(Ordering::Equal, by)).then_with(|| one.name.cmp(&other.name))
}

/// The sort key of the default order.
fn badness(row: &EnsembleRow) -> (u8, usize, usize, WaiterTime, Option<Duration>) {
    match (&row.trouble, &row.summary) {
        (None, Some(summary)) => summary.badness(),
        // An ensemble whose options are wrong cannot be seen.
        (Some(_), _) => (4, 0, 0, WaiterTime::default(), None),
        (None, None) => (2, 0, 0, WaiterTime::default(), None),
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
        EnsembleOrder::Cost => most(|summary| usize::try_from(summary.waited.0.0.as_millis()).unwrap_or(usize::MAX)),
        EnsembleOrder::New => other.news.cmp(&one.news),
    }
}

/// Maximum number of events.
const MAX_EVENTS: usize = 1_000;

/// What happened.
#[derive(Clone, Debug)]
pub enum EnsembleNews {
    Raised(Arc<Finding>),
    /// A finding took the place of another one of its lock that was as severe: the cause is known, or
    /// has another name. The trouble is the same.
    Renamed(Code, Arc<Finding>),
    Cleared(Arc<Finding>),
    /// The state of the connection has changed, to this one.
    State(StateKind),
    /// The trouble with the servers has changed, to this one or to none.
    Servers(Option<ServerTrouble>),
}

/// What happened in one of several ensembles.
#[derive(Clone, Debug)]
pub struct ListedEvent {
    /// The time of the summary that first showed it, by this machine's clock.
    pub at: Timestamp,
    pub ensemble: Arc<str>,
    pub news: EnsembleNews,
}

/// The events of all ensembles, the oldest first.
#[derive(Clone, Debug, Default)]
struct EventLog {
    events: VecDeque<ListedEvent>,
    /// The ensembles of which the last told state is that they cannot be seen.
    unseen: BTreeSet<Arc<str>>,
}

impl EventLog {
    fn each(&self) -> impl Iterator<Item = &ListedEvent> {
        self.events.iter()
    }

    /// Adds what has changed in an ensemble. Returns the number of new troubles of its servers.
    fn compare(&mut self, name: &Arc<str>, before: Option<&EnsembleSummary>, after: &EnsembleSummary) -> usize {
        let mut add = |news| self.events.push_back(ListedEvent { at: after.at, ensemble: Arc::clone(name), news });
        let (was, is) = (before.map(|before| before.state.kind()), after.state.kind());
        let is_told = match is {
            StateKind::Live => self.unseen.remove(name),
            _ if is.is_broken() => {
                self.unseen.insert(Arc::clone(name));
                was != Some(is)
            }
            _ => false,
        };
        if is_told {
            add(EnsembleNews::State(is));
        }
        let mut troubles = 0;
        let (was, trouble) = (before.and_then(|before| before.servers_trouble.as_ref()), &after.servers_trouble);
        // While the servers are not seen, nothing is known to be over.
        if was != trouble.as_ref() && (trouble.is_some() || is == StateKind::Live) {
            troubles += usize::from(was.is_none());
            add(EnsembleNews::Servers(trouble.clone()));
        }
        let known = before.map_or(&[][..], |before| &before.findings);
        // While the locks are not seen, nothing is known to be over. Of a shortened list, what is
        // missing may still stand.
        if after.state.kind() == StateKind::Live && after.findings.len() < MAX_FINDINGS {
            for gone in missing_findings(known, &after.findings).filter(|gone| !stands_as_bad(gone, &after.findings)) {
                add(EnsembleNews::Cleared(Arc::clone(gone)));
            }
        }
        if known.len() < MAX_FINDINGS {
            for raised in missing_findings(&after.findings, known) {
                let of_lock = |gone: &&Arc<Finding>| is_of_lock(gone, raised) && gone.severity >= raised.severity;
                if let Some(gone) = missing_findings(known, &after.findings).find(of_lock) {
                    add(EnsembleNews::Renamed(gone.code, Arc::clone(raised)));
                    continue;
                }
                add(EnsembleNews::Raised(Arc::clone(raised)));
            }
        }
        let excess = self.events.len().saturating_sub(MAX_EVENTS);
        self.events.drain(..excess);
        troubles
    }
}

fn is_of_lock(one: &Finding, other: &Finding) -> bool {
    (&one.lock.path, &one.lock.name) == (&other.lock.path, &other.lock.name)
}

/// Returns whether a lock has another finding that is as severe as one that is gone.
fn stands_as_bad(gone: &Finding, findings: &[Arc<Finding>]) -> bool {
    findings.iter().any(|finding| is_of_lock(finding, gone) && finding.severity >= gone.severity)
}

/// Returns the findings of one list that are missing in another.
fn missing_findings<'a>(one: &'a [Arc<Finding>], other: &[Arc<Finding>]) -> impl Iterator<Item = &'a Arc<Finding>> {
    one.iter().filter(|finding| !other.iter().any(|known| Arc::ptr_eq(known, finding) || is_same(known, finding)))
}

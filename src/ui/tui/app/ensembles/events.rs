//! What happened in all ensembles: findings that were raised and cleared, and connections that were
//! lost and made.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Code, Finding, Severity};
use lockscope_model::summary::{EnsembleSummary, MAX_FINDINGS, StateKind, is_same};
use lockscope_model::verdict::ServerTrouble;

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
pub struct EnsembleEvent {
    /// The time of the summary that first showed it, by this machine's clock.
    pub at: Timestamp,
    pub ensemble: Arc<str>,
    pub news: EnsembleNews,
}

/// The events of all ensembles, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct EventLog {
    events: VecDeque<EnsembleEvent>,
    /// The ensembles of which the last told state is that they cannot be seen.
    unseen: BTreeSet<Arc<str>>,
}

impl EventLog {
    pub(super) fn each(&self) -> impl Iterator<Item = &EnsembleEvent> {
        self.events.iter()
    }

    /// Adds what has changed in an ensemble. Returns the number of new findings that somebody
    /// should look at.
    pub(super) fn compare(
        &mut self,
        name: &Arc<str>,
        before: Option<&EnsembleSummary>,
        after: &EnsembleSummary,
    ) -> usize {
        let mut add = |news| self.events.push_back(EnsembleEvent { at: after.at, ensemble: Arc::clone(name), news });
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
        let mut news = 0;
        let (was, trouble) = (before.and_then(|before| before.servers_trouble.as_ref()), &after.servers_trouble);
        // While the servers are not seen, nothing is known to be over.
        if was != trouble.as_ref() && (trouble.is_some() || is == StateKind::Live) {
            news += usize::from(was.is_none());
            add(EnsembleNews::Servers(trouble.clone()));
        }
        let known = before.map_or(&[][..], |before| &before.findings);
        // While the locks are not seen, nothing is known to be over. Of a shortened list, what is
        // missing may still stand.
        if after.state.kind() == StateKind::Live && after.findings.len() < MAX_FINDINGS {
            for gone in missing(known, &after.findings).filter(|gone| !stands_as_bad(gone, &after.findings)) {
                add(EnsembleNews::Cleared(Arc::clone(gone)));
            }
        }
        if known.len() < MAX_FINDINGS {
            for raised in missing(&after.findings, known) {
                let of_lock = |gone: &&Arc<Finding>| is_of_lock(gone, raised) && gone.severity >= raised.severity;
                if let Some(gone) = missing(known, &after.findings).find(of_lock) {
                    add(EnsembleNews::Renamed(gone.code, Arc::clone(raised)));
                    continue;
                }
                news += usize::from(raised.severity >= Severity::Warning);
                add(EnsembleNews::Raised(Arc::clone(raised)));
            }
        }
        let excess = self.events.len().saturating_sub(MAX_EVENTS);
        self.events.drain(..excess);
        news
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
fn missing<'a>(one: &'a [Arc<Finding>], other: &[Arc<Finding>]) -> impl Iterator<Item = &'a Arc<Finding>> {
    one.iter().filter(|finding| !other.iter().any(|known| Arc::ptr_eq(known, finding) || is_same(known, finding)))
}

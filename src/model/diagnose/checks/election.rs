//! Findings about elections: nobody leads, a candidate is missing, or leadership changes hands
//! again and again.
//!
//! `nobody-leads` and `participant-missing` are about absences: an election that had a leader or
//! candidates has none, a candidate has gone and not come back, or there are fewer candidates than
//! expected. `flapping` also covers one candidate that takes the leadership and gives it up.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::TableAt;
use crate::diagnose::checks::former_owner::FormerSession;
use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{Departure, DepartureEnd, ElectionKind, ElectionRecord, LedBefore, LockQueue, leader_beside_latch};
use crate::text::human;
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{Timestamp, ZnodePath};

#[cfg(test)]
pub mod tests;

#[cfg(test)]
pub mod participant_missing_tests;

#[cfg(test)]
pub mod flapping_tests;

const NOBODY_LEADS_REMEDY: &str = "look at the candidates' processes and at what they need to stand, such as a healthy service or an enabled job: restart those that gave up, and find out why they did; do not delete the parent, it is not in the way";

/// The election is empty, or its candidates elected none of them. Proven time before the first look
/// counts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct NobodyLeads;

/// An election without a leader.
struct Leaderless {
    lasted: Duration,
    /// Whether its beginning was seen.
    is_exact: bool,
    /// The candidates' situation, as the end of a sentence.
    candidates: String,
}

impl Check for NobodyLeads {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        if context.election.is_none() {
            return;
        }
        let Some(leaderless) = without_candidates(context).or_else(|| not_registered(context)) else { return };
        let finding = describe_leaderless(context, &leaderless);
        let suspicion = Suspicion::new(finding, context.now(), context.leader_within());
        found.push(suspicion.proved_by(leaderless.lasted));
    }
}

/// Returns the state of an election without any candidate; `None` if it has one, or if none was
/// ever there.
fn without_candidates(context: &LockContext<'_>) -> Option<Leaderless> {
    let record = context.election_record().filter(|_| context.lock.is_empty())?;
    if !was_election(context, record) || is_led_elsewhere(context) {
        return None;
    }
    let since = record.found_empty_since().unwrap_or_else(|| record.changed_at());
    let watching = if context.lock.kind() == LockKind::SingleNode { watching(context) } else { 0 };
    let candidates = match watching {
        0 if context.table_at.table().is_without_parent(context.lock) => {
            "no candidate is left, and the servers deleted the empty parent".to_owned()
        }
        0 => "no candidate is left".to_owned(),
        1 => "1 session watches the node and does not create it".to_owned(),
        many => format!("{} sessions watch the node and do not create it", human::count(many)),
    };
    let is_exact = record.found_empty_since().is_none();
    Some(Leaderless { lasted: context.now().since(since), is_exact, candidates })
}

/// Returns whether an empty lock was an election. A lock that merely looks like one is a lock if it
/// was held for a short time only.
fn was_election(context: &LockContext<'_>, record: &ElectionRecord) -> bool {
    match context.election {
        Some(ElectionKind::Certain) => true,
        Some(_) => record.found_empty_since().is_some() || was_led_long(context, record),
        None => false,
    }
}

/// Returns whether the last tenure was long, or one that the last followed without a gap: the
/// candidates may fail one after another.
fn was_led_long(context: &LockContext<'_>, record: &ElectionRecord) -> bool {
    let (long, gap) = (context.thresholds.stuck_after, context.thresholds.settled_after);
    let mut next_began: Option<Timestamp> = None;
    for tenure in record.tenures().rev() {
        if next_began.is_some_and(|began| began.since(tenure.at) > gap) {
            return false;
        }
        if tenure.led_for().is_none_or(|led| led >= long) {
            return true;
        }
        next_began = tenure.led_since;
    }
    false
}

/// Returns whether an empty queue is no absence: clients of another recipe queue at its path, or the
/// leader has another node, which is reported by itself when it goes.
fn is_led_elsewhere(context: &LockContext<'_>) -> bool {
    let (table, path) = (context.table_at.table(), context.lock.path());
    let other = table.find(path, None).and_then(|id| table.lock(id));
    let has_leader_node = leader_beside_latch(path).is_some_and(|leader| table.find(&leader, None).is_some());
    has_leader_node || other.is_some_and(|other| !other.is_empty())
}

fn watching(context: &LockContext<'_>) -> usize {
    context.table_at.view().watchers_of(context.lock.path()).map_or(0, |watchers| watchers.sessions.len())
}

/// Returns the state of a Solr election whose candidates have not registered a leader. Its leader
/// also creates a node beside the queue.
fn not_registered(context: &LockContext<'_>) -> Option<Leaderless> {
    let (table, lock) = (context.table_at.table(), context.lock);
    let first = lock.first_holder().filter(|_| lock.recipe() == Recipe::SolrElection)?;
    let leader = leader_node(lock.path())?;
    // Only a listed parent proves that the node does not exist.
    let parent = leader.parent().filter(|parent| table.parent(parent).is_some())?;
    if table.position(&leader).is_some() || table.unreadable().contains_key(&parent) {
        return None;
    }
    let held = table.clock().hold_bounds(first, context.now()).map(|bounds| bounds.at_least).unwrap_or_default();
    let candidates = format!(
        "{} in line, and none has registered as leader: there is no {}",
        human::plural(lock.len(), "candidate is", "candidates are"),
        lockscope_base::znode::escaped(leader.as_str())
    );
    Some(Leaderless { lasted: held, is_exact: false, candidates })
}

/// Returns the node of a Solr leader: `X/leaders/S/leader` for `X/leader_elect/S/election`, and
/// `X/leader` for `X/election`.
fn leader_node(election: &ZnodePath) -> Option<ZnodePath> {
    let parent = election.parent().filter(|_| election.name() == "election")?;
    let above = parent.parent().filter(|above| above.name() == "leader_elect");
    match above.and_then(|above| above.parent()) {
        Some(collection) => Some(collection.child("leaders").child(parent.name()).child("leader")),
        None => Some(parent.child("leader")),
    }
}

fn describe_leaderless(context: &LockContext<'_>, leaderless: &Leaderless) -> Finding {
    let (last, tenure) = context.table_at.last_leader(context.lock);
    let bound = if leaderless.is_exact { "" } else { "at least " };
    let lasted = human::duration(leaderless.lasted);
    let summary = format!(
        "nobody has led for {bound}{lasted}: {last}; {}{}",
        leaderless.candidates,
        context.table_at.slow_servers()
    );
    let severity = context.severity_here(Severity::Critical);
    let finding = finding(Code::NobodyLeads, severity, context.lock, None).because(summary, NOBODY_LEADS_REMEDY);
    match tenure {
        Some(tenure) => finding.of_client(tenure.client.clone()),
        None => finding,
    }
}

const MISSING_REMEDY: &str =
    "look at that process: it lost its node and did not queue again; restart it if it does not by itself";

/// A candidate counts as missing if its process is still there, as far as the servers' lists show,
/// or if the user expects more candidates. One that left by itself is not missing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ParticipantMissing;

impl Check for ParticipantMissing {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        if context.election.is_none() {
            return;
        }
        found.extend(fewer_than_expected(context));
        // An empty election has no leader, which is worse.
        if !context.lock.is_empty() {
            found.extend(context.absent().filter_map(|departure| missing_candidate(context, departure)));
        }
    }
}

fn fewer_than_expected(context: &LockContext<'_>) -> Option<Suspicion> {
    let expected = context.table_at.table().elections().expectation(context.lock)?.candidates? as usize;
    let here = context.lock.len();
    if here >= expected {
        return None;
    }
    let last = context.absent().next_back();
    let last =
        last.map(|departure| format!("; last went {}: {}", who(context, departure), departure.end.in_sentence()));
    let summary = format!(
        "{} of {} expected candidates {} here{}",
        human::count(here),
        human::count(expected),
        if here == 1 { "is" } else { "are" },
        last.unwrap_or_default()
    );
    let finding = finding(Code::ParticipantMissing, Severity::Warning, context.lock, None)
        .because(summary, "start the missing candidates, or correct the number in the config file");
    Some(Suspicion::new(finding, context.now(), context.leader_within()))
}

/// Returns the suspicion about a candidate whose node went, though its process seems to live.
fn missing_candidate(context: &LockContext<'_>, departure: &Departure) -> Option<Suspicion> {
    let gathered = context.table_at.view().connections_as_of()?;
    let process = process(context, departure)?;
    let summary =
        format!("{} was a candidate: {}, and {process}", who(context, departure), departure.end.in_sentence());
    let severity = context.severity_here(Severity::Warning);
    let finding = finding(Code::ParticipantMissing, severity, context.lock, Some(&departure.node))
        .of_client(departure.client.clone())
        .because(summary, MISSING_REMEDY);
    let lasted = context.now().since(departure.at);
    // The servers' lists are evidence only if they are from after the wait, so it lasts until then.
    let suspicion = Suspicion::new(finding, gathered, context.leader_within()).of_state(departure.at.0);
    (lasted > Duration::ZERO).then_some(suspicion)
}

/// Describes the process of a candidate that has gone; `None` if nothing shows that it lives.
fn process(context: &LockContext<'_>, departure: &Departure) -> Option<String> {
    let session = departure.session?;
    if let Some((_, connection)) = context.table_at.view().connection_of(session) {
        let is_silent = departure.last_request.is_some() && connection.last_cxid == departure.last_request;
        return is_silent.then(|| "its session is connected and has asked for nothing since".to_owned());
    }
    if !matches!(departure.end, DepartureEnd::Expired | DepartureEnd::Unknown) {
        return None;
    }
    let host = departure.host()?;
    let newer = context.table_at.successor(FormerSession { session, host, since: departure.last_heard() })?;
    Some(format!("{host} is connected with the newer session {}, which queues nowhere", newer.session))
}

fn who(context: &LockContext<'_>, departure: &Departure) -> String {
    departure.client.in_sentence(context.now())
}

const FLAPPING_REMEDY_EXPIRED: &str = "compare the session timeouts with the pauses of these processes and with the servers' latency; sessions that expire need longer timeouts";

const FLAPPING_REMEDY_GIVEN_UP: &str = "look at the logs of these candidates for why they give the leadership up, since no session is known to have expired; if they take turns by design, raise the numbers of [flapping] in the config file";

const FLAPPING_REMEDY_ALONE: &str = "look at the log of this candidate for what fails after it takes the leadership, such as the fencing of a former leader, and see whether the other candidates run";

/// Maximum number of clients that the sentence names.
const MAX_NAMED: usize = 4;

/// Reported only if somebody led more than once: a rolling restart gives each candidate its turn.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Flapping;

impl Check for Flapping {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        // Clients that take a number each, and hold it for a moment, are no candidates.
        let is_known = context.election.is_some_and(|kind| kind != ElectionKind::Unknown);
        let Some(record) = context.election_record().filter(|_| is_known) else { return };
        // There each candidate leads for a moment when it starts.
        if leader_beside_latch(context.lock.path()).is_some() {
            return;
        }
        let limit = context.thresholds.flapping;
        let changes = record.changes_within(limit.within, context.now());
        if changes < limit.changes {
            return;
        }
        let tenures = Tenures::of(context, record, limit.within);
        if !tenures.by_client.values().any(|count| *count > 1) {
            return;
        }
        let watched = context.table_at.table().elections().watched_for(context.now()).unwrap_or(limit.within);
        let (times, within) = (human::plural(changes, "time", "times"), human::duration(limit.within.min(watched)));
        let what = match tenures.only_one() {
            Some(client) => {
                let lost = if tenures.any_expired { "lost it" } else { "gave it up" };
                format!("{client} took the leadership and {lost} {times} within {within}, and nobody else led;")
            }
            None => format!("leadership changed hands {times} within {within}:"),
        };
        let severity = if tenures.is_mostly_vacant() { Severity::Critical } else { Severity::Warning };
        let finding = finding(Code::Flapping, context.severity_here(severity), context.lock, None);
        let finding = finding.because(format!("{what} {}", tenures.in_sentence(changes)), tenures.remedy());
        found.push(Suspicion::proved(finding, context.now()));
    }
}

/// The tenures of a period.
#[derive(Default)]
struct Tenures {
    /// How often each client led.
    by_client: BTreeMap<String, usize>,
    /// How many tenures ended in each way.
    by_end: BTreeMap<&'static str, usize>,
    shortest: Option<Duration>,
    longest: Option<Duration>,
    /// Whether all are of one session, or of one host. A name alone does not tell: two processes may
    /// write the same one.
    is_of_one: bool,
    any_expired: bool,
    /// How long nobody led between the tenures, and since the last of them.
    vacant: Duration,
    /// The time from the beginning of the first tenure.
    lasted: Duration,
}

impl Tenures {
    fn of(context: &LockContext<'_>, record: &ElectionRecord, within: Duration) -> Self {
        let mut all = Self { is_of_one: true, ..Self::default() };
        let since = context.now().minus(within);
        let mut before: Option<&Departure> = None;
        for tenure in record.tenures().filter(|tenure| tenure.at >= since) {
            *all.by_client.entry(client(tenure)).or_default() += 1;
            *all.by_end.entry(ended(tenure.end)).or_default() += 1;
            all.any_expired |= tenure.end == DepartureEnd::Expired;
            let led = tenure.led_for();
            all.shortest = all.shortest.into_iter().chain(led).min();
            all.longest = all.longest.into_iter().chain(led).max();
            all.is_of_one &= before.is_none_or(|before| is_same_process(context, before, tenure));
            // A tenure whose beginning is unknown may have begun when the one before it ended.
            let began = tenure.led_since.or(before.map(|before| before.at)).unwrap_or(tenure.at);
            all.goes_on(before, began);
            all.lasted += tenure.at.since(before.map_or(began, |before| before.at));
            before = Some(tenure);
        }
        let now = context.now();
        all.goes_on(before, context.lock.first_holder().map_or(now, |leader| leader.acquired_at().unwrap_or(now)));
        all.lasted += before.map(|before| now.since(before.at)).unwrap_or_default();
        all
    }

    /// Adds the time without a leader between a tenure and the next one.
    fn goes_on(&mut self, before: Option<&Departure>, began: Timestamp) {
        self.vacant += before.map(|before| began.since(before.at)).unwrap_or_default();
    }

    fn is_mostly_vacant(&self) -> bool {
        self.vacant > self.lasted / 2
    }

    /// Returns the only client that led.
    fn only_one(&self) -> Option<&str> {
        self.by_client.keys().next().filter(|_| self.is_of_one && self.by_client.len() == 1).map(String::as_str)
    }

    fn remedy(&self) -> &'static str {
        match self.only_one() {
            _ if self.any_expired => FLAPPING_REMEDY_EXPIRED,
            Some(_) => FLAPPING_REMEDY_ALONE,
            None => FLAPPING_REMEDY_GIVEN_UP,
        }
    }

    fn in_sentence(&self, changes: u32) -> String {
        let more = self.by_client.len().saturating_sub(MAX_NAMED);
        let mut most: Vec<_> = self.by_client.iter().collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let named = most.iter().take(MAX_NAMED).map(|(client, count)| format!("{client} led {count}x"));
        let mut named: Vec<String> = if self.only_one().is_some() { Vec::new() } else { named.collect() };
        named.extend((more > 0).then(|| format!("{} more led", human::count(more))));
        let ends: Vec<String> = self.by_end.iter().map(|(end, count)| format!("{count} {end}")).collect();
        // More changes are counted than tenures are kept.
        let kept: usize = self.by_end.values().sum();
        let ends_of = if kept < changes as usize { format!("the last {kept} ended") } else { "ends".to_owned() };
        let mut parts = vec![named.join(", "), format!("{ends_of}: {}", ends.join(", "))];
        if let (Some(shortest), Some(longest)) = (self.shortest, self.longest) {
            parts.push(format!("tenures of {} to {}", human::duration(shortest), human::duration(longest)));
        }
        if self.is_mostly_vacant() {
            let [vacant, lasted] = [self.vacant, self.lasted].map(human::duration);
            parts.push(format!("nobody led in {vacant} of the last {lasted}"));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }
}

/// Returns whether two tenures, one after the other, are of one session, or of two sessions of one
/// host. A session that is still connected has not been replaced: it is another process's.
fn is_same_process(context: &LockContext<'_>, before: &Departure, after: &Departure) -> bool {
    if before.session.is_some() && before.session == after.session {
        return true;
    }
    let is_connected = |session| context.table_at.view().connection_of(session).is_some();
    before.host().is_some() && before.host() == after.host() && !before.session.is_some_and(is_connected)
}

/// Names a client over its sessions: by its name, else by its host, else by its session.
fn client(tenure: &Departure) -> String {
    let of_session = || tenure.session.map_or_else(|| "an unknown client".to_owned(), |id| format!("session {id}"));
    let name = tenure.client.telling_name().or_else(|| tenure.host());
    name.map_or_else(of_session, |name| lockscope_base::znode::escaped(name).to_string())
}

fn ended(end: DepartureEnd) -> &'static str {
    match end {
        DepartureEnd::Released => "released",
        DepartureEnd::Deleted => "deleted by others",
        DepartureEnd::Closed => "closed",
        DepartureEnd::Gone => "gone while the session lived",
        DepartureEnd::Unknown => "unknown",
        DepartureEnd::Expired => "expired",
    }
}

const UNKNOWN_LAST_LEADER: &str =
    "the last leader went before this was watched, and an import of the transaction logs tells who it was";

impl TableAt<'_> {
    /// Returns a part of a sentence that names the last leader and says how its tenure ended, and
    /// that tenure where it is known.
    fn last_leader(&self, election: &LockQueue) -> (String, Option<&Departure>) {
        let now = self.now();
        if let Some(seen) = self.table().elections().record(election).and_then(ElectionRecord::last_tenure) {
            return (format!("{}, then {}", led_last(seen, now), seen.end.in_sentence()), Some(seen));
        }
        match self.table().elections().led_before(election) {
            Some(before) => (as_recorded(before, now), Some(&before.tenure)),
            None => (UNKNOWN_LAST_LEADER.to_owned(), None),
        }
    }
}

fn led_last(tenure: &Departure, now: Timestamp) -> String {
    let led = tenure.led_for().map(|led| format!(" for {}", human::duration(led))).unwrap_or_default();
    format!("{} led last{led}", tenure.client.in_sentence(now))
}

fn as_recorded(before: &LedBefore, now: Timestamp) -> String {
    let LedBefore { tenure, is_end_seen, has_gap, .. } = before;
    let end = if *is_end_seen {
        format!(", then {}", tenure.end.in_sentence())
    } else {
        ", and its end was not recorded".to_owned()
    };
    let gap = if *has_gap { ", and another may have led while nothing was recorded" } else { "" };
    let ago = human::duration(now.since(tenure.at));
    format!("as recorded, {} until {ago} ago{end}{gap}", led_last(tenure, now))
}

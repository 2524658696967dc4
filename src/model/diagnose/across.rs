//! Clients that wait for each other over several ensembles.
//!
//! ```text
//! LockTable of each ensemble --> EnsembleClaims --> cross_waits --> CrossWaits of each ensemble --> Change::Crossed
//! ```
//!
//! Each ensemble has sessions of its own, so its sessions are joined by what tells their clients:
//! the name in their nodes and their host. A cycle is looked for with the surest joins first, and
//! says how sure it is.
//!
//! Waiters of single-node locks are in no tree, and candidates of elections by their recipe wait for
//! nothing: both are left out.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::TableAt;
use super::waits::may_block;
use crate::queue::{
    ClientIdentity, Contender, ContenderRow, ContenderState, CrossCycle, CrossNode, CrossStep, CrossWaits, LockName,
    LockQueue, LockTable, SameClient, host_of, is_likely_election,
};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid, escaped};

/// The most claims of one ensemble. Those of the locks behind them in the order of paths are left
/// out.
const MAX_CLAIMS: usize = 20_000;

/// The most cycles that are found.
const MAX_CROSS_CYCLES: usize = 100;

/// The most steps from lock to lock that one search for a cycle follows.
const MAX_CROSS_STEPS: usize = 100_000;

/// How far the clocks of two ensembles may be apart after both were compared with this machine's.
const MAX_CLOCK_ERROR: Duration = Duration::from_secs(1);

/// How long a comparison of several ensembles counts. While there is a cycle, the next one follows
/// within seconds.
const MAX_CROSSED_AGE: Duration = Duration::from_secs(60);

/// A lock that somebody holds and others wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClaimedLock {
    path: ZnodePath,
    name: Option<Arc<str>>,
    is_election: bool,
}

/// A client's node in a lock that others claim, too.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CrossClaim {
    lock: u32,
    session: SessionId,
    node: Arc<str>,
    czxid: Zxid,
    holds: bool,
    /// When it began to wait, or the earliest time at which it may have begun to hold.
    earliest: Timestamp,
    /// When it began to wait, or the time since which it certainly holds.
    certain: Timestamp,
    /// The name that the client wrote into its node.
    name: Option<Arc<str>>,
    /// The machine of the client, by address.
    host: Option<Arc<str>>,
    /// The client for a sentence.
    told: String,
}

/// The holders and the waiters of one ensemble, as far as they may matter to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnsembleClaims {
    locks: Vec<ClaimedLock>,
    claims: Vec<CrossClaim>,
}

impl EnsembleClaims {
    /// Collects the claims of the contended locks of a table that is in step; of none otherwise.
    /// Linear in the number of contenders, and at most 20,000 claims.
    pub fn of(table_at: TableAt<'_>) -> Self {
        let mut found = Self::default();
        let locks = table_at.table().locks().filter(|lock| table_at.table().is_live() && lock.waiting() > 0);
        for lock in locks.filter(|lock| binds(lock)) {
            if found.claims.len() + lock.len() > MAX_CLAIMS {
                break;
            }
            found.add(table_at, lock);
        }
        found
    }

    fn add(&mut self, table_at: TableAt<'_>, lock: &LockQueue) {
        let at = u32::try_from(self.locks.len()).unwrap_or(u32::MAX);
        let rows = lock.rows(0..lock.len()).filter(|row| !row.contender.returned);
        self.claims.extend(rows.filter_map(|row| claim(table_at, at, &row)));
        let LockName { path, name, .. } = lock.lock_name();
        self.locks.push(ClaimedLock { path, name, is_election: is_likely_election(lock) });
    }
}

/// Returns whether a waiter needs this lock, and needs each of its holders to release it.
fn binds(lock: &LockQueue) -> bool {
    let sessions = || lock.rows(0..lock.holding()).map(|row| row.contender.session());
    let is_of_one = || sessions().collect::<FxHashSet<_>>().len() == 1;
    lock.kind() != LockKind::SingleNode && may_block(lock) && (lock.kind() != LockKind::Semaphore || is_of_one())
}

fn claim(table_at: TableAt<'_>, lock: u32, row: &ContenderRow<'_>) -> Option<CrossClaim> {
    let (table, now, contender) = (table_at.table(), table_at.now(), row.contender);
    let session = contender.session()?;
    let before = |age: Duration| Timestamp(now.0.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX)));
    let (earliest, certain) = match row.state {
        ContenderState::Holds => {
            let bounds = table.clock().hold_bounds(contender, now)?;
            (before(bounds.at_most), before(bounds.at_least))
        }
        ContenderState::Waits => {
            let since = contender.contends_since(table.clock().ahead_ms());
            (since, since)
        }
        ContenderState::Unknown => return None,
    };
    let client = table.clients().identity_of(contender);
    // A name from the settings is of one client, wherever it connects from.
    let named = client.address.as_deref().and_then(|address| table.clients().name_by_settings(address)).cloned();
    Some(CrossClaim {
        lock,
        session,
        node: Arc::clone(&contender.node),
        czxid: contender.czxid,
        holds: row.state == ContenderState::Holds,
        earliest,
        certain,
        name: named.clone().or_else(|| client.name_of_one_client().map(Arc::from)),
        host: named.or_else(|| host(table_at, session, client.address.as_deref())),
        // The time since when it is not connected would change with each look.
        told: ClientIdentity { last_listed: None, ..client }.in_sentence(now),
    })
}

/// Returns the machine of a client. A loopback address is that of its server's machine.
fn host(table_at: TableAt<'_>, session: SessionId, address: Option<&str>) -> Option<Arc<str>> {
    let host = host_of(address?);
    if !is_loopback(host) {
        return Some(host.into());
    }
    let (member, _) = table_at.view().connection_of(session)?;
    let server = host_of(&member.address);
    Some(if is_loopback(server) { "this machine" } else { server }.into())
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    bare == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

/// Returns the cycles over several ensembles, for each ensemble that takes part in one. Each
/// ensemble has the name of its context. Nearly linear in the number of claims, apart from bounded
/// searches.
pub fn cross_waits<'a>(
    all: impl IntoIterator<Item = (&'a Arc<str>, &'a EnsembleClaims)>,
    now: Timestamp,
) -> BTreeMap<Arc<str>, CrossWaits> {
    let all: Vec<_> = all.into_iter().filter(|(_, claims)| !claims.claims.is_empty()).collect();
    let all = each_ensemble_once(all);
    let mut found: BTreeMap<Arc<str>, CrossWaits> = BTreeMap::new();
    if all.len() < 2 {
        return found;
    }
    let mut known: FxHashSet<Vec<CrossNode>> = FxHashSet::default();
    for same in SameClient::ALL {
        for cycle in CrossGraph::new(&all, same).cycles() {
            let mut nodes: Vec<_> = cycle.steps.iter().map(|step| step.holds.clone()).collect();
            nodes.sort();
            let ensembles: FxHashSet<_> = nodes.iter().map(|node| Arc::clone(&node.ensemble)).collect();
            if !known.insert(nodes) {
                continue;
            }
            for ensemble in ensembles {
                let waits = CrossWaits { at: now, ensemble: Arc::clone(&ensemble), cycles: Vec::new() };
                found.entry(ensemble).or_insert(waits).cycles.push(cycle.clone());
            }
        }
    }
    found
}

/// Leaves out contexts that lead to the ensemble of another one, as nodes show that both have. Of
/// these the context with the most claims stays, because it shows the larger part of the tree.
fn each_ensemble_once<'a>(mut all: Vec<(&'a Arc<str>, &'a EnsembleClaims)>) -> Vec<(&'a Arc<str>, &'a EnsembleClaims)> {
    all.sort_by_key(|(_, claims)| std::cmp::Reverse(claims.claims.len()));
    let mut known = FxHashSet::default();
    all.retain(|(_, claims)| {
        let nodes = || claims.claims.iter().map(|claim| (&claim.node, claim.czxid, claim.session));
        let is_known = nodes().any(|node| known.contains(&node));
        if !is_known {
            known.extend(nodes());
        }
        !is_known
    });
    all.sort_by_key(|(name, _)| *name);
    all
}

/// For each ensemble that takes part in one, the cycles of waits over several ensembles.
pub type CrossWaitsByEnsemble = BTreeMap<Arc<str>, Arc<CrossWaits>>;

/// What each ensemble claims, and the cycles of waits over several of them.
#[derive(Clone, Debug, Default)]
pub struct AcrossEnsembles {
    claims: BTreeMap<Arc<str>, EnsembleClaims>,
    is_changed: bool,
    compared_at: Timestamp,
    told: CrossWaitsByEnsemble,
    told_at: Timestamp,
}

/// So many claims are compared with each change. More take tens of milliseconds.
const FEW_CLAIMS: usize = 1_000;

/// The pause between two comparisons of more claims.
const BETWEEN_COMPARISONS: Duration = Duration::from_secs(2);

/// How often the ensembles are told of a cycle that stands.
const TELL_AGAIN: Duration = Duration::from_secs(10);

impl AcrossEnsembles {
    /// Takes the claims of an ensemble as they are now.
    pub fn take(&mut self, name: Arc<str>, claims: EnsembleClaims) {
        if self.claims.get(&name) != Some(&claims) {
            (self.is_changed, _) = (true, self.claims.insert(name, claims));
        }
    }

    /// Forgets an ensemble that is no longer followed.
    pub fn forget(&mut self, name: &str) {
        self.is_changed |= self.claims.remove(name).is_some();
    }

    /// Returns the cycles that were found last.
    pub fn told(&self) -> &CrossWaitsByEnsemble {
        &self.told
    }

    /// Looks for cycles if a claim has changed. Returns them if they are others than those that were
    /// told, or if these were told long ago.
    pub fn compare(&mut self, now: Timestamp) -> Option<CrossWaitsByEnsemble> {
        let is_due = !self.told.is_empty() && now.since(self.told_at) >= TELL_AGAIN;
        let claims: usize = self.claims.values().map(|of| of.claims.len()).sum();
        if claims > FEW_CLAIMS && now >= self.compared_at && now.since(self.compared_at) < BETWEEN_COMPARISONS {
            return None;
        }
        if !std::mem::take(&mut self.is_changed) && !is_due {
            return None;
        }
        self.compared_at = now;
        let found = cross_waits(&self.claims, now);
        let found: CrossWaitsByEnsemble = found.into_iter().map(|(name, waits)| (name, Arc::new(waits))).collect();
        let steps = |all: &CrossWaitsByEnsemble| -> Vec<_> {
            all.values().flat_map(|waits| &waits.cycles).map(|cycle| cycle.steps.clone()).collect()
        };
        if !is_due && steps(&found) == steps(&self.told) {
            return None;
        }
        (self.told, self.told_at) = (found.clone(), now);
        Some(found)
    }
}

/// Returns what to tell a table of the cycles in which its ensemble takes part; `None` when it knows
/// that, or when there are none and it knows of none.
pub fn crossed_now(
    told: Option<&Arc<CrossWaits>>,
    ensemble: &Arc<str>,
    table: &LockTable,
    at: Timestamp,
) -> Option<Arc<CrossWaits>> {
    let is_known = table.crossed().is_some_and(|known| !known.cycles.is_empty());
    let none = || Arc::new(CrossWaits { at, ensemble: Arc::clone(ensemble), cycles: Vec::new() });
    let Some(told) = told else { return is_known.then(none) };
    table.crossed().is_none_or(|known| known.at != told.at).then(|| Arc::clone(told))
}

/// A claim by its ensemble and its place there.
type ClaimPlace = (usize, usize);

/// A lock by its ensemble and its place there.
type LockPlace = (usize, u32);

/// A client that holds one lock and waits for another.
#[derive(Clone, Copy, Debug)]
struct CrossEdge {
    client: usize,
    held: ClaimPlace,
    awaited: ClaimPlace,
}

/// The steps from lock to lock, with the clients joined in one way.
struct CrossGraph<'a> {
    all: &'a [(&'a Arc<str>, &'a EnsembleClaims)],
    same: SameClient,
    /// By the lock that is held.
    edges: FxHashMap<LockPlace, Vec<CrossEdge>>,
}

impl<'a> CrossGraph<'a> {
    fn new(all: &'a [(&'a Arc<str>, &'a EnsembleClaims)], same: SameClient) -> Self {
        let mut graph = Self { all, same, edges: FxHashMap::default() };
        let mut left = MAX_CROSS_STEPS;
        for (client, claims) in joined(all, same).into_iter().enumerate() {
            let (holds, waits): (Vec<_>, Vec<_>) = claims.into_iter().partition(|place| graph.claim(*place).holds);
            for (held, awaited) in holds.iter().flat_map(|held| waits.iter().map(move |awaited| (*held, *awaited))) {
                let (hold, wait) = (graph.claim(held), graph.claim(awaited));
                // One thread waits only for what it asked for after it got what it holds.
                if left > 0 && hold.earliest <= wait.certain.plus(MAX_CLOCK_ERROR) {
                    left -= 1;
                    graph.edges.entry((held.0, hold.lock)).or_default().push(CrossEdge { client, held, awaited });
                }
            }
        }
        graph
    }

    fn claim(&self, (ensemble, at): ClaimPlace) -> &'a CrossClaim {
        &self.all[ensemble].1.claims[at]
    }

    fn lock_of(&self, place: ClaimPlace) -> LockPlace {
        (place.0, self.claim(place).lock)
    }

    /// Returns the cycles over two or more ensembles: each has a step from one to another.
    fn cycles(&self) -> Vec<CrossCycle> {
        let mut first: Vec<&CrossEdge> =
            self.edges.values().flatten().filter(|edge| edge.held.0 != edge.awaited.0).collect();
        first.sort_by_key(|edge| (edge.held, edge.awaited));
        let mut left = MAX_CROSS_STEPS;
        first.into_iter().filter_map(|edge| self.around(*edge, &mut left)).take(MAX_CROSS_CYCLES).collect()
    }

    /// Returns the shortest way from the awaited lock of a step back to its held lock.
    fn around(&self, first: CrossEdge, left: &mut usize) -> Option<CrossCycle> {
        let (begin, goal) = (self.lock_of(first.awaited), self.lock_of(first.held));
        let mut came: FxHashMap<LockPlace, CrossEdge> = FxHashMap::default();
        let mut open = VecDeque::from([(begin, first.client)]);
        while let Some((at, client)) = open.pop_front() {
            for edge in self.edges.get(&at).into_iter().flatten().filter(|edge| edge.client != client) {
                *left = left.checked_sub(1)?;
                let to = self.lock_of(edge.awaited);
                if to == begin || came.contains_key(&to) || (to == goal && edge.client == first.client) {
                    continue;
                }
                came.insert(to, *edge);
                if to == goal {
                    return Some(self.cycle(first, begin, &came));
                }
                open.push_back((to, edge.client));
            }
        }
        None
    }

    fn cycle(&self, first: CrossEdge, begin: LockPlace, came: &FxHashMap<LockPlace, CrossEdge>) -> CrossCycle {
        let mut edges = Vec::new();
        let mut at = self.lock_of(first.held);
        while at != begin {
            let edge = came[&at];
            edges.push(edge);
            at = self.lock_of(edge.held);
        }
        edges.push(first);
        edges.reverse();
        let since = edges.iter().flat_map(|edge| [edge.held, edge.awaited]).map(|place| self.claim(place).certain);
        let since = since.max().unwrap_or_default();
        let step = |edge: &CrossEdge| CrossStep {
            client: self.claim(edge.held).told.clone(),
            holds: self.node(edge.held),
            awaits: self.node(edge.awaited),
        };
        let has_election = edges.iter().any(|edge| self.claimed(edge.held).is_election);
        CrossCycle { same: self.same, has_election, since, steps: edges.iter().map(step).collect() }
    }

    fn node(&self, place: ClaimPlace) -> CrossNode {
        let (ClaimedLock { path, name, .. }, claim) = (self.claimed(place).clone(), self.claim(place));
        let (ensemble, node) = (Arc::clone(self.all[place.0].0), Arc::clone(&claim.node));
        CrossNode { ensemble, path, name, node, czxid: claim.czxid }
    }

    fn claimed(&self, place: ClaimPlace) -> &'a ClaimedLock {
        &self.all[place.0].1.locks[self.claim(place).lock as usize]
    }
}

/// What joins sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum JoinedBy<'a> {
    Session(usize, SessionId),
    Name(&'a str, Option<&'a str>),
    Host(&'a str),
}

/// Returns the claims of each client. Sessions count as one client if they have in common what
/// `same` says.
fn joined(all: &[(&Arc<str>, &EnsembleClaims)], same: SameClient) -> Vec<Vec<ClaimPlace>> {
    let ambiguous = names_of_several_hosts(all);
    let mut groups = Groups::default();
    let each = || all.iter().enumerate().flat_map(|(at, (_, claims))| claims.claims.iter().map(move |c| (at, c)));
    for (ensemble, claim) in each() {
        let session = groups.place(JoinedBy::Session(ensemble, claim.session));
        let key = match (same, claim.name.as_deref(), claim.host.as_deref()) {
            (SameClient::NameAndHost, Some(name), Some(host)) => Some(JoinedBy::Name(name, Some(host))),
            (SameClient::Name, Some(name), _) if !ambiguous.contains(name) => Some(JoinedBy::Name(name, None)),
            (SameClient::Host, None, Some(host)) => Some(JoinedBy::Host(host)),
            _ => None,
        };
        if let Some(key) = key {
            let key = groups.place(key);
            groups.join(session, key);
        }
    }
    let mut clients: BTreeMap<usize, Vec<ClaimPlace>> = BTreeMap::new();
    for (ensemble, (_, claims)) in all.iter().enumerate() {
        for (at, claim) in claims.claims.iter().enumerate() {
            let session = groups.place(JoinedBy::Session(ensemble, claim.session));
            clients.entry(groups.root(session)).or_default().push((ensemble, at));
        }
    }
    clients.into_values().collect()
}

/// Returns the names that clients of several hosts have: such a name alone tells nobody.
fn names_of_several_hosts<'a>(all: &[(&'a Arc<str>, &'a EnsembleClaims)]) -> FxHashSet<&'a str> {
    let mut hosts: FxHashMap<&str, &str> = FxHashMap::default();
    let mut several = FxHashSet::default();
    for claim in all.iter().flat_map(|(_, claims)| &claims.claims) {
        let (Some(name), Some(host)) = (claim.name.as_deref(), claim.host.as_deref()) else { continue };
        if *hosts.entry(name).or_insert(host) != host {
            several.insert(name);
        }
    }
    several
}

/// Disjoint groups.
#[derive(Default)]
struct Groups<'a> {
    places: FxHashMap<JoinedBy<'a>, usize>,
    above: Vec<usize>,
}

impl<'a> Groups<'a> {
    fn place(&mut self, of: JoinedBy<'a>) -> usize {
        let next = self.above.len();
        let place = *self.places.entry(of).or_insert(next);
        if place == next {
            self.above.push(next);
        }
        place
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.above[at] != at {
            self.above[at] = self.above[self.above[at]];
            at = self.above[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.above[one] = other;
    }
}

/// A lock, and its holder.
type HeldLock<'a> = (&'a LockQueue, &'a Contender);

/// Returns the cycles over several ensembles that a table was told of lately, each with the locks of
/// this ensemble in it. What a cycle says of this ensemble is still true.
pub fn standing_cross_cycles<'a>(table_at: TableAt<'a>) -> Vec<(&'a CrossCycle, Vec<HeldLock<'a>>)> {
    let crossed = table_at.table().crossed().filter(|crossed| table_at.now().since(crossed.at) <= MAX_CROSSED_AGE);
    let of = |crossed: &'a CrossWaits| {
        crossed.cycles.iter().filter_map(move |cycle| Some((cycle, cross_locks(table_at, crossed, cycle)?)))
    };
    crossed.into_iter().flat_map(of).collect()
}

/// Returns the locks of a cycle that are in this ensemble, with their holders; `None` when one of its
/// claims here is no longer true.
fn cross_locks<'a>(table_at: TableAt<'a>, crossed: &CrossWaits, cycle: &CrossCycle) -> Option<Vec<HeldLock<'a>>> {
    let row = |node: &CrossNode| {
        let lock = table_at.table().lock(table_at.table().find(&node.path, node.name.as_deref())?)?;
        let row = table_at.table().row_of(lock, &node.node).filter(|row| row.contender.czxid == node.czxid)?;
        Some((lock, row))
    };
    let mut held = Vec::new();
    for step in &cycle.steps {
        if step.holds.ensemble == crossed.ensemble {
            let (lock, row) = row(&step.holds).filter(|(_, row)| row.state == ContenderState::Holds)?;
            held.push((lock, row.contender));
        }
        if step.awaits.ensemble == crossed.ensemble {
            row(&step.awaits).filter(|(_, row)| row.state == ContenderState::Waits)?;
        }
    }
    Some(held)
}

/// Describes a step of a cycle: which client holds what, and what it waits for.
pub fn describe_cross_step(step: &CrossStep) -> String {
    let lock = |node: &CrossNode| {
        let name = node.name.as_deref().map(|name| format!(" [{}]", escaped(name))).unwrap_or_default();
        format!("{}{name} in {}", escaped(node.path.as_str()), escaped(&node.ensemble))
    };
    format!("{} holds {}, waits for {}", step.client, lock(&step.holds), lock(&step.awaits))
}

/// Describes a cycle: each client waits for the lock that the next one holds.
pub fn describe_cross(cycle: &CrossCycle) -> String {
    const MOST_NAMED: usize = 5;
    let more = cycle.steps.len().saturating_sub(MOST_NAMED);
    let each = cycle.steps.iter().take(MOST_NAMED).map(describe_cross_step);
    let more = (more > 0).then(|| format!("and {more} more"));
    let same = format!("the clients of the ensembles are matched {}", cycle.same.words());
    each.chain(more).chain([same]).collect::<Vec<_>>().join("; ")
}

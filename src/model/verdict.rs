//! What is known of the locks of an ensemble: trouble, well with what was looked at, or not known
//! with the reason.
//!
//! Every place that says "OK" or "no finding" takes it from a [`Verdict`]. Architecture invariant:
//! an empty list of findings proves nothing. `Well` carries a [`LookedAt`], which only this module
//! can make, from a look at a live table:
//!
//! ```compile_fail
//! let looked = lockscope_model::verdict::LookedAt { locks: 3 };
//! ```
//!
//! [`ServerTrouble`] is what is wrong with the servers themselves, whatever the locks are.

use std::fmt;
use std::time::Duration;

use crate::diagnose::{Code, Diagnosis, LastLook, OpenCheck, Severity, is_likely_election, not_seen};
use crate::queue::LockTable;
use crate::server_view::{MemberView, ServerView};
use crate::text::human::{count, duration, plural};
use lockscope_base::znode::{Timestamp, ZnodePath};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod servers_tests;

/// What is known of the locks of one ensemble at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is a finding that counts, or servers do not serve.
    Trouble(Trouble),
    /// There is no finding that counts, and the looks would have shown one.
    Well(LookedAt),
    /// There is no finding that counts, and there may be one.
    Unknown(NotKnown),
}

/// What is wrong with an ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    worst: Severity,
    servers: Option<ServerTrouble>,
    looked: Option<LookedAt>,
}

/// The kind of a [`Verdict`], from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictKind {
    /// See [`Verdict::Well`].
    Well,
    /// See [`Verdict::Unknown`].
    Unknown,
    /// See [`Verdict::Trouble`].
    Trouble,
}

impl VerdictKind {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Well => "well",
            Self::Unknown => "unknown",
        }
    }
}

/// Why it is not known whether the locks are well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKnown {
    /// The table is not in step with the ensemble.
    NotLive,
    /// No look for findings was made yet.
    NoLook,
    /// A part of the tree cannot be read, and may contain locks in any state.
    Unreadable {
        /// The number of places.
        places: usize,
        /// The first of them.
        first: ZnodePath,
        /// Why it cannot be read.
        why: String,
    },
    /// Checks are not decided yet.
    Open {
        /// The number of checks.
        checks: usize,
        /// One of them; `None` if there are too many to keep.
        first: Option<Box<OpenCheck>>,
        /// How much longer to look until all are decided; `None` where that is not known.
        known_in: Option<Duration>,
    },
}

impl Verdict {
    /// Judges a table by the looks at it, which lasted for `looked` until `now`. Findings less severe
    /// than `fail_on` do not count, nor do muted ones. Linear in the number of locks.
    pub fn of(table: &LockTable, diagnosis: &Diagnosis, looked: Duration, now: Timestamp, fail_on: Severity) -> Self {
        let look = diagnosis.last_look().filter(|_| table.is_live());
        // Without a look at the locks, less than critical trouble says too little.
        let counts = |severity: Severity| severity >= fail_on && (look.is_some() || severity == Severity::Critical);
        let servers = ServerTrouble::that_counts(table, now).filter(|servers| counts(servers.severity()));
        let finding = look.and_then(|_| diagnosis.unmuted().next()).map(|finding| finding.severity);
        let finding = finding.filter(|worst| *worst >= fail_on);
        if let Some(worst) = finding.max(servers.as_ref().map(ServerTrouble::severity)) {
            let looked = look.map(|look| LookedAt::new(table, diagnosis, look, looked));
            return Self::Trouble(Trouble { worst, servers, looked });
        }
        if !table.is_live() {
            return Self::Unknown(NotKnown::NotLive);
        }
        let Some(look) = look else { return Self::Unknown(NotKnown::NoLook) };
        if let Some((first, why)) = table.unreadable().first_key_value() {
            let (first, why) = (first.clone(), why.clone());
            return Self::Unknown(NotKnown::Unreadable { places: table.unreadable().len(), first, why });
        }
        match look.open_count(fail_on) {
            0 => Self::Well(LookedAt::new(table, diagnosis, look, looked)),
            checks => Self::Unknown(NotKnown::of_open(look, checks, fail_on)),
        }
    }

    /// Judges the locks of a console, by its looks since the last gap. What somebody should look at
    /// counts.
    pub fn of_now(table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) -> Self {
        let looked = diagnosis.last_look().map(LastLook::lasted).unwrap_or_default();
        Self::of(table, diagnosis, looked, now, Severity::Warning)
    }

    /// Returns the kind.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Self::Trouble(..) => VerdictKind::Trouble,
            Self::Well(_) => VerdictKind::Well,
            Self::Unknown(_) => VerdictKind::Unknown,
        }
    }

    /// Returns what was looked at; `None` where that proves nothing.
    pub fn looked_at(&self) -> Option<&LookedAt> {
        match self {
            Self::Trouble(trouble) => trouble.looked.as_ref(),
            Self::Well(looked) => Some(looked),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the severity of the worst trouble.
    pub fn worst(&self) -> Option<Severity> {
        if let Self::Trouble(trouble) = self { Some(trouble.worst) } else { None }
    }

    /// Returns what is wrong with the servers, if that counts.
    pub fn servers(&self) -> Option<&ServerTrouble> {
        if let Self::Trouble(trouble) = self { trouble.servers.as_ref() } else { None }
    }

    /// Returns why it is not known whether the locks are well.
    pub fn not_known(&self) -> Option<&NotKnown> {
        if let Self::Unknown(why) = self { Some(why) } else { None }
    }
}

impl NotKnown {
    fn of_open(look: &LastLook, checks: usize, fail_on: Severity) -> Self {
        let mut open = look.open().iter().filter(|open| open.severity >= fail_on);
        let known_in = open.clone().map(|open| open.known_in).try_fold(Duration::ZERO, |all, one| Some(all.max(one?)));
        Self::Open { checks, first: open.next().cloned().map(Box::new), known_in }
    }

    /// Returns the reason in words. Names from the tree are as they are, and must be escaped.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotLive => "the locks are not in step with the ensemble".to_owned(),
            Self::NoLook => "nobody has looked for findings yet".to_owned(),
            Self::Unreadable { places: 1, first, why } => format!("{first} cannot be read: {why}"),
            Self::Unreadable { places, first, why } => {
                format!("{} cannot be read, {first} among them: {why}", plural(*places, "place", "places"))
            }
            Self::Open { checks, known_in, .. } => {
                let when = known_in.map(|known_in| format!(", known in {}", duration(known_in))).unwrap_or_default();
                format!("{} not decided yet{when}", plural(*checks, "check is", "checks are"))
            }
        }
    }
}

/// What was looked at, without a finding that counts or beside one.
///
/// There is no public constructor: only a look at a live table makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    locks: usize,
    lasted: Duration,
    rounds: u64,
    unsought: Vec<Unsought>,
}

/// A kind of finding that the looks could have shown at no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsought {
    /// The kind.
    pub code: Code,
    /// What would show it.
    pub needs: Needs,
}

/// What would show a kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Looks that last for so long.
    Longer(Duration),
    /// The servers' answers about their clients.
    Servers,
    /// What happened before the first look.
    Past,
}

impl Needs {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Longer(_) => "longer-look",
            Self::Servers => "servers",
            Self::Past => "past",
        }
    }
}

impl LookedAt {
    fn new(table: &LockTable, diagnosis: &Diagnosis, look: &LastLook, lasted: Duration) -> Self {
        Self { locks: table.lock_count(), lasted, rounds: look.rounds, unsought: unsought(table, diagnosis, lasted) }
    }

    /// Returns the number of locks.
    pub fn locks(&self) -> usize {
        self.locks
    }

    /// Returns how long the looks lasted.
    pub fn lasted(&self) -> Duration {
        self.lasted
    }

    /// Returns the number of looks.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns the kinds of findings whose absence proves nothing, in the order of the codes.
    pub fn unsought(&self) -> &[Unsought] {
        &self.unsought
    }

    /// Returns `6 kinds need a longer look, 9 the servers' answers`; `None` if nothing is missing.
    pub fn what_is_missing(&self) -> Option<String> {
        let number = |is: fn(&Needs) -> bool| self.unsought.iter().filter(|unsought| is(&unsought.needs)).count();
        let parts = [
            (number(|needs| matches!(needs, Needs::Longer(_))), "a longer look"),
            (number(|needs| *needs == Needs::Servers), "the servers' answers"),
            (number(|needs| *needs == Needs::Past), "a recording of the time before"),
        ];
        let mut parts = parts.into_iter().filter(|(kinds, _)| *kinds > 0);
        let (kinds, what) = parts.next()?;
        let kind = if kinds == 1 { "kind needs" } else { "kinds need" };
        let first = format!("{} {kind} {what}", count(kinds));
        Some(parts.fold(first, |text, (kinds, what)| format!("{text}, {} {what}", count(kinds))))
    }
}

fn unsought(table: &LockTable, diagnosis: &Diagnosis, lasted: Duration) -> Vec<Unsought> {
    let (thresholds, view) = (diagnosis.thresholds(), table.view());
    let too_short = not_seen(thresholds, lasted);
    let servers_tell = view.provenance().can_prove() && view.every_member_answered();
    let began_lately = lasted < thresholds.flapping.within;
    let (has_locks, has_elections) = (table.lock_count() > 0, table.locks().any(is_likely_election));
    let needs = |code: Code| {
        if code.needs_servers() && !servers_tell {
            return Some(Needs::Servers);
        }
        let is_of_the_past = match code {
            Code::TwoLeaders | Code::Flapping | Code::ParticipantMissing => has_elections,
            Code::HeadChangedByExpiry => has_locks,
            _ => false,
        };
        if is_of_the_past && began_lately {
            return Some(Needs::Past);
        }
        too_short.iter().find(|kind| kind.code == code).map(|kind| Needs::Longer(kind.needs))
    };
    Code::ALL.into_iter().filter_map(|code| Some(Unsought { code, needs: needs(code)? })).collect()
}

/// Maximum number of servers that a sentence names.
const MAX_SERVERS_NAMED: usize = 5;

/// Servers that do not serve clients, as two rounds of questions in a row showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTrouble {
    severity: Severity,
    /// The addresses of those that do not answer.
    silent: Vec<String>,
    /// The addresses of those that answer that they have no leader.
    leaderless: Vec<String>,
    /// The number of all known servers.
    all: usize,
}

impl ServerTrouble {
    /// Judges the servers by their answers. A part of them out of service is a warning, all of them
    /// are critical. Where none answers, nothing is known: all may be out of reach from here.
    pub fn of(view: &ServerView) -> Option<Self> {
        let (leaderless, silent): (Vec<&MemberView>, _) = view.out_of_service().partition(|member| member.answers());
        let all = view.members.len();
        let severity = match (view.is_served(), leaderless.len() + silent.len()) {
            (_, 0) => return None,
            (true, _) => Severity::Warning,
            (false, out) if out == all && !leaderless.is_empty() => Severity::Critical,
            (false, _) => return None,
        };
        let addresses = |members: Vec<&MemberView>| members.into_iter().map(|member| member.address.clone()).collect();
        Some(Self { severity, silent: addresses(silent), leaderless: addresses(leaderless), all })
    }

    /// Judges the servers of a table like [`of`](Self::of). While their maintenance goes on, nothing
    /// counts.
    pub fn that_counts(table: &LockTable, now: Timestamp) -> Option<Self> {
        Self::of(table.view()).filter(|_| table.mutes().maintenance(now).is_none())
    }

    /// Returns how bad it is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Returns the number of servers that do not answer.
    pub fn silent(&self) -> usize {
        self.silent.len()
    }

    /// Returns the number of servers that are not out of service, and the number of all.
    pub fn serving(&self) -> (usize, usize) {
        (self.all.saturating_sub(self.silent.len() + self.leaderless.len()), self.all)
    }

    /// Returns what to do about it.
    pub fn remedy(&self) -> &'static str {
        match self.severity {
            Severity::Critical => "start servers until a majority runs, and check the network between them",
            _ => "start a server that is down again, or see in its log why it does not serve",
        }
    }
}

impl fmt::Display for ServerTrouble {
    /// Writes `1 of 3 servers does not answer: zk3:2181`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups =
            [(&self.silent, "does not answer", "do not answer"), (&self.leaderless, "has no leader", "have no leader")];
        let groups = groups.into_iter().filter(|(members, ..)| !members.is_empty());
        let verb = |members: &[String], one, many| if members.len() == 1 { one } else { many };
        if self.severity == Severity::Critical {
            let parts =
                groups.map(|(members, one, many)| format!("{} {}", server_names(members), verb(members, one, many)));
            return write!(f, "no server serves clients: {}", parts.collect::<Vec<_>>().join("; "));
        }
        let parts = groups.map(|(members, one, many)| {
            let (out, all) = (count(members.len()), count(self.all));
            format!("{out} of {all} servers {}: {}", verb(members, one, many), server_names(members))
        });
        f.write_str(&parts.collect::<Vec<_>>().join("; "))
    }
}

/// Returns the first few addresses, separated by commas.
fn server_names(members: &[String]) -> String {
    let named = members.iter().take(MAX_SERVERS_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match members.len().saturating_sub(MAX_SERVERS_NAMED) {
        0 => named,
        more => format!("{named} and {} more", count(more)),
    }
}

//! What happened, in a few paragraphs: one for each cause, those that cost most first, and then one
//! for each critical finding that none of them names.
//!
//! A paragraph says which locks stood because of its cause, for how long, and who waited.
//!
//! What a finding says of its own length is as old as the finding: a paragraph has the true length
//! instead, and the table of events has the finding as it was raised.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::causes::{Cause, CauseKind, Critical, LONGEST_TIMEOUT, MIN_TOLD, causes, is_moment, time_of, untold};
use super::words::{ShownTimes, calm, held};
use super::{Incident, words};
use crate::record::history::{PastContender, PastEnsembleEvent, PastFinding, PastGap};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::TimeRange;
use lockscope_model::diagnose::Code;
use lockscope_model::ensemble::EnsembleEventKind;
use lockscope_model::text::human::{count, duration, plural};

/// The most causes, and the most critical findings beside them, with a paragraph.
const MAX_PARAGRAPHS: usize = 5;

/// A cause that cost less, and less than a hundredth of all, has no paragraph.
const MIN_COST_MS: u64 = 60_000;

/// What is told of an incident.
#[derive(Debug)]
pub struct Narrative<'a> {
    pub paragraphs: Vec<Paragraph<'a>>,
    /// What has no paragraph, in sentences.
    pub left_out: Vec<String>,
    /// The only sentence if there is no paragraph.
    pub calm: Option<String>,
}

/// A cause, or a critical finding, as it is told.
#[derive(Debug)]
pub struct Paragraph<'a> {
    /// What it is: the name of an event of the ensemble, or `finding`, `not-seen`,
    /// `session-expired`, `kept` or `nobody-held`.
    pub kind: &'static str,
    /// The code of the finding. Unescaped.
    pub finding: Option<&'a str>,
    pub time: TimeRange,
    /// How long all contenders are known to have waited because of it, summed up, in milliseconds.
    pub cost_ms: u64,
    /// The longest that they can have waited.
    pub most_cost_ms: u64,
    /// The locks, as indexes into those of the incident, those with the most waiting first.
    pub locks: Vec<usize>,
    /// The gap that it tells.
    pub gap: Option<&'a PastGap>,
    pub text: String,
}

impl Narrative<'_> {
    /// Returns whether a paragraph tells of a gap.
    pub fn has(&self, gap: &PastGap) -> bool {
        self.paragraphs.iter().any(|paragraph| paragraph.gap.is_some_and(|told| std::ptr::eq(told, gap)))
    }
}

/// Tells an incident.
pub fn told<'a>(incident: &Incident<'a>, utc: bool) -> Narrative<'a> {
    let all = incident.cost_ms();
    let is_worth = |cause: &Cause<'_>| match cause.kind {
        CauseKind::Ensemble(event) if event.what == EnsembleEventKind::NoMajority => {
            time_of(event, incident.window.known_until).length() >= MIN_TOLD
        }
        _ => {
            let lasts = cause.pieces.iter().any(|piece| piece.time.length() >= MIN_TOLD);
            lasts && (cause.most_cost_ms >= MIN_COST_MS || cause.most_cost_ms.saturating_mul(100) >= all)
        }
    };
    let mut worth: Vec<Cause<'a>> = causes(incident).into_iter().filter(is_worth).collect();
    let mut left_out = Vec::new();
    let others = worth.split_off(worth.len().min(MAX_PARAGRAPHS));
    let is_outage = |cause: &Cause<'_>| match cause.kind {
        CauseKind::Ensemble(event) => event.what == EnsembleEventKind::NoMajority,
        _ => false,
    };
    // A lost majority is critical, too, whatever it cost.
    let (mut outages, mut others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_outage);
    others.extend(outages.split_off(outages.len().min(MAX_PARAGRAPHS)));
    worth.append(&mut outages);
    if !others.is_empty() {
        let cost = others.iter().map(|cause| cause.cost_ms).fold(0, u64::saturating_add);
        left_out.push(format!(
            "{} of waiting, {} in all, cost less and have no paragraph.",
            plural(others.len(), "other cause", "other causes"),
            duration(Duration::from_millis(cost))
        ));
    }
    let mut critical = untold(incident, &worth);
    let unnamed = critical.split_off(critical.len().min(MAX_PARAGRAPHS)).len();
    if unnamed > 0 {
        left_out.push(format!(
            "{} no paragraph: the events below have them.",
            plural(unnamed, "other critical finding has", "other critical findings have")
        ));
    }
    let times = ShownTimes::of(incident, utc);
    let paragraphs = worth.iter().map(|cause| of_cause(incident, cause, times));
    let paragraphs: Vec<_> =
        paragraphs.chain(critical.iter().map(|found| of_critical(incident, found, times))).collect();
    let calm = paragraphs.is_empty().then(|| calm(incident, MIN_TOLD));
    Narrative { paragraphs, left_out, calm }
}

fn of_cause<'a>(incident: &Incident<'a>, cause: &Cause<'a>, times: ShownTimes) -> Paragraph<'a> {
    let stood = StoodStill::of(incident, cause);
    let until = incident.window.known_until;
    let (mut finding, mut gap_told) = (None, None);
    let (kind, time, text) = match &cause.kind {
        CauseKind::Ensemble(event) => {
            (event.what.id(), time_of(event, until), of_event(incident, event, &stood, times))
        }
        CauseKind::NotSeen(gap) => {
            gap_told = Some(*gap);
            let time = TimeRange { from: gap.from, to: gap.to.unwrap_or(until) };
            let (when, reason) = (times.of_range(time), words::sentence(&gap.reason));
            let text = format!("Nothing was seen {when}: {reason}. {}; why is not known.", stood.without_times());
            ("not-seen", time, text)
        }
        CauseKind::Findings(findings) => {
            finding = findings.first().map(|finding| finding.code.as_str());
            let why = finding.map(means).unwrap_or_default();
            (
                "finding",
                stood.time,
                format!("{}: {} ({why}).", stood.with_times(times), holders(incident, cause, times)),
            )
        }
        CauseKind::SessionEnd => {
            let unheard = "no server heard its client for the timeout of the session";
            let text = format!(
                "{}: {}; {unheard}{}.",
                stood.with_times(times),
                holders(incident, cause, times),
                meanwhile(cause)
            );
            ("session-expired", stood.time, text)
        }
        CauseKind::Kept | CauseKind::NobodyHeld => {
            let who = holders(incident, cause, times);
            let text =
                format!("{}: {who}; nothing was found that says why{}.", stood.with_times(times), meanwhile(cause));
            (if cause.holders.is_empty() { "nobody-held" } else { "kept" }, stood.time, text)
        }
    };
    Paragraph {
        kind,
        finding,
        time,
        cost_ms: cause.cost_ms,
        most_cost_ms: cause.most_cost_ms,
        locks: stood.locks,
        gap: gap_told,
        text,
    }
}

fn of_event(incident: &Incident<'_>, event: &PastEnsembleEvent, stood: &StoodStill, times: ShownTimes) -> String {
    let until = incident.window.known_until;
    let widest = time_of(event, until);
    let certain = TimeRange { from: event.began.before, to: event.ended.map_or(until, |ended| ended.after) }.length();
    let is_wide = !certain.is_zero() && widest.length() >= certain + MIN_TOLD;
    let certain = if is_wide { format!(", {} of it for certain", duration(certain)) } else { String::new() };
    let member = event.member.as_deref().map(|member| format!(" to {}", words::name(member))).unwrap_or_default();
    let epoch = event.epoch.map(|epoch| format!(", with epoch {epoch}")).unwrap_or_default();
    let detail = event.detail.as_deref().map(|detail| format!(" ({})", words::sentence(detail))).unwrap_or_default();
    let when = if is_moment(event) { times.between(widest) } else { format!("{}{certain}", times.of_range(widest)) };
    let (what, ends_sessions) = match event.what {
        EnsembleEventKind::NoMajority => (format!("Nobody was served {when}: the ensemble had no majority"), true),
        EnsembleEventKind::Election => (format!("The members elected a leader {when}{epoch}"), true),
        EnsembleEventKind::LeaderChanged => {
            (format!("The leadership of the ensemble went over{member} {when}{epoch}"), false)
        }
        EnsembleEventKind::ClockSetBack => (format!("The leaders' clock was set back {when}"), false),
        EnsembleEventKind::SlowWrites => (format!("Writes took a second or longer {when}"), false),
        EnsembleEventKind::MemberMissing | EnsembleEventKind::NotSeen => (format!("Nothing was seen {when}"), false),
    };
    let lasts = if event.ended.is_none() { ", and it lasted when the recording ended" } else { "" };
    // A transaction log shows the sessions that ended, too.
    let is_said = event.detail.as_deref().is_some_and(|detail| detail.contains("sessions expired"));
    let sessions = if ends_sessions && !is_said { ended_sessions(incident, widest) } else { 0 };
    let ended = match sessions {
        0 => String::new(),
        1 => "; 1 session ended then, whose client may live".to_owned(),
        many => format!("; {} ended then, whose clients may live", plural(many, "session", "sessions")),
    };
    let stood =
        if stood.locks.is_empty() { "No lock is known to have stood".to_owned() } else { stood.without_times() };
    format!("{what}{lasts}{detail}. {stood}{ended}.")
}

/// Returns how many sessions expired during a time without service, or within their timeout after it.
fn ended_sessions(incident: &Incident<'_>, time: TimeRange) -> usize {
    let time = TimeRange { from: time.from, to: time.to.plus(LONGEST_TIMEOUT) };
    let expired = incident.window.contenders.iter().filter(|past| {
        past.end == ContenderEnd::Expired && past.ended.is_some_and(|ended| time.contains(ended.before))
    });
    expired.filter_map(|past| past.session).collect::<BTreeSet<_>>().len()
}

/// Describes the holds of a cause.
fn holders(incident: &Incident<'_>, cause: &Cause<'_>, times: ShownTimes) -> String {
    let Some(past) = cause.holders.first().and_then(|at| incident.contender(*at)) else {
        return "nobody is known to have held it".to_owned();
    };
    let beside = match cause.beside {
        0 => String::new(),
        beside => format!(", beside {}", plural(beside, "other holder", "other holders")),
    };
    let more = match cause.holders.len() - 1 {
        0 => String::new(),
        more => format!(", the first of {} such holds", count(more + 1)),
    };
    format!("{} {}{beside}{more}", words::client(past), held(past, times))
}

/// Names a finding that explains too little.
fn meanwhile(cause: &Cause<'_>) -> String {
    let Some(finding) = cause.meanwhile else { return String::new() };
    let lasted = finding.cleared_at.map(|cleared| format!(" for {}", duration(cleared.since(finding.raised_at))));
    format!(" (meanwhile: {}{})", words::name(&finding.code), lasted.unwrap_or_default())
}

fn of_critical<'a>(incident: &Incident<'a>, critical: &Critical<'a>, times: ShownTimes) -> Paragraph<'a> {
    let Critical { lock, finding, time, more, last_leader } = critical;
    let rows = &incident.locks[*lock];
    let name = words::lock(rows.path, rows.name);
    let when = times.of_range(*time);
    let open = if finding.cleared_at.is_none() { ", and still when the recording ended" } else { "" };
    let again = match more {
        0 => String::new(),
        more => format!(" It was found {} more.", plural(*more, "time", "times")),
    };
    let text = if Code::from_id(&finding.code) == Some(Code::NobodyLeads) {
        let led = last_leader.and_then(|at| incident.contender(at));
        let led = led.map(|past| format!(": {} {}", words::client(past), held(past, times)));
        format!("Nobody led {name} {when}{open}{}.{again}", led.unwrap_or_default())
    } else {
        let who = whose(incident, critical).map(|who| format!(" of {who}")).unwrap_or_default();
        let code = words::name(&finding.code);
        let meaning = meaning(&finding.code).map(|meaning| format!(": {meaning}")).unwrap_or_default();
        format!("{name} had the critical finding {code}{who} {when}{open}{meaning}.{again}")
    };
    Paragraph {
        kind: "finding",
        finding: Some(&finding.code),
        time: *time,
        cost_ms: 0,
        most_cost_ms: 0,
        locks: vec![*lock],
        gap: None,
        text,
    }
}

/// Returns the client of a finding's node.
fn whose(incident: &Incident<'_>, critical: &Critical<'_>) -> Option<String> {
    let PastFinding { node, raised_at, .. } = critical.finding;
    let is_it = |past: &&PastContender| Some(past.node.as_str()) == node.as_deref() && past.began_at() <= *raised_at;
    let contenders = incident.locks[critical.lock].contenders.iter().rev();
    contenders.filter_map(|at| incident.contender(*at)).find(is_it).map(words::client)
}

/// Returns the code of a finding with its meaning.
fn means(code: &str) -> String {
    let name = words::name(code);
    meaning(code).map_or_else(|| name.clone(), |meaning| format!("{name}: {meaning}"))
}

fn meaning(code: &str) -> Option<&'static str> {
    Some(match Code::from_id(code)? {
        Code::Deadlock => "sessions waited for each other in a cycle",
        Code::Ghost => "the node outlived its session",
        Code::MemberDisagrees => "a member showed other nodes than the rest of the ensemble",
        Code::Orphan => "its client did not know of the node, because the reply to the create was lost",
        Code::SelfBlocked => "the session waited for a lock that it held itself",
        Code::LostWakeUp => "the client watched nothing, and did not know that it held",
        Code::ExpiringHolder => "its client had no connection",
        Code::SilentHolder => "its client missed its heartbeats",
        Code::SequenceOverflow => "the sequence numbers of the queue overflowed",
        Code::PersistentContender => "no session owned the node, so that it did not go by itself",
        Code::AdoptedNode => "its host went on with a newer session",
        Code::NobodyHolds => "the first in line waited itself, or did not take what was free",
        Code::UnawareHolder => "the client had not noticed its turn",
        Code::NobodyLeads => "nobody led",
        Code::TwoLeaders => "a former leader may have thought that it still led",
        Code::StaleOwner => "the node belonged to an earlier session of a process that went on with another one",
        _ => return None,
    })
}

/// The locks that stood because of one cause.
#[derive(Debug)]
struct StoodStill {
    /// The locks, as indexes into those of the incident, those with the most waiting first.
    pub locks: Vec<usize>,
    /// From the first to the last moment.
    pub time: TimeRange,
    /// The names of the locks.
    names: String,
    /// How long the lock stood that stood longest.
    longest: Duration,
    parts: usize,
    waiters: usize,
    tries: u64,
    cost: Duration,
    most_cost: Duration,
}

/// What is known of one lock.
#[derive(Clone, Copy, Debug, Default)]
struct OfLock {
    stood: Duration,
    /// The most that waited within one piece: the same ones may wait within another.
    waiters: usize,
    tries: u64,
    cost_ms: u64,
}

impl StoodStill {
    pub fn of(incident: &Incident<'_>, cause: &Cause<'_>) -> Self {
        let mut of_locks: BTreeMap<usize, OfLock> = BTreeMap::new();
        for piece in &cause.pieces {
            let (lock, of_lock) = (&incident.locks[piece.lock], of_locks.entry(piece.lock).or_default());
            of_lock.stood += piece.time.length();
            of_lock.waiters = of_lock.waiters.max(lock.waits.count(piece.time));
            of_lock.tries = of_lock.tries.saturating_add(lock.tried(piece.time));
            of_lock.cost_ms = of_lock.cost_ms.saturating_add(piece.cost_ms);
        }
        let mut locks: Vec<usize> = of_locks.keys().copied().collect();
        locks.sort_by_key(|lock| Reverse(of_locks[lock].cost_ms));
        let from = cause.pieces.iter().map(|piece| piece.time.from).min().unwrap_or_default();
        let to = cause.pieces.iter().map(|piece| piece.time.to).max().unwrap_or_default();
        Self {
            names: names(incident, &locks),
            locks,
            time: TimeRange { from, to },
            longest: of_locks.values().map(|lock| lock.stood).max().unwrap_or_default(),
            parts: cause.pieces.len(),
            waiters: of_locks.values().map(|lock| lock.waiters).sum(),
            tries: of_locks.values().map(|lock| lock.tries).fold(0, u64::saturating_add),
            cost: Duration::from_millis(cause.cost_ms),
            most_cost: Duration::from_millis(cause.most_cost_ms),
        }
    }

    /// Returns a clause such as `/a stood for 27s from 14:41:12.000 on, 2 waited 49s in all`.
    pub fn with_times(&self, times: ShownTimes) -> String {
        let up_to = if self.locks.len() > 1 { "up to " } else { "" };
        let parts = match self.parts {
            parts if parts > 1 && self.locks.len() == 1 => format!(" in {parts} parts"),
            _ => String::new(),
        };
        let (longest, from) = (duration(self.longest), times.at(self.time.from));
        format!("{} stood for {up_to}{longest}{parts} from {from} on, {}", self.names, self.waited())
    }

    /// Returns a clause such as `/a and /b stood, 4 waited 49s in all`.
    pub fn without_times(&self) -> String {
        format!("{} stood, {}", self.names, self.waited())
    }

    fn waited(&self) -> String {
        let (waiters, mut cost) = (count(self.waiters), duration(self.cost));
        if self.most_cost >= self.cost + MIN_TOLD {
            cost = format!("{cost} to {}", duration(self.most_cost));
        }
        match (self.tries, self.waiters) {
            (0, 1) => format!("1 waited {cost}"),
            (0, _) => format!("{waiters} waited {cost} in all"),
            (tries, _) => {
                format!("{waiters} waited or tried {} in vain, {cost} in all", plural(tries, "time", "times"))
            }
        }
    }
}

/// Names two locks, and counts the others.
fn names(incident: &Incident<'_>, locks: &[usize]) -> String {
    let name = |at: &usize| incident.locks.get(*at).map(|lock| words::lock(lock.path, lock.name)).unwrap_or_default();
    match locks {
        [] => String::new(),
        [one] => name(one),
        [one, other] => format!("{} and {}", name(one), name(other)),
        [one, other, rest @ ..] => {
            format!(
                "{} locks ({}, {} and {})",
                count(locks.len()),
                name(one),
                name(other),
                plural(rest.len(), "other", "others")
            )
        }
    }
}

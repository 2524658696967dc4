//! The facts as lines: each event of `lockscope watch` as JSON and for people, and for people the
//! locks and what a check found. The commands without a screen print these on a terminal.
//!
//! Names and sentences from the tree are escaped and shortened, so that every line for people stays
//! readable.
//!
//! Watching begins with the locks and contenders that are there at the start ([`Initial`]). The
//! other lines are events of locks, samples during an overload, gaps in a recording, findings, and
//! what happened to the ensemble. The locks have a line each, with the columns of the screen. A
//! check prints its findings, and what it does not cover. Servers that do not answer what they are
//! asked about themselves are named below both.

use std::borrow::Cow;
use std::fmt::Write;
use std::io;
use std::time::Duration;

use serde::Serialize;

use super::contender::{ClientFacts, millis};
use super::rfc3339;
use crate::diagnose::{Diagnosis, Finding, LastLook, OpenCheck, Severity, WhyOpen};
use crate::ensemble::EnsembleEvent;
use crate::queue::{
    ChildRates, Contender, ContenderRow, ContenderState, Happening, HoldBounds, LockEvent, LockName, LockQueue,
    LockTable, Mute, SampledCounts, WatchEvents,
};
use crate::report::{EnsembleEventLine, FindingNews};
use crate::server_view::ServerView;
use crate::text::human::{bounded, date_and_time, duration, exact_time, plural, rate};
use crate::text::{Align, Charset, Keep, columns, cut, fit};
use crate::verdict::{LookedAt, Needs, Unsought, Verdict};
use lockscope_base::znode::{Timestamp, ZnodePath, escaped};

#[cfg(test)]
mod tests;

/// An event as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HappeningLine<'a> {
    at: Option<String>,
    event: LockEvent,
    /// The lock's path. `null` for an event of the connection, as are `queue` and `watch_events`.
    lock: Option<&'a str>,
    /// The queue's name, where the parent has several queues.
    name: Option<&'a str>,
    node: Option<&'a str>,
    /// The contender's identity. The same in all lines of a contender, even when its node changes.
    contender: Option<String>,
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    waited_ms: Option<u64>,
    held_ms: Option<u64>,
    /// Whether the session may have expired, for `released` and `left`; `null` for other events.
    may_have_expired: Option<bool>,
    /// How a contender ended, for `released`, `left` and `expired`. `gone` means that it released,
    /// left, or that another client deleted its node. `expired` for `settled`.
    end: Option<&'static str>,
    /// The number of contenders in the queue after the event.
    queue: Option<usize>,
    watch_events: Option<WatchEvents>,
    /// Why the connection was cut, for `disconnected`.
    reason: Option<&'a str>,
}

impl<'a> HappeningLine<'a> {
    /// Creates the line of an event. `reason` is the cause, where it is known.
    pub fn new(happening: &'a Happening, reason: Option<&'a str>) -> Self {
        let lock = happening.lock.as_ref();
        Self {
            at: rfc3339(happening.at),
            event: happening.event,
            lock: lock.map(|lock| lock.path.as_str()),
            name: lock.and_then(|lock| lock.name.as_deref()),
            node: happening.node.as_deref(),
            contender: happening.contender.as_ref().map(ToString::to_string),
            session: happening.session.map(|session| session.to_string()),
            client: (&happening.client).into(),
            waited_ms: happening.waited_ms,
            held_ms: happening.held_ms,
            may_have_expired: matches!(happening.event, LockEvent::Released | LockEvent::Left)
                .then_some(happening.may_have_expired),
            end: happening.end(),
            queue: lock.map(|_| happening.queue),
            watch_events: lock.map(|_| happening.watch_events),
            reason,
        }
    }
}

/// A lock that existed when watching began, or one of its contenders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initial {
    happening: Happening,
    /// When the contender's node was created, by the server's clock; `None` for a lock.
    created_at: Option<Timestamp>,
    /// How long a holder has held; `None` for all others, and where this is unknown.
    held: Option<HoldBounds>,
}

/// A lock or a contender at the start, as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitialLine<'a> {
    #[serde(flatten)]
    line: HappeningLine<'a>,
    initial: bool,
    created_at: Option<String>,
    held_at_least_ms: Option<u64>,
    held_at_most_ms: Option<u64>,
}

impl Initial {
    /// Returns a lock that was found at `at`, followed by its contenders in queue order. Holders
    /// have `acquired` it, all others have `enqueued`. Linear in the queue.
    pub fn of_lock(lock: &LockQueue, at: Timestamp, table: &LockTable) -> Vec<Self> {
        let found = Happening::lock_found(lock, at);
        let rows = lock.rows(0..lock.len());
        let contenders: Vec<Self> = rows.map(|row| Self::of_contender(&found, row, table)).collect();
        [Self { happening: found, created_at: None, held: None }].into_iter().chain(contenders).collect()
    }

    fn of_contender(found: &Happening, row: ContenderRow<'_>, table: &LockTable) -> Self {
        let contender = row.contender;
        let holds = row.state == ContenderState::Holds;
        let happening = Happening {
            event: if holds { LockEvent::Acquired } else { LockEvent::Enqueued },
            node: Some(contender.node.clone()),
            contender: Some(contender.id()),
            session: contender.session(),
            client: table.clients().identity_of(contender),
            watch_events: WatchEvents::default(),
            ..found.clone()
        };
        let held = table.clock().hold_bounds(contender, found.at);
        Self { happening, created_at: Some(contender.created_at), held }
    }

    /// Returns the line for people, with its line break. Times are local unless `utc` is set.
    pub fn for_people(&self, utc: bool) -> String {
        let held = self.held.map(|held| {
            let upper = (!held.is_exact()).then(|| format!(" to {}", duration(held.at_most)));
            format!(", held for {}{}", duration(held.at_least), upper.unwrap_or_default())
        });
        let reason = format!("there at the start{}", held.unwrap_or_default());
        happening(&self.happening, Some(&reason), utc)
    }
}

impl<'a> From<&'a Initial> for InitialLine<'a> {
    fn from(initial: &'a Initial) -> Self {
        Self {
            line: HappeningLine::new(&initial.happening, None),
            initial: true,
            created_at: initial.created_at.and_then(rfc3339),
            held_at_least_ms: initial.held.map(|held| millis(held.at_least)),
            held_at_most_ms: initial.held.map(|held| millis(held.at_most)),
        }
    }
}

/// Counts of the children of a lock's parent, sampled during an overload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleFacts {
    /// The times of the last sample and of the first.
    at: Option<String>,
    since: Option<String>,
    children: u64,
    created: u64,
    deleted: u64,
    /// `null` at the first sample.
    created_per_second: Option<f64>,
    deleted_per_second: Option<f64>,
}

impl From<SampledCounts> for SampleFacts {
    fn from(counts: SampledCounts) -> Self {
        let rate = |which: fn(ChildRates) -> f64| counts.per_second.map(|rates| (which(rates) * 10.0).round() / 10.0);
        Self {
            at: rfc3339(counts.at),
            since: rfc3339(counts.since),
            children: counts.children,
            created: counts.created,
            deleted: counts.deleted,
            created_per_second: rate(|rates| rates.created),
            deleted_per_second: rate(|rates| rates.deleted),
        }
    }
}

/// A lock's sample as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleLine<'a> {
    event: &'static str,
    lock: &'a str,
    /// The queue's name, where the parent has several queues. The counts cover all of them.
    name: Option<&'a str>,
    #[serde(flatten)]
    facts: SampleFacts,
}

impl<'a> SampleLine<'a> {
    /// The name of the event.
    pub const EVENT: &'static str = "sampled";

    /// Creates the line of a lock.
    pub fn new(lock: &'a LockName, counts: SampledCounts) -> Self {
        Self { event: Self::EVENT, lock: lock.path.as_str(), name: lock.name.as_deref(), facts: counts.into() }
    }
}

/// A time in which nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapLine {
    at: Option<String>,
    event: &'static str,
    until: Option<String>,
}

impl GapLine {
    /// Creates the line for a gap from the last recorded moment to the moment when recording went
    /// on.
    pub fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { at: rfc3339(from), event: "gap", until: rfc3339(until) }
    }
}

/// Returns the line of what became of a finding, with its line break. Times are local unless `utc` is
/// set.
pub fn finding(finding: &Finding, news: FindingNews, at: Timestamp, utc: bool) -> String {
    let (at, event) = (exact_time(at, utc), news.id());
    let lock = short_lock(&finding.lock.path, finding.lock.name.as_deref());
    let (severity, code) = (finding.severity, finding.code);
    let why = match (news, &finding.muted) {
        (FindingNews::Raised, _) => short_sentence(&finding.summary),
        (FindingNews::Muted, Some(mute)) => mute_sentence(mute, utc),
        _ => String::new(),
    };
    format!("{at} {event:<15}  {lock}  {severity} {code}  {why}").trim_end().to_owned() + "\n"
}

/// Returns the line of a lock's sample, with its line break. Times are local unless `utc` is set.
pub fn sample(lock: &LockName, counts: SampledCounts, utc: bool) -> String {
    let (at, event) = (exact_time(counts.at, utc), SampleLine::EVENT);
    let lock = short_lock(&lock.path, lock.name.as_deref());
    let children = usize::try_from(counts.children).unwrap_or(usize::MAX);
    let children = plural(children, "child", "children");
    let rates = counts
        .per_second
        .map(|ChildRates { created, deleted }| format!("  created {}/s  deleted {}/s", rate(created), rate(deleted)));
    format!("{at} {event:<12}  {lock}  {children}{}\n", rates.unwrap_or_default())
}

/// Returns the line of a gap in a recording, with its line break. Times are local unless `utc` is
/// set.
pub fn gap(from: Timestamp, until: Timestamp, utc: bool) -> String {
    let (from, until) = (exact_time(from, utc), exact_time(until, utc));
    format!("{from} {:<12}  nothing was recorded until {until}\n", "gap")
}

/// Returns the line of something that happened to the ensemble, with its line break. Times are local
/// unless `utc` is set.
pub fn ensemble(event: &EnsembleEvent, at: Timestamp, utc: bool) -> String {
    let what = event.what.title();
    let what = match event.ended {
        Some(ended) if ended != event.began => {
            format!("over after {} at least: {what}", duration(ended.after.since(event.began.before)))
        }
        _ => what.to_owned(),
    };
    let member = event.member.as_deref().map(|member| format!("  {}", escaped(member))).unwrap_or_default();
    let epoch = event.epoch.map(|epoch| format!("  epoch {epoch}")).unwrap_or_default();
    let detail = event.detail.as_deref().map(|detail| format!("  {}", short_sentence(&escaped(detail))));
    let (at, kind, detail) = (exact_time(at, utc), EnsembleEventLine::EVENT, detail.unwrap_or_default());
    format!("{at} {kind:<12}  {what}{member}{epoch}{detail}\n")
}

/// Returns the line of an event, with its line break. `reason` is the cause, where it is known.
/// Times are local unless `utc` is set.
pub fn happening(happening: &Happening, reason: Option<&str>, utc: bool) -> String {
    let mut line = format!("{} {:<12}", exact_time(happening.at, utc), happening.event.title());
    let mut add = |text: std::fmt::Arguments<'_>| {
        // Writing to a `String` cannot fail.
        let _ = line.write_fmt(text);
    };
    if let Some(lock) = &happening.lock {
        add(format_args!("  {}", short_lock(&lock.path, lock.name.as_deref())));
    }
    if let Some(node) = &happening.node {
        add(format_args!("  {}  {}", short_name(node), happening.client.in_sentence(happening.at)));
    }
    if let Some(session) = happening.session.filter(|_| happening.client.address.is_some()) {
        add(format_args!("  {session}"));
    }
    if let Some(waited) = happening.waited_ms {
        add(format_args!("  waited {}", duration(Duration::from_millis(waited))));
    }
    if let Some(held) = happening.held_ms {
        add(format_args!("  held {}", duration(Duration::from_millis(held))));
    }
    if happening.event == LockEvent::Settled {
        add(format_args!("  its session had expired"));
    }
    if happening.event == LockEvent::Waits {
        add(format_args!("  it stands first, but its session watches another node"));
    }
    if happening.may_have_expired {
        add(format_args!("  or its session expired"));
    }
    if happening.node.is_some() {
        add(format_args!("  queue {}", happening.queue));
    }
    let WatchEvents { herd, chain } = happening.watch_events;
    if herd + chain > 0 {
        add(format_args!("  herd {herd} chain {chain}"));
    }
    if let Some(reason) = reason {
        add(format_args!("  {}", escaped(reason)));
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// Width of a holder's name, address and session, in columns.
const HOLDER_COLUMNS: usize = 44;

const HEADINGS: [&str; 8] = ["LOCK", "RECIPE", "HOLDER", "HELD", "WAIT", "OLDEST", "NEXT", "FINDING"];

/// Text is aligned to the left; numbers and times are aligned to the right.
const ALIGN: [Align; HEADINGS.len()] =
    [Align::Left, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];

/// Writes a line for each lock with its worst finding, followed by the nodes that could not be read,
/// and by the servers that do not answer everything.
///
/// `roots` is empty for a recording, which has its own roots.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn locks(
    out: &mut impl io::Write,
    table: &LockTable,
    diagnosis: &Diagnosis,
    roots: &[ZnodePath],
    now: Timestamp,
) -> io::Result<()> {
    if table.lock_count() == 0 && roots.is_empty() {
        writeln!(out, "No locks.")?;
    } else if table.lock_count() == 0 {
        let roots: Vec<_> = roots.iter().map(|root| escaped(root.as_str())).collect();
        writeln!(out, "No locks below {}.", roots.join(", "))?;
    } else {
        let mut rows = vec![HEADINGS.map(Cow::Borrowed)];
        rows.extend(table.locks().map(|lock| row(table, lock, diagnosis, now)));
        write!(out, "{}", columns(&rows, ALIGN))?;
    }
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", short_name(path.as_str()), escaped(why))?;
    }
    missing_answers(out, table.view())
}

fn row(
    table: &LockTable,
    lock: &LockQueue,
    diagnosis: &Diagnosis,
    now: Timestamp,
) -> [Cow<'static, str>; HEADINGS.len()] {
    let path = short_lock(lock.path(), lock.name());
    let held = match lock.first_holder().map(|holder| table.clock().hold_bounds(holder, now)) {
        None => "-".into(),
        Some(None) => "?".into(),
        Some(Some(HoldBounds { at_least, at_most })) => bounded(at_least, at_most, Charset::Unicode).into(),
    };
    let oldest = |waiter: &Contender| duration(table.clock().server_time(now).since(waiter.created_at)).into();
    let next = lock.next_sequence().map_or("-".into(), |next| next.to_string().into());
    [
        path.into(),
        lock.recipe().title().into(),
        holders(table, lock),
        held,
        lock.waiting().to_string().into(),
        lock.first_waiter().map_or("-".into(), oldest),
        next,
        diagnosis.worst(lock.id()).map_or("".into(), |finding| finding.code.id().into()),
    ]
}

/// Returns the first holder, and the number of further ones.
fn holders(table: &LockTable, lock: &LockQueue) -> Cow<'static, str> {
    let Some(first) = lock.first_holder() else { return "-".into() };
    // Two spaces separate the columns, so a cell has no two spaces.
    let first = table.clients().identity_of(first).fit(HOLDER_COLUMNS, Charset::Unicode).replace("  ", " ");
    match lock.holding() {
        0 | 1 if lock.is_assumed() => format!("{first} (assumed)").into(),
        0 | 1 => first.into(),
        several => format!("{first} +{}", several - 1).into(),
    }
}

/// Maximum number of open checks that are named.
const MAX_NAMED: usize = 10;

/// Writes the findings in their order, followed by what is not decided and what the check could not
/// cover. `can_look_longer` is false for a recording.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn check(
    out: &mut impl io::Write,
    table: &LockTable,
    diagnosis: &Diagnosis,
    verdict: &Verdict,
    can_look_longer: bool,
    utc: bool,
) -> io::Result<()> {
    if let Some(servers) = verdict.servers() {
        writeln!(out, "{:<8}  {}", servers.severity().id(), escaped(&servers.to_string()))?;
        writeln!(out, "          {}", servers.remedy())?;
    }
    if !table.is_live() {
        return missing_answers(out, table.view());
    }
    if diagnosis.findings().len() == 0 {
        let looked = verdict.looked_at().map(|looked| format!(", looked at for {}", duration(looked.lasted())));
        let locks = plural(table.lock_count(), "lock", "locks");
        writeln!(out, "No finding at {locks}{}.", looked.unwrap_or_default())?;
    }
    for finding in diagnosis.findings() {
        let lock = short_lock(&finding.lock.path, finding.lock.name.as_deref());
        writeln!(out, "{:<8}  {}  {lock}", finding.severity.id(), finding.code)?;
        writeln!(out, "          {}", short_sentence(&finding.summary))?;
        writeln!(out, "          {}", finding.remedy)?;
        if let Some(mute) = &finding.muted {
            writeln!(out, "          {}", mute_sentence(mute, utc))?;
        }
    }
    diagnosis.last_look().map_or(Ok(()), |look| write_open(out, look))?;
    for (path, why) in table.unreadable() {
        writeln!(out, "Not readable: {}: {}", escaped(path.as_str()), escaped(why))?;
    }
    missing_answers(out, table.view())?;
    write_unsought(out, verdict.looked_at().map_or(&[], LookedAt::unsought), can_look_longer)
}

/// Returns who muted a finding, until when and why, escaped. Times are local unless `utc` is set.
pub fn mute_sentence(mute: &Mute, utc: bool) -> String {
    let until = mute.until.map_or_else(|| "it is cleared".to_owned(), |until| date_and_time(until, utc));
    let note = if mute.note.is_empty() { String::new() } else { format!(": {}", escaped(&mute.note)) };
    format!("muted by {} until {until}{note}", escaped(&mute.by))
}

/// Writes the checks that are not decided yet, each with its lock.
fn write_open(out: &mut impl io::Write, last: &LastLook) -> io::Result<()> {
    for OpenCheck { lock, check, why, known_in, .. } in last.open().iter().take(MAX_NAMED) {
        let lock = short_lock(&lock.path, lock.name.as_deref());
        let when = match (why, known_in) {
            (WhyOpen::NoAnswer, _) => "a server does not answer any more".to_owned(),
            (WhyOpen::Lasts, Some(known_in)) => format!("known in {}", duration(*known_in)),
            (WhyOpen::Lasts, None) => "it must last".to_owned(),
        };
        writeln!(out, "Not decided yet: {lock}  {check} ({when})")?;
    }
    match last.open_count(Severity::Info).saturating_sub(MAX_NAMED) {
        0 => Ok(()),
        more => writeln!(out, "Not decided yet: {}", plural(more, "more check", "more checks")),
    }
}

/// Writes the kinds of findings whose absence proves nothing.
fn write_unsought(out: &mut impl io::Write, unsought: &[Unsought], can_look_longer: bool) -> io::Result<()> {
    let way = if can_look_longer { " (look longer with --for)" } else { "" };
    let heads = [
        format!("Could not be checked in so short a time{way}"),
        "Could not be checked without the servers' answers".to_owned(),
        "Could not be checked without a recording of the time before".to_owned(),
    ];
    let place = |needs| match needs {
        Needs::Longer(_) => 0,
        Needs::Servers => 1,
        Needs::Past => 2,
    };
    for (at, head) in heads.iter().enumerate() {
        let kinds = unsought.iter().filter(|kind| place(kind.needs) == at).map(|kind| match kind.needs {
            Needs::Longer(needed) => format!("{} {}", kind.code, duration(needed)),
            Needs::Servers | Needs::Past => kind.code.to_string(),
        });
        let kinds: Vec<String> = kinds.collect();
        if !kinds.is_empty() {
            writeln!(out, "{head}: {}", kinds.join(", "))?;
        }
    }
    Ok(())
}

/// Writes a line for each server that does not answer, or not everything.
fn missing_answers(out: &mut impl io::Write, view: &ServerView) -> io::Result<()> {
    for (server, why) in view.silent() {
        writeln!(out, "No answer from {}: {}", escaped(server), escaped(why))?;
    }
    for (server, why) in view.refusing() {
        writeln!(out, "Not everything is answered by {}: {}", escaped(server), escaped(why))?;
    }
    Ok(())
}

/// Maximum width of a path or a name, in columns. One long name must not widen every line.
const NAME_COLUMNS: usize = 64;

/// Escapes a path or a name from the tree, and shortens it to 64 columns. Both its ends stay.
fn short_name(text: &str) -> String {
    fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

/// Names a lock by its parent, and by its queue where the parent has several.
pub(super) fn short_lock(path: &ZnodePath, name_in_parent: Option<&str>) -> String {
    let path = short_name(path.as_str());
    name_in_parent.map_or_else(|| path.clone(), |name| format!("{path} {}", short_name(name)))
}

/// Shortens an escaped sentence about the tree. Words and sentences that are too long lose their
/// middle.
pub(super) fn short_sentence(text: &str) -> String {
    let words = text.split(' ').map(|word| cut(word, 2 * NAME_COLUMNS, Keep::Ends, Charset::Unicode));
    cut(&words.collect::<Vec<_>>().join(" "), 16 * NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

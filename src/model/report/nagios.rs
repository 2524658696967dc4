//! The output of `lockscope check --nagios`: one line for Nagios and compatible monitoring.
//!
//! The line is `LOCKSCOPE STATUS - text | performance data`, as the guidelines of the Monitoring
//! Plugins require. A `|` begins the performance data, so the text cannot contain one. A `|` or a
//! control character in a path or a node is escaped.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use super::lines::{short_lock, short_sentence};
use crate::diagnose::{Diagnosis, Finding, Severity, is_likely_election};
use crate::queue::{Contender, LockQueue, LockTable};
use crate::text::human::{duration, plural};
use crate::text::{Charset, Keep, cut};
use crate::verdict::{LookedAt, NotKnown, ServerTrouble, Verdict, VerdictKind};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Timestamp, escaped};

/// Maximum width of a sentence, in columns. NRPE transmits at most 1024 bytes of a line.
const SENTENCE_COLUMNS: usize = 320;

/// Maximum number of ensembles that one line names.
const MAX_NAMED: usize = 5;

/// The status of a service in monitoring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceStatus {
    /// The locks are well, by what was looked at.
    Ok,
    /// A person should look.
    Warning,
    /// A lock will not be granted again unless somebody acts.
    Critical,
    /// The status cannot be determined.
    Unknown,
}

impl ServiceStatus {
    /// Returns the exit code of a plugin.
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Warning => 1,
            Self::Critical => 2,
            Self::Unknown => 3,
        }
    }

    /// Returns how bad the status is among several: the greater, the worse.
    fn badness(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Warning => 1,
            Self::Unknown => 2,
            Self::Critical => 3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// The output line of a plugin, without its line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    status: ServiceStatus,
    text: String,
    /// Empty when nothing was measured.
    performance: String,
}

impl StatusLine {
    /// Creates the line for a status that cannot be determined. `why` is the reason.
    pub fn unknown(why: &str) -> Self {
        Self { status: ServiceStatus::Unknown, text: why.to_owned(), performance: String::new() }
    }

    /// Creates the line for the findings of a table that was looked at for `looked`. Findings less
    /// severe than `fail_on` are counted and do not affect the status.
    pub fn new(table: &LockTable, diagnosis: &Diagnosis, at: Timestamp, looked: Duration, fail_on: Severity) -> Self {
        let verdict = Verdict::of(table, diagnosis, looked, at, fail_on);
        let status = match (verdict.kind(), verdict.worst()) {
            (VerdictKind::Trouble, Some(Severity::Critical)) => ServiceStatus::Critical,
            (VerdictKind::Trouble, _) => ServiceStatus::Warning,
            (VerdictKind::Well, _) => ServiceStatus::Ok,
            (VerdictKind::Unknown, _) => ServiceStatus::Unknown,
        };
        let counts = NagiosCounts::new(diagnosis);
        let worst = diagnosis.unmuted().next().filter(|finding| finding.severity >= fail_on);
        // Without a look at the locks, it is the servers that are in trouble.
        let headline = match verdict.looked_at() {
            None if status != ServiceStatus::Unknown => NotKnown::NotLive.sentence(),
            _ => headline(table, worst, &counts, (looked, fail_on)),
        };
        let headline = Some(headline);
        let servers = verdict.servers();
        let is_first = servers.is_some_and(|servers| worst.is_none_or(|worst| servers.severity() > worst.severity));
        let of_servers = |wanted: bool| servers.filter(|_| is_first == wanted).map(ToString::to_string);
        let open = diagnosis.last_look().map_or(0, |look| look.open_count(fail_on));
        let undecided = undecided(&verdict, open);
        let muted = muted(table, diagnosis, at);
        // The facts that determine the status come first.
        let parts = match status {
            ServiceStatus::Unknown => vec![unreadable(table), undecided, headline, counts.text()],
            ServiceStatus::Ok => {
                vec![headline, counts.text(), verdict.looked_at().and_then(LookedAt::what_is_missing)]
            }
            _ => vec![of_servers(true), headline, of_servers(false), counts.text(), undecided, unreadable(table)],
        };
        let told = servers.map_or(0, ServerTrouble::silent);
        let parts: Vec<String> = parts.into_iter().chain([unanswered(table, told), muted]).flatten().collect();
        let performance = format!("{} unchecked={open}", performance(table, &counts, at));
        Self { status, text: parts.join("; "), performance }
    }

    /// Creates one line for several ensembles, each with its name: the worst first, where a status
    /// that cannot be determined is worse than a warning. Names must not contain spaces.
    pub fn of_all(lines: &[(String, Self)]) -> Self {
        let mut bad: Vec<&(String, Self)> = lines.iter().filter(|(_, line)| line.status != ServiceStatus::Ok).collect();
        bad.sort_by_key(|(_, line)| Reverse(line.status.badness()));
        let status = bad.first().map_or(ServiceStatus::Ok, |(_, line)| line.status);
        let named =
            bad.iter().take(MAX_NAMED).map(|(name, line)| format!("{name} {}: {}", line.status.name(), line.text));
        let mut parts: Vec<String> = named.collect();
        let more = bad.len().saturating_sub(MAX_NAMED);
        parts.extend((more > 0).then(|| format!("{} more", plural(more, "ensemble", "ensembles"))));
        parts.push(format!("{} of {} OK", lines.len() - bad.len(), plural(lines.len(), "ensemble", "ensembles")));
        let measured = |(name, line): &(String, Self)| {
            let values = line.performance.split(' ').filter(|value| !value.is_empty());
            values.map(|value| format!("{name}/{value}")).collect::<Vec<_>>()
        };
        let performance: Vec<String> = lines.iter().flat_map(measured).collect();
        Self { status, text: parts.join("; "), performance: performance.join(" ") }
    }

    /// Adds the time of a recording to the text.
    #[must_use]
    pub fn recorded_at(mut self, moment: &str) -> Self {
        self.text = format!("{}; recorded at {moment}", self.text);
        self
    }

    /// Returns the status.
    pub fn status(&self) -> ServiceStatus {
        self.status
    }
}

impl fmt::Display for StatusLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, text, performance } = self;
        write!(f, "LOCKSCOPE {} - {}", status.name(), on_one_line(text))?;
        if performance.is_empty() { Ok(()) } else { write!(f, " | {performance}") }
    }
}

/// Escapes all characters that end the line or begin the performance data.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' => line.push_str(r"\u{7c}"),
            _ if character.is_control() => line.extend(character.escape_default()),
            _ => line.push(character),
        }
    }
    line
}

/// Says how many checks are not decided, with one of them where that makes the status unknown.
fn undecided(verdict: &Verdict, open: usize) -> Option<String> {
    match verdict.not_known() {
        Some(why @ NotKnown::Open { first, .. }) => {
            let first = first.as_ref().map(|open| {
                let lock = short_lock(&open.lock.path, open.lock.name.as_deref());
                format!(": {} at {lock}", open.check)
            });
            Some(format!("{}{}", why.sentence(), first.unwrap_or_default()))
        }
        _ => (open > 0).then(|| format!("{} not decided yet", plural(open, "check is", "checks are"))),
    }
}

/// Describes the worst finding, or the absence of findings in this time.
fn headline(
    table: &LockTable,
    worst: Option<&Finding>,
    counts: &NagiosCounts,
    (looked, fail_on): (Duration, Severity),
) -> String {
    let locks = format!("{} in {}", plural(table.lock_count(), "lock", "locks"), duration(looked));
    match worst {
        Some(finding) => {
            let lock = short_lock(&finding.lock.path, finding.lock.name.as_deref());
            let summary = cut(&short_sentence(&finding.summary), SENTENCE_COLUMNS, Keep::Ends, Charset::Unicode);
            format!("{lock} {}: {summary}", finding.code)
        }
        None if counts.is_empty() => format!("no finding at {locks}"),
        None => format!("no finding at or above {fail_on} at {locks}"),
    }
}

fn unreadable(table: &LockTable) -> Option<String> {
    let (first, why) = table.unreadable().first_key_value()?;
    let first = short_lock(first, None);
    let why = cut(&escaped(why), SENTENCE_COLUMNS / 4, Keep::Start, Charset::Unicode);
    Some(match table.unreadable().len() {
        1 => format!("{first} cannot be read: {why}"),
        places => format!("{} cannot be read, {first} among them: {why}", plural(places, "place", "places")),
    })
}

/// Says how many servers do not answer, apart from `told` of them, or not everything.
fn unanswered(table: &LockTable, told: usize) -> Option<String> {
    let (silent, refusing) = (table.view().silent().count().saturating_sub(told), table.view().refusing().count());
    let silent = (silent > 0).then(|| format!("no answer from {}", plural(silent, "server", "servers")));
    let refusing = (refusing > 0)
        .then(|| format!("{} everything", plural(refusing, "server does not answer", "servers do not answer")));
    let parts: Vec<String> = silent.into_iter().chain(refusing).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Says how many findings are muted, and whether servers are in maintenance.
fn muted(table: &LockTable, diagnosis: &Diagnosis, at: Timestamp) -> Option<String> {
    let muted = Some(diagnosis.muted_count()).filter(|muted| *muted > 0).map(|muted| format!("{muted} muted"));
    let maintenance = table.mutes().maintenance(at).map(|_| "servers in maintenance".to_owned());
    let parts: Vec<String> = muted.into_iter().chain(maintenance).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The number of findings of each severity that nobody muted.
struct NagiosCounts {
    critical: usize,
    warning: usize,
    info: usize,
}

impl NagiosCounts {
    fn new(diagnosis: &Diagnosis) -> Self {
        let count = |severity| diagnosis.unmuted().filter(|finding| finding.severity == severity).count();
        Self { critical: count(Severity::Critical), warning: count(Severity::Warning), info: count(Severity::Info) }
    }

    fn is_empty(&self) -> bool {
        self.critical + self.warning + self.info == 0
    }

    fn text(&self) -> Option<String> {
        let Self { critical, warning, info } = *self;
        let counted = [(critical, Severity::Critical), (warning, Severity::Warning), (info, Severity::Info)];
        let counted: Vec<String> = counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, severity)| format!("{count} {severity}"))
            .collect();
        (!counted.is_empty()).then(|| counted.join(", "))
    }
}

fn performance(table: &LockTable, counts: &NagiosCounts, at: Timestamp) -> String {
    let (locks, contenders) = (table.lock_count(), table.contender_count());
    let waiting: usize = table.locks().map(LockQueue::waiting).sum();
    let NagiosCounts { critical, warning, info } = *counts;
    let longest = longest_wait(table, at).as_secs();
    format!(
        "locks={locks} contenders={contenders} waiting={waiting} critical={critical} warning={warning} info={info} \
         longest_wait={longest}s;;;0"
    )
}

/// Returns the longest wait. Elections are left out, since their candidates may wait for years.
fn longest_wait(table: &LockTable, at: Timestamp) -> Duration {
    let queues = table.locks().filter(|lock| lock.kind() != LockKind::SingleNode && !is_likely_election(lock));
    let since = |contender: &Contender| contender.contends_since(table.clock().ahead_ms());
    queues.filter_map(|lock| Some(at.since(since(lock.first_waiter()?)))).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Thresholds;
    use crate::queue::Change;
    use crate::testing::{path, seen, table};
    use lockscope_base::znode::{SessionId, ZnodeStat, Zxid};

    const NOW: Timestamp = Timestamp(1_000_000);

    /// Nodes that were created 30 s ago, each with its owner; 0 for none.
    fn line(nodes: &[(&str, i64)], unreadable: &[&str], fail_on: Severity) -> (ServiceStatus, String) {
        let stat = |owner: i64| {
            let session = Some(SessionId(owner)).filter(|_| owner != 0);
            ZnodeStat::of_new(Zxid(2), Timestamp(NOW.0 - 30_000), session)
        };
        let seen = nodes.iter().map(|(at, owner)| seen(at, stat(*owner), b""));
        let closed = unreadable.iter().map(|at| Change::Unreadable { path: path(at), why: "no READ".to_owned() });
        let table = table(seen.chain(closed), NOW);
        let mut diagnosis = Diagnosis::new(Thresholds::default());
        diagnosis.examine(&table, NOW);
        let line = StatusLine::new(&table, &diagnosis, NOW, Duration::from_secs(3), fail_on);
        (line.status(), line.to_string())
    }

    #[test]
    fn the_line_of_several_ensembles_has_the_worst_status_and_names_what_is_not_ok() {
        let of = |name: &str, status, text: &str, performance: &str| {
            (name.to_owned(), StatusLine { status, text: text.to_owned(), performance: performance.to_owned() })
        };
        let ok = of("a", ServiceStatus::Ok, "no finding at 2 locks in 3.0s", "locks=2 waiting=0");
        assert_eq!(
            StatusLine::of_all(std::slice::from_ref(&ok)).to_string(),
            "LOCKSCOPE OK - 1 of 1 ensemble OK | a/locks=2 a/waiting=0"
        );
        let warned = of("b", ServiceStatus::Warning, "/x stuck", "locks=1");
        let unknown = of("c", ServiceStatus::Unknown, "no session", "");
        let all = StatusLine::of_all(&[ok.clone(), warned.clone(), unknown.clone()]);
        assert_eq!(
            all.to_string(),
            "LOCKSCOPE UNKNOWN - c UNKNOWN: no session; b WARNING: /x stuck; 1 of 3 ensembles OK | a/locks=2 a/waiting=0 b/locks=1"
        );
        let critical = of("d", ServiceStatus::Critical, "/y orphan", "");
        let many: Vec<_> = (0..7).map(|_| unknown.clone()).chain([critical, ok]).collect();
        let line = StatusLine::of_all(&many);
        assert_eq!(line.status(), ServiceStatus::Critical);
        assert!(
            line.to_string().contains("d CRITICAL: /y orphan; c UNKNOWN")
                && line.to_string().contains("3 ensembles more")
        );
    }

    const SOUND: &[(&str, i64)] = &[("/a/lock-0000000001", 1), ("/a/lock-0000000002", 2), ("/b/lock-0000000001", 1)];
    const LEFT_BEHIND: &[(&str, i64)] = &[("/locks/a/_c_00000001-0000-4000-8000-000000000000-lock-0000000001", 0)];

    #[test]
    fn sound_locks_are_ok_with_performance_data() {
        let (status, line) = line(SOUND, &[], Severity::Warning);
        assert_eq!(status, ServiceStatus::Ok);
        let performance = "locks=2 contenders=3 waiting=1 critical=0 warning=0 info=0 longest_wait=30s;;;0 unchecked=0";
        let missing = "4 kinds need a longer look, 16 the servers' answers";
        assert_eq!(line, format!("LOCKSCOPE OK - no finding at 2 locks in 3.0s; {missing} | {performance}"));
    }

    #[test]
    fn the_worst_finding_stands_first_and_the_status_is_its_severity() {
        let blocked = [LEFT_BEHIND[0], ("/locks/a/_c_00000002-0000-4000-8000-000000000000-lock-0000000002", 1)];
        let (status, critical) = line(&blocked, &[], Severity::Warning);
        assert_eq!(status, ServiceStatus::Critical);
        assert!(critical.starts_with("LOCKSCOPE CRITICAL - /locks/a persistent-contender: "), "{critical}");
        assert!(critical.contains("; 1 critical"), "{critical}");
        assert!(critical.contains(" | locks=1 contenders=2 waiting=1 critical=1 "), "{critical}");
        assert!(critical.ends_with(" longest_wait=30s;;;0 unchecked=0"), "{critical}");
        let (status, warning) = line(LEFT_BEHIND, &[], Severity::Warning);
        assert_eq!(status, ServiceStatus::Warning);
        assert!(warning.contains("; 1 warning | "), "{warning}");
    }

    #[test]
    fn findings_below_the_threshold_are_counted_and_leave_the_status_ok() {
        let (status, line) = line(LEFT_BEHIND, &[], Severity::Critical);
        assert_eq!(status, ServiceStatus::Ok);
        let text = "LOCKSCOPE OK - no finding at or above critical at 1 lock in 3.0s; 1 warning; 4 kinds need ";
        assert!(line.starts_with(text), "{line}");
    }

    #[test]
    fn an_unreadable_part_is_not_ok_and_findings_stand() {
        let (status, closed) = line(&SOUND[2..], &["/closed"], Severity::Warning);
        assert_eq!(status, ServiceStatus::Unknown);
        let text = "LOCKSCOPE UNKNOWN - /closed cannot be read: no READ; no finding at 1 lock in 3.0s | locks=1 ";
        assert!(closed.starts_with(text), "{closed}");
        let (status, found) = line(LEFT_BEHIND, &["/closed", "/other"], Severity::Warning);
        assert_eq!(status, ServiceStatus::Warning);
        assert!(found.contains("; 2 places cannot be read, /closed among them: no READ | "), "{found}");
    }

    #[test]
    fn a_path_can_neither_end_the_line_nor_begin_the_performance_data() {
        let evil = "/locks/a | locks=0\u{85}\u{202e}`x`/_c_00000001-0000-4000-8000-000000000000-lock-0000000001";
        let (status, line) = line(&[(evil, 0)], &["/closed|x"], Severity::Warning);
        assert_eq!(status, ServiceStatus::Warning);
        assert_eq!((line.matches('|').count(), line.lines().count()), (1, 1), "{line}");
        assert!(line.contains(r"/locks/a \u{7c} locks=0") && line.contains(r"/closed\u{7c}x"), "{line}");
        assert!(!line.chars().any(|character| character.is_control() || character == '\u{202e}'), "{line}");
        let unknown = StatusLine::unknown("no\nserver | at all").to_string();
        assert_eq!(unknown, r"LOCKSCOPE UNKNOWN - no\nserver \u{7c} at all");
    }

    #[test]
    fn candidates_of_an_election_do_not_count_as_long_waits_and_members_do_not_wait() {
        let standing_by = [("/leader/lock-0000000001", 1), ("/leader/lock-0000000002", 2)];
        let standing_by = line(&standing_by, &[], Severity::Warning).1;
        assert!(standing_by.contains(" waiting=1 ") && standing_by.contains(" longest_wait=0s;;;0 "), "{standing_by}");
        let members = [("/workers/worker-0000000001", 1), ("/workers/worker-0000000002", 2)];
        let members = line(&members, &[], Severity::Warning).1;
        assert!(members.contains(" waiting=0 ") && members.contains(" longest_wait=0s;;;0 "), "{members}");
    }
}

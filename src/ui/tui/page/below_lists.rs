//! The boxes below and beside the lists: the findings about the open lock and their remedies, what
//! happened lately, and the ensembles' findings and events.
//!
//! [`ShownLately`] is the box below Locks while nothing is wrong with the selected lock: the
//! longest waits and holds of the last minutes, the ensemble's leader, and what is new. Below the
//! list of ensembles are the findings of the selected one, and what happened in all.

use std::time::Duration;

use super::{Columns, Line, PageWriter, Sign, Tone};
use lockscope_base::znode::Timestamp;
use lockscope_live::zk::four_letter::NEEDED_WORDS;
use lockscope_model::diagnose::{Code, Finding, OpenCheck, Severity};
use lockscope_model::queue::{ClientIdentity, WaitedFor};
use lockscope_model::report::lines::mute_sentence;
use lockscope_model::server_view::ServerView;
use lockscope_model::summary::{EnsembleSummary, StateKind};
use lockscope_model::text::human::{bounded, count, date_and_time, duration, plural, time_of_day};
use lockscope_model::text::{Charset, Keep, fit, width};
use lockscope_model::verdict::{ServerTrouble, VerdictKind};

/// Writes the findings of a lock: first those about the selected contender, then by severity.
/// `known_since`: since when a finding is known, where that is worth to be said.
pub fn write_lock_findings(
    page: &mut PageWriter,
    mut findings: Vec<&Finding>,
    selected: Option<&str>,
    known_since: impl Fn(&Finding) -> Option<Timestamp>,
    utc: bool,
) {
    let is_of_another = |finding: &Finding| finding.node.is_none() || finding.node.as_deref() != selected;
    findings.sort_by_key(|finding| (finding.muted.is_some(), is_of_another(finding)));
    // Several idle holders of one lock are one standstill, and thus one entry.
    let is_same = |one: &&Finding, next: &&Finding| {
        one.is_standstill() && one.muted == next.muted && one.headline().0 == next.headline().0
    };
    for same in findings.chunk_by(is_same) {
        let Some(first) = same.first() else { continue };
        let sign = match first.severity {
            Severity::Critical => Sign::Bad,
            Severity::Warning => Sign::Warning,
            Severity::Info => Sign::Info,
        };
        let tone = if first.muted.is_some() { Tone::Dim } else { Tone::Strong };
        page.add(Some(sign), None, &first.headline().0, tone);
        if let Some(mute) = &first.muted {
            page.sentence(&mute_sentence(mute, utc), Tone::Strong);
        }
        if let Some(since) = known_since(first) {
            page.sentence(&format!("known since {}", date_and_time(since, utc)), Tone::Text);
        }
        for details in same.iter().filter_map(|finding| finding.headline().1) {
            page.sentence(details, Tone::Text);
        }
        page.sentence(&format!("{REMEDY}{}", first.remedy), Tone::Text);
    }
}

/// What precedes a remedy.
const REMEDY: &str = "what to do: ";

/// In a box of so few lines that the first remedy is hidden, leaves out what is between the headline
/// and the remedy. The list has the names of who holds and waits.
pub fn bring_remedy_in_sight(lines: &mut Vec<Line>, room: usize, charset: Charset) {
    let Some(remedy) = lines.iter().position(|line| line.text.starts_with(REMEDY)) else { return };
    if remedy >= room && room > 1 {
        lines.drain(1..remedy);
        lines[0].text = format!("{} {}", lines[0].text, charset.ellipsis());
    }
}

/// Writes that there is no finding, and how reliable that is. `open`: the checks of the lock that are
/// not decided. `servers`: what the servers report;
/// `None` when they are not asked. `why` is the key of the screen with the details.
pub fn write_no_finding<'a>(
    page: &mut PageWriter,
    live: bool,
    open: impl Iterator<Item = &'a OpenCheck>,
    servers: Option<&ServerView>,
    why: &str,
) {
    if !live {
        return page.sentence("Not in step with the ensemble: the lock's state is not known.", Tone::Text);
    }
    page.sentence("No finding at this lock.", Tone::Text);
    for OpenCheck { check, known_in, .. } in open {
        let when = known_in.map(|known_in| format!(" (known in {})", duration(known_in))).unwrap_or_default();
        page.sentence(&format!("Not decided yet: {check}{when}."), Tone::Unsure);
    }
    let unknown = match servers {
        None => format!("The servers are not asked, so it is not known whether the clients are alive ({why})."),
        Some(view) if !view.provenance().can_prove() => {
            format!("The session uses TLS, but the servers answer in plain text: dead clients are not known ({why}).")
        }
        Some(view) if !view.every_member_answered() => {
            format!("Not every server reports its connections ({why}: what to change).")
        }
        Some(_) => return,
    };
    page.sentence(&unknown, Tone::Text);
}

/// Columns of a duration, with the gap after it.
const LASTED: usize = 9;

/// Maximum columns of a client.
const MAX_WHO: usize = 24;

/// Minimum columns of a lock's path.
const MIN_PATH: usize = 12;

/// Lines of the sentence about the servers' whitelist in a narrow box.
const UNTOLD_LINES: usize = 2;

/// Maximum names of each kind of news.
const MAX_NAMED: usize = 3;

/// How long a client waited or held.
#[derive(Clone, Debug)]
pub struct ShownSpan<'a> {
    /// The lower and the upper bound of the duration.
    pub lasted: (Duration, Duration),
    pub lock: String,
    pub client: &'a ClientIdentity,
    /// When the wait or hold ended; `None` while it lasts.
    pub ended: Option<Timestamp>,
}

/// The ensemble's leader.
#[derive(Clone, Debug)]
pub struct ShownLeader<'a> {
    pub address: &'a str,
    /// When the leader changed last, and the leader before; `None` for the first leader seen.
    pub since: Option<(Timestamp, &'a str)>,
    /// The number of changes of the leader in the last minutes.
    pub changes: usize,
}

/// What is new, by kind; the newest of each kind comes first.
#[derive(Clone, Debug, Default)]
pub struct LatelyNews {
    pub locks: Vec<String>,
    pub gone: Vec<String>,
    /// The findings, each with its lock.
    pub findings: Vec<String>,
    /// Since when the news was collected; `None` means since the first full reading.
    pub since: Option<Timestamp>,
}

/// The recent events that the box shows.
#[derive(Clone, Debug)]
pub struct ShownLately<'a> {
    pub waits: Vec<ShownSpan<'a>>,
    pub holds: Vec<ShownSpan<'a>>,
    /// `None` where no server said that it leads.
    pub leader: Option<ShownLeader<'a>>,
    /// The key of Servers, if the servers answer and none lists its clients.
    pub untold: Option<String>,
    /// `None` in the past, where there is no earlier look to compare with.
    pub news: Option<LatelyNews>,
    /// The holders that made others wait most within the last ten minutes.
    pub costliest: Option<WaitedFor>,
    pub utc: bool,
}

/// Writes the box in at most `lines` lines, with at least one for each kind.
pub fn write_lately(page: &mut PageWriter, of: &ShownLately<'_>, lines: usize) {
    let others = [of.leader.is_some(), of.news.is_some(), of.costliest.is_some()].map(usize::from).into_iter();
    let others = others.sum::<usize>() + if of.untold.is_some() { UNTOLD_LINES } else { 0 };
    let room = lines.saturating_sub(others).max(2);
    // Waits and holds share the lines equally; lines that one does not need go to the other.
    let holds = of.holds.len().clamp(1, (room / 2).max(room.saturating_sub(of.waits.len().max(1))));
    let waits = of.waits.len().clamp(1, room.saturating_sub(holds).max(1));
    let spans = [
        ("waited", &of.waits[..waits.min(of.waits.len())], "nobody for 0.1s or longer", ", still waits"),
        (
            "held",
            &of.holds[..holds.min(of.holds.len())],
            "no hold ended, and none keeps others waiting",
            ", still holds",
        ),
    ];
    for (label, spans, none, still) in spans {
        if spans.is_empty() {
            page.line(label, none, Keep::Start, Tone::Dim);
        }
        for (at, span) in spans.iter().enumerate() {
            let text = span.line(still, page.text_columns(), of.utc, page.charset());
            page.harmless(if at == 0 { label } else { "" }, text, Tone::Text);
        }
    }
    if let Some(costliest) = &of.costliest {
        let text = in_columns(costliest, page.text_columns(), page.charset());
        page.harmless("cost", text, Tone::Text);
    }
    if let Some(key) = &of.untold {
        let text = format!("clients unknown ({key}): zoo.cfg needs 4lw.commands.whitelist={NEEDED_WORDS}");
        page.fact("servers", &text, Tone::Careful);
    }
    if let Some(leader) = &of.leader {
        let (text, tone) = leader.sentence(of.utc);
        page.line("leader", &text, Keep::Start, tone);
    }
    if let Some(news) = &of.news {
        let (text, tone) = news.sentence(of.utc);
        page.line("new", &text, Keep::Start, tone);
    }
}

impl ShownSpan<'_> {
    fn line(&self, still: &str, columns: usize, utc: bool, charset: Charset) -> String {
        let how = self.ended.map_or_else(|| still.to_owned(), |at| format!(", until {}", time_of_day(at, utc)));
        let lasted = format!("{:<LASTED$}", bounded(self.lasted.0, self.lasted.1, charset));
        let used = width(&lasted) + width(&how) + 2;
        let who_room = columns.saturating_sub(used + MIN_PATH).min(MAX_WHO);
        let who = self.client.fit(who_room, charset);
        let path = fit(&self.lock, columns.saturating_sub(used + width(&who)), Keep::End, charset);
        format!("{lasted}{path}  {who}{how}")
    }
}

impl ShownLeader<'_> {
    fn sentence(&self, utc: bool) -> (String, Tone) {
        match self.since {
            None => (format!("{}, no change seen", self.address), Tone::Text),
            Some((at, before)) => {
                let more = match self.changes {
                    0 | 1 => String::new(),
                    changes => format!("; {changes} changes"),
                };
                let tone = if self.changes > 0 { Tone::Careful } else { Tone::Text };
                (format!("{} since {}, before that {before}{more}", self.address, time_of_day(at, utc)), tone)
            }
        }
    }
}

impl LatelyNews {
    fn sentence(&self, utc: bool) -> (String, Tone) {
        let since = self
            .since
            .map_or_else(|| "since the start".to_owned(), |at| format!("since you looked at {}", time_of_day(at, utc)));
        let parts = [
            (&self.findings, plural(self.findings.len(), "finding", "findings")),
            (&self.locks, plural(self.locks.len(), "lock", "locks")),
            (&self.gone, format!("{} gone", self.gone.len())),
        ];
        let named = |(names, count): (&Vec<String>, String)| {
            let more = if names.len() > MAX_NAMED { ", and more" } else { "" };
            let shown = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            (!names.is_empty()).then(|| format!("{count}: {shown}{more}"))
        };
        let parts: Vec<String> = parts.into_iter().filter_map(named).collect();
        if parts.is_empty() {
            return (format!("nothing {since}"), Tone::Dim);
        }
        (format!("{}; {since}", parts.join("; ")), Tone::Strong)
    }
}

/// The columns of an event: its time, then a sentence that may begin with a sign.
pub const EVENT_COLUMNS: Columns = Columns { signs: true, label: 10, label_tone: Tone::Dim };

/// Maximum number of events on the page.
const MAX_EVENTS: usize = 200;

/// An ensemble whose findings are shown.
#[derive(Clone, Copy, Debug)]
pub struct OfEnsemble<'a> {
    pub state: StateKind,
    /// Why its locks cannot be seen.
    pub reason: Option<&'a str>,
    pub summary: Option<&'a EnsembleSummary>,
    pub utc: bool,
}

/// An event of one of the ensembles.
#[derive(Clone, Copy, Debug)]
pub struct ShownEvent<'a> {
    pub at: Timestamp,
    pub ensemble: &'a str,
    pub what: ShownEnsembleNews<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum ShownEnsembleNews<'a> {
    Finding {
        finding: &'a Finding,
        raised: bool,
    },
    /// A finding took the place of one with that code.
    Renamed(Code, &'a Finding),
    State(StateKind),
    Servers(Option<&'a ServerTrouble>),
}

/// Writes the state of an ensemble, if it is not live, and its findings.
pub fn write_findings(page: &mut PageWriter, of: OfEnsemble<'_>) {
    let OfEnsemble { state, reason, summary, utc } = of;
    if state != StateKind::Live {
        let sign = if state.is_broken() { Sign::Bad } else { Sign::Busy };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        page.add(Some(sign), None, &format!("{}{reason}", state.id()), Tone::Strong);
        let then = summary.and_then(|summary| summary.last_true);
        let known = then.map_or_else(
            || "Nothing is known of its locks.".to_owned(),
            |then| format!("What follows is as of {}.", date_and_time(then, utc)),
        );
        page.sentence(&known, Tone::Unsure);
    }
    let Some(summary) = summary else { return };
    if let Some(servers) = &summary.servers_trouble {
        page.add(Some(sign_of(servers.severity())), None, &servers.to_string(), Tone::Strong);
        page.sentence(&format!("what to do: {}", servers.remedy()), Tone::Text);
    }
    let tone = if state == StateKind::Live { Tone::Strong } else { Tone::Unsure };
    if let Some(maintenance) = &summary.maintenance {
        page.add(Some(Sign::Info), None, "The servers are in maintenance.", Tone::Strong);
        page.sentence(&mute_sentence(maintenance, utc), Tone::Text);
    }
    for finding in &summary.findings {
        write_finding(page, finding, tone, utc);
    }
    let all = summary.counts.all();
    let more = all.saturating_sub(summary.findings.len());
    if more > 0 {
        page.sentence(&format!("{} findings more: go into the ensemble.", count(more)), Tone::Dim);
    }
    if all == 0 && state == StateKind::Live {
        page.sentence(&format!("No finding at {}.", plural(summary.locks, "lock", "locks")), Tone::Text);
    }
    if summary.open_checks > 0 {
        let open = plural(summary.open_checks, "check is", "checks are");
        page.sentence(&format!("{open} not decided yet."), Tone::Unsure);
    } else if summary.verdict == VerdictKind::Unknown && state == StateKind::Live {
        page.sentence("Not everything could be looked at: go into the ensemble.", Tone::Unsure);
    }
}

/// Writes a finding with its lock and its remedy.
pub fn write_finding(page: &mut PageWriter, finding: &Finding, tone: Tone, utc: bool) {
    let tone = if finding.muted.is_some() { Tone::Dim } else { tone };
    page.add(Some(sign_of(finding.severity)), None, &format!("{}  {}", finding.lock, finding.sentence()), tone);
    if let Some(mute) = &finding.muted {
        page.sentence(&mute_sentence(mute, utc), Tone::Text);
    }
    page.sentence(&format!("what to do: {}", finding.remedy), Tone::Text);
}

/// The time over which waits are summed up, if all of it was seen.
const WHOLE: Duration = Duration::from_secs(570);

/// Writes who made others wait most within the last ten minutes, of which `seen` was seen, each with
/// its ensemble, if there are several.
pub fn write_most_waited_for<'a>(
    page: &mut PageWriter,
    seen: Duration,
    of: impl ExactSizeIterator<Item = (Option<&'a str>, &'a WaitedFor)>,
) {
    if of.len() == 0 {
        return;
    }
    let last = if seen < WHOLE { duration(seen) } else { "10 minutes".to_owned() };
    page.sentence(&format!("Made others wait most, last {last}:"), Tone::Text);
    for (ensemble, waited) in of {
        let (room, ensemble) = (page.text_columns(), ensemble.map(|name| format!("{name}  ")).unwrap_or_default());
        let text = format!("{ensemble}{}", in_columns(waited, room.saturating_sub(width(&ensemble)), page.charset()));
        page.add(None, None, &text, Tone::Text);
    }
}

/// Names a holder, its lock, and what others waited for it. The lock is cut if there is no room.
fn in_columns(of: &WaitedFor, columns: usize, charset: Charset) -> String {
    let cost = format!("{} waited by {}", duration(of.waited.0), count(of.waiters));
    let who = of.client.fit(columns.saturating_sub(width(&cost) + MIN_PATH + 4).min(MAX_WHO), charset);
    let room = columns.saturating_sub(width(&who) + width(&cost) + 4);
    format!("{who}  {}  {cost}", fit(&of.lock.to_string(), room, Keep::End, charset))
}

/// Writes events in the given order.
pub fn write_events<'a>(page: &mut PageWriter, events: impl Iterator<Item = ShownEvent<'a>>, utc: bool) {
    let mut is_empty = true;
    for ShownEvent { at, ensemble, what } in events.take(MAX_EVENTS) {
        is_empty = false;
        let (sign, text, tone) = match what {
            ShownEnsembleNews::Finding { finding, raised: true } => {
                let text = format!("{ensemble}  {}  {}", finding.lock, finding.sentence());
                (sign_of(finding.severity), text, Tone::Text)
            }
            ShownEnsembleNews::Finding { finding, raised: false } => {
                (Sign::Good, format!("{ensemble}  {}  over: {}", finding.lock, finding.code.title()), Tone::Dim)
            }
            ShownEnsembleNews::Renamed(before, finding) => {
                let before = before.title();
                let text = format!("{ensemble}  {}  {} (before: {before})", finding.lock, finding.sentence());
                (sign_of(finding.severity), text, Tone::Dim)
            }
            ShownEnsembleNews::State(StateKind::Live) => (Sign::Good, format!("{ensemble}  live"), Tone::Dim),
            ShownEnsembleNews::Servers(Some(trouble)) => {
                (sign_of(trouble.severity()), format!("{ensemble}  {trouble}"), Tone::Text)
            }
            ShownEnsembleNews::Servers(None) => (Sign::Good, format!("{ensemble}  over: all servers serve"), Tone::Dim),
            ShownEnsembleNews::State(state) => (Sign::Bad, format!("{ensemble}  {}", state.id()), Tone::Text),
        };
        page.add(Some(sign), Some(&time_of_day(at, utc)), &text, tone);
    }
    if is_empty {
        page.sentence("Nothing has happened since the start.", Tone::Text);
    }
}

fn sign_of(severity: Severity) -> Sign {
    match severity {
        Severity::Critical => Sign::Bad,
        Severity::Warning => Sign::Warning,
        Severity::Info => Sign::Info,
    }
}

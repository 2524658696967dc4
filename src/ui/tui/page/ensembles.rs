//! Below the list of ensembles: the findings of the selected one, and what happened in all.

use super::{Columns, Sign, Tone, Writer};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Code, Finding, Severity};
use lockscope_model::summary::{EnsembleSummary, StateKind};
use lockscope_model::text::human::{count, date_and_time, plural, time_of_day};
use lockscope_model::verdict::{ServerTrouble, VerdictKind};

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
    pub what: ShownNews<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum ShownNews<'a> {
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
pub fn write_findings(page: &mut Writer, of: OfEnsemble<'_>) {
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
    for finding in &summary.findings {
        let lock = &finding.lock;
        page.add(Some(sign_of(finding.severity)), None, &format!("{lock}  {}", finding.sentence()), tone);
        page.sentence(&format!("what to do: {}", finding.remedy), Tone::Text);
    }
    let all = summary.counts.critical + summary.counts.warning + summary.counts.info;
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

/// Writes events in the given order.
pub fn write_events<'a>(page: &mut Writer, events: impl Iterator<Item = ShownEvent<'a>>, utc: bool) {
    let mut is_empty = true;
    for ShownEvent { at, ensemble, what } in events.take(MAX_EVENTS) {
        is_empty = false;
        let (sign, text, tone) = match what {
            ShownNews::Finding { finding, raised: true } => {
                let text = format!("{ensemble}  {}  {}", finding.lock, finding.sentence());
                (sign_of(finding.severity), text, Tone::Text)
            }
            ShownNews::Finding { finding, raised: false } => {
                (Sign::Good, format!("{ensemble}  {}  over: {}", finding.lock, finding.code.title()), Tone::Dim)
            }
            ShownNews::Renamed(before, finding) => {
                let before = before.title();
                let text = format!("{ensemble}  {}  {} (before: {before})", finding.lock, finding.sentence());
                (sign_of(finding.severity), text, Tone::Dim)
            }
            ShownNews::State(StateKind::Live) => (Sign::Good, format!("{ensemble}  live"), Tone::Dim),
            ShownNews::Servers(Some(trouble)) => {
                (sign_of(trouble.severity()), format!("{ensemble}  {trouble}"), Tone::Text)
            }
            ShownNews::Servers(None) => (Sign::Good, format!("{ensemble}  over: all servers serve"), Tone::Dim),
            ShownNews::State(state) => (Sign::Bad, format!("{ensemble}  {}", state.id()), Tone::Text),
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

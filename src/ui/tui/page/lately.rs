//! The box below Locks while nothing is wrong with the selected lock: the longest waits and holds
//! of the last minutes, the ensemble's leader, and what is new.

use std::time::Duration;

use super::{Tone, Writer};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::ClientIdentity;
use lockscope_model::text::human::{bounded, plural, time_of_day};
use lockscope_model::text::{Charset, Keep, fit, width};

/// Columns of a duration, with the gap after it.
const LASTED: usize = 9;
/// Maximum columns of a client.
const MAX_WHO: usize = 24;
/// Minimum columns of a lock's path.
const MIN_PATH: usize = 12;
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
pub struct ShownNews {
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
    /// `None` in the past, where there is no earlier look to compare with.
    pub news: Option<ShownNews>,
    pub utc: bool,
}

/// Writes the box in at most `lines` lines, with at least one for each kind.
pub fn write(page: &mut Writer, of: &ShownLately<'_>, lines: usize) {
    let others = usize::from(of.leader.is_some()) + usize::from(of.news.is_some());
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

impl ShownNews {
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

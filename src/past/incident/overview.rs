//! The page before the incidents of several ensembles.

use std::cmp::Reverse;
use std::time::Duration;

use maud::html;

use super::lock_rows::Incident;
use super::{style, words};
use crate::record::history::clock_sentence;
use lockscope_base::znode::Timestamp;
use lockscope_model::text::html_page;
use lockscope_model::text::human::{count, duration, latency};

/// One ensemble of an overview.
#[derive(Clone, Debug)]
pub struct EnsembleRow {
    name: String,
    connect: String,
    /// The file of its page, relative to the overview.
    page: String,
    from: Timestamp,
    to: Timestamp,
    contenders: usize,
    longest: Option<Duration>,
    waited: Duration,
    critical: usize,
    warning: usize,
    gaps: usize,
    clock_ahead_ms: i64,
}

impl EnsembleRow {
    /// Sums up an incident. `page` is the file of its page, relative to the overview.
    pub fn new(name: &str, connect: &str, page: &str, clock_ahead_ms: i64, incident: &Incident<'_>) -> Self {
        let window = incident.window;
        let found = |severity| window.findings.iter().filter(|finding| finding.severity == severity).count();
        Self {
            name: name.to_owned(),
            connect: connect.to_owned(),
            page: page.to_owned(),
            from: window.from,
            to: window.to,
            contenders: window.contenders.len() + window.left_out,
            longest: incident.longest(),
            waited: Duration::from_millis(incident.cost_ms()),
            critical: found("critical"),
            warning: found("warning"),
            gaps: window.gaps.len(),
            clock_ahead_ms,
        }
    }
}

/// Returns the overview as the text of an HTML file, the ensembles with the most waiting first.
/// `failed` are ensembles without a page, each with the reason. Times are local unless `utc` is set.
pub fn overview(mut rows: Vec<EnsembleRow>, failed: &[(String, String)], utc: bool) -> String {
    rows.sort_by_key(|row| Reverse((row.waited, row.critical, row.warning)));
    let body = html! {
        main {
            h1 { "What happened to the locks of " (rows.len() + failed.len()) " ensembles" }
            @for (name, why) in failed { p class="standstill" { (words::sentence(name)) ": not seen: " (words::sentence(why)) "." } }
            table {
                thead { tr {
                    th { "Ensemble" } th { "Servers" } th { "Time" } th { "Contenders" } th { "Waited in all" } th { "Longest standstill" }
                    th { "Critical" } th { "Warnings" } th { "Gaps" }
                } }
                tbody { @for row in &rows { tr {
                    td { a href=(row.page) { (words::sentence(&row.name)) } }
                    td { (words::sentence(&row.connect)) }
                    td {
                        (words::period(row.from, row.to, utc))
                        @if let Some(sentence) = clock_sentence(row.clock_ahead_ms) { "; " (sentence) }
                    }
                    td { (count(row.contenders)) }
                    td { (duration(row.waited)) }
                    td { @if let Some(longest) = row.longest { (latency(longest)) } @else { "-" } }
                    td { (count(row.critical)) }
                    td { (count(row.warning)) }
                    td { (count(row.gaps)) }
                } } }
            }
        }
    };
    html_page("Locks of several ensembles", &style::rules(), &body)
}

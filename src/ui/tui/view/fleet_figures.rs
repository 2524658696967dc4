//! The figures of a fleet, line by line, the most important first. Lines that do not fit are left
//! out.

use ratatui::style::Style;

use super::View;
use crate::tui::app::{FleetView, Phase};
use crate::tui::page::overlaps;
use lockscope_lab::contend::{FleetOutcome, FleetStatus, Quantiles, ServerEvents};
use lockscope_lock::Algorithm;
use lockscope_model::text::human::{bytes, count, latency, rate, ratio};

/// Minimum columns for notes in full.
const ROOMY: u16 = 56;
/// Maximum columns at which notes take their shortest form.
const NARROW: u16 = 33;
/// Columns of a label, of a value, and of a value in a narrow box.
const LABEL: usize = 13;
const VALUE: usize = 9;
const NARROW_VALUE: usize = 6;

/// A line in a fleet's box.
pub enum FigureLine {
    /// A label, a value and a note.
    Figure {
        /// Names the figure.
        label: &'static str,
        /// The value, right-aligned in its column.
        value: String,
        /// The value put in relation, such as `51.2 each`.
        note: String,
        style: Style,
    },
    Spark,
    Words(String, Style),
}

/// The figures of the last status or, once the fleet has ended, of its outcome.
struct Figures {
    acquisitions: u64,
    per_second: Option<f64>,
    events: u64,
    requests: u64,
    wire: u64,
    bytes: (u64, u64),
    waits: Quantiles,
    holds: Quantiles,
    server: Option<ServerEvents>,
    silence: Option<String>,
    modelled: (u64, u64),
    /// The share of a herd's changes that came together with another one.
    coalesced: Option<f64>,
}

impl Figures {
    fn of(fleet: &FleetView) -> Option<Self> {
        match (fleet.phase(), fleet.status()) {
            (Phase::Ended(outcome), _) => Some(Self::last(outcome)),
            (_, Some(status)) => Some(Self::now(fleet, status)),
            (_, None) => None,
        }
    }

    fn now(fleet: &FleetView, status: &FleetStatus) -> Self {
        let totals = &status.totals;
        Self {
            acquisitions: totals.acquisitions,
            per_second: fleet.rates().acquisitions(),
            events: totals.events,
            requests: totals.requests,
            wire: totals.wire_events,
            bytes: (totals.bytes_up, totals.bytes_down),
            waits: totals.waits,
            holds: totals.holds,
            server: status.server,
            silence: status.server_silence.clone(),
            modelled: (totals.modelled_herd, totals.modelled_chain),
            coalesced: totals.coalesced(fleet.scenario().algorithm),
        }
    }

    fn last(outcome: &FleetOutcome) -> Self {
        let events = &outcome.watch_events;
        Self {
            acquisitions: outcome.acquisitions,
            per_second: Some(outcome.acquisitions_per_second),
            events: events.delivered,
            requests: outcome.requests.total,
            wire: events.on_the_wire,
            bytes: (outcome.bytes.up, outcome.bytes.down),
            waits: outcome.wait_ms,
            holds: outcome.hold_ms,
            server: outcome.server,
            silence: outcome.server_silence.clone(),
            modelled: (events.modelled_herd, events.modelled_chain),
            coalesced: events.coalesced,
        }
    }
}

/// Returns the lines for a box whose inside has `columns` and `height`.
pub fn figures(view: View<'_>, fleet: &FleetView, columns: u16, height: u16) -> Vec<FigureLine> {
    let theme = view.theme;
    let Some(figures) = Figures::of(fleet) else { return Vec::new() };
    let each = match columns {
        ROOMY.. => " an acquisition",
        0..=NARROW => "x",
        _ => " each",
    };
    let room = if columns <= NARROW { NARROW_VALUE } else { VALUE };
    let figure = |label, value, note, style| figure(label, value, room, note, style);
    let per = |of: u64| format!("  {}{each}", share(of, figures.acquisitions));
    let per_second = figures.per_second.map_or_else(String::new, |now| format!("  {}/s", rate(now)));
    let mut lines = vec![
        figure("acquisitions", figures.acquisitions, per_second, theme.good),
        figure("watch events", figures.events, per(figures.events), theme.wait),
        FigureLine::Spark,
        quantiles("wait", &figures.waits, theme.text),
        server(view, fleet, &figures, room),
    ];
    if let Some((text, violated)) = fleet.status().and_then(overlaps::summary) {
        let (sign, style) = if violated { (theme.signs.bad, theme.bad) } else { (theme.signs.warning, theme.wait) };
        lines.push(FigureLine::Words(format!("{sign} {text}"), style));
    }
    lines.push(figure("requests", figures.requests, per(figures.requests), theme.text));
    lines.push(quantiles("hold", &figures.holds, theme.text));
    lines.push(figure("on the wire", figures.wire, "  watch events that passed the links".to_owned(), theme.dim));
    let (herd, chain) = figures.modelled;
    let model = format!("  as a herd at most, {} as a chain", count(chain));
    lines.push(figure("model", herd, model, theme.dim));
    let (up, down) = figures.bytes;
    lines.push(FigureLine::Figure {
        label: "traffic      ",
        value: format!("{:>room$}", bytes(up)),
        note: format!("  to the servers, {} from them", bytes(down)),
        style: theme.dim,
    });
    lines.extend(figures.coalesced.map(|share| FigureLine::Figure {
        label: "together     ",
        value: format!("{:>room$}", format!("{:.0}%", share * 100.0)),
        note: "  of the changes came with another, as one event".to_owned(),
        style: theme.dim,
    }));
    lines.truncate(usize::from(height));
    lines
}

fn figure(label: &'static str, value: u64, room: usize, note: String, style: Style) -> FigureLine {
    FigureLine::Figure { label, value: format!("{:>1$}", count(value), LABEL + room - label.len()), note, style }
}

fn quantiles(label: &'static str, times: &Quantiles, style: Style) -> FigureLine {
    let note = if times.count == 0 {
        "none yet".to_owned()
    } else {
        format!("p50 {}  p99 {}  max {}", latency(times.p50), latency(times.p99), latency(times.max))
    };
    FigureLine::Figure { label, value: " ".to_owned(), note, style }
}

/// Returns the servers' count of the kind of watch event that these clients cause. The total of a
/// pair would contain the events of the other fleet too.
fn server(view: View<'_>, fleet: &FleetView, figures: &Figures, room: usize) -> FigureLine {
    let theme = view.theme;
    let label = "servers say";
    let Some(events) = figures.server else {
        let why = figures.silence.as_deref().unwrap_or("not yet known");
        return FigureLine::Figure { label: "servers", value: "  ".to_owned(), note: why.to_owned(), style: theme.dim };
    };
    match fleet.scenario().algorithm {
        Algorithm::Herd | Algorithm::SharedHerd(_) | Algorithm::MutexParent => {
            figure(label, events.children, room, "  child-watch".to_owned(), theme.text)
        }
        Algorithm::Chain | Algorithm::ChainAhead | Algorithm::SharedChain(_) | Algorithm::Mutex => {
            figure(label, events.deleted, room, "  delete-watch".to_owned(), theme.text)
        }
        Algorithm::Semaphore(_) => {
            let note = format!("  delete-watch, {} child-watch", count(events.children));
            figure(label, events.deleted, room, note, theme.text)
        }
    }
}

fn share(of: u64, all: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a share is rounded anyway")]
    ratio(of as f64 / all.max(1) as f64)
}

//! The screen of the test clients: the fleets' figures side by side, and the clients of the chosen
//! fleet.
//!
//! ```text
//! ┌ ▸ herd ── 50 clients ── /lockscope/herd ── 14s ┐┌ chain ── 50 clients ── /lockscope/chain ─ 14s ┐
//! │ acquisitions       412       27/s              ││ acquisitions     1 904      127/s            │
//! │ watch events    21 115       51.2 each         ││ watch events     1 903        1.0 each       │
//! │ ▁▂▄▆█▇█▇▆▇█▇                           1 400/s ││ ▁▁▁▁▁▁▁▁▁▁▁▁                           127/s │
//! ```
//!
//! The figures stand line by line, the most important first. Lines that do not fit are left out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::View;
use super::list::{ListTitle, ListView};
use crate::tui::app::{ClientColumn, Clients, FleetSide, FleetView, Fleets, Phase};
use crate::tui::keymap::Command;
use crate::tui::page::test_clients;
use crate::tui::screen::Placed;
use crate::tui::widget;
use crate::tui::widget::write::write_line;
use crate::tui::widget::{Cell, Panel, halves};
use lockscope_lab::contend::{
    ClientState, ClientStatus, FleetOutcome, FleetStatus, LinkState, Quantiles, RATE_SECONDS, ServerEvents,
};
use lockscope_lock::Algorithm;
use lockscope_model::text::human::{bytes, count, duration, latency, plural, rate, ratio};
use lockscope_model::text::{Keep, session, width, wrap_words};

/// Columns of the rate beside a sparkline.
const RATE_WIDTH: usize = 10;

/// A note with more words than this is a sentence; one with fewer is a list of figures.
const MAX_WORDS_OF_FIGURES: usize = 10;

/// Draws the fleets side by side, their sparklines on one scale.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let fleets = view.app.fleets();
    let highest = fleets.each().map(|(_, fleet)| fleet.rates.highest()).max().unwrap_or(0);
    let places = places(fleets, area);
    for (side, fleet) in fleets.each() {
        draw_fleet(view, side, fleet, highest, places[side as usize], buffer);
    }
}

/// Returns where each side is drawn. A single fleet takes the whole width.
pub fn places(fleets: &Fleets, area: Rect) -> [Rect; 2] {
    if fleets.is_pair() { halves(area) } else { [area, area] }
}

fn draw_fleet(view: View<'_>, side: FleetSide, fleet: &FleetView, highest: u64, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let inner = panel(view, side, fleet, area.width).draw(area, buffer, theme);
    let room = usize::from(inner.width).saturating_sub(2);
    let lines: Vec<FigureLine> = match (&fleet.phase, fleet.status()) {
        (Phase::Failed(why), _) => {
            let why = wrap_words(&format!("{why}."), room, theme.signs.charset);
            why.into_iter().map(|text| FigureLine::Words(text, theme.bad)).collect()
        }
        (Phase::Running | Phase::Stopping, None) => {
            vec![FigureLine::Words("The clients connect.".to_owned(), theme.wait)]
        }
        (_, status) => match status.filter(|status| status.elapsed.is_zero() && fleet.is_active()) {
            Some(status) => {
                let text = format!("{} of {} have a session.", status.connected, status.scenario.clients);
                vec![FigureLine::Words(text, theme.wait)]
            }
            None => figures(view, fleet, inner.width, inner.height),
        },
    };
    for (line, y) in lines.into_iter().zip(inner.top()..inner.bottom()) {
        let area = Rect { y, height: 1, ..inner };
        match line {
            FigureLine::Spark => sparkline(view, fleet, highest, area, buffer),
            FigureLine::Figure { label, value, note, style } => {
                let note = within(view, &note, room.saturating_sub(width(label) + width(&value)));
                let spans = vec![
                    Span::styled(format!(" {label}"), theme.title),
                    Span::styled(value, theme.strong),
                    Span::styled(note, style),
                ];
                write_line(spans, area, buffer);
            }
            FigureLine::Words(text, style) => {
                let text = view.fit(&text, room, Keep::Start);
                write_line(Span::styled(format!(" {text}"), style), area, buffer);
            }
        }
    }
}

/// Shortens a note to `columns`. A sentence is cut; a list of figures, which two blanks separate,
/// loses whole figures from its end.
fn within(view: View<'_>, note: &str, columns: usize) -> String {
    let is_sentence = note.split(' ').count() > MAX_WORDS_OF_FIGURES;
    if is_sentence || width(note) <= columns {
        return view.fit(note, columns, Keep::Start);
    }
    let ends = note.rmatch_indices("  ").map(|(at, _)| &note[..at]);
    ends.into_iter().find(|part| width(part) <= columns).unwrap_or_default().to_owned()
}

pub fn panel(view: View<'_>, side: FleetSide, fleet: &FleetView, columns: u16) -> Panel {
    let (app, theme) = (view.app, view.theme);
    let focused = app.fleets().is_pair() && app.side() == side;
    let name = fleet.scenario.algorithm.name();
    let name = if focused { format!("{} {name}", theme.signs.cursor) } else { name.to_owned() };
    let (clients, right, style) = match &fleet.phase {
        Phase::Running => (fleet.living(), time(fleet), theme.good),
        Phase::Stopping => (fleet.living(), "stopping".to_owned(), theme.wait),
        Phase::Ended(_) => (fleet.scenario.clients as usize, "stopped".to_owned(), theme.dim),
        Phase::Failed(_) => (fleet.scenario.clients as usize, "failed".to_owned(), theme.bad),
    };
    let path = view.fit(fleet.scenario.path.as_str(), usize::from(columns / 3), Keep::End);
    let mut left = vec![(name, theme.strong), (plural(clients, "client", "clients"), theme.text), (path, theme.text)];
    let hold = fleet.scenario.hold;
    if !hold.is_zero() {
        left.push((format!("hold {}", lockscope_model::text::human::latency(hold)), theme.dim));
    }
    Panel { left, right: Some((right, style)), focused, ..Panel::default() }
}

/// Returns how long the fleet has run.
fn time(fleet: &FleetView) -> String {
    match fleet.status() {
        Some(status) if !status.elapsed.is_zero() => duration(status.elapsed),
        _ => "connecting".to_owned(),
    }
}

/// Draws the watch events of the last minute, on the scale of both fleets, and the current rate.
fn sparkline(view: View<'_>, fleet: &FleetView, highest: u64, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let rate = fleet.rates.events().filter(|_| fleet.is_active());
    let rate = rate.map_or_else(String::new, |rate| format!("{}/s", lockscope_model::text::human::rate(rate)));
    let seconds = fleet.rates.seconds();
    let room = usize::from(area.width).saturating_sub(RATE_WIDTH + 3);
    let line = widget::sparkline(&seconds, room.min(RATE_SECONDS), highest, &theme.signs.levels);
    let style = if highest == 0 { theme.dim } else { style_of(view, fleet) };
    write_line(vec![Span::raw(" "), Span::styled(line, style)], area, buffer);
    write_line(Line::styled(format!("{rate} "), theme.strong).right_aligned(), area, buffer);
}

/// Algorithms that wake all waiters at a release stand out.
pub fn style_of(view: View<'_>, fleet: &FleetView) -> Style {
    use lockscope_lock::Algorithm;
    match fleet.scenario.algorithm {
        Algorithm::Chain | Algorithm::ChainAhead | Algorithm::SharedChain(_) => view.theme.good,
        _ => view.theme.wait,
    }
}

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
struct FleetFigures {
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

impl FleetFigures {
    fn of(fleet: &FleetView) -> Option<Self> {
        match (&fleet.phase, fleet.status()) {
            (Phase::Ended(outcome), _) => Some(Self::last(outcome)),
            (_, Some(status)) => Some(Self::now(fleet, status)),
            (_, None) => None,
        }
    }

    fn now(fleet: &FleetView, status: &FleetStatus) -> Self {
        let totals = &status.totals;
        Self {
            acquisitions: totals.acquisitions,
            per_second: fleet.rates.acquisitions(),
            events: totals.events,
            requests: totals.requests,
            wire: totals.wire_events,
            bytes: (totals.bytes_up, totals.bytes_down),
            waits: totals.waits,
            holds: totals.holds,
            server: status.server,
            silence: status.server_silence.clone(),
            modelled: (totals.modelled_herd, totals.modelled_chain),
            coalesced: totals.coalesced(fleet.scenario.algorithm),
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
    let Some(figures) = FleetFigures::of(fleet) else { return Vec::new() };
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
    if let Some((text, violated)) = fleet.status().and_then(test_clients::summary) {
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
fn server(view: View<'_>, fleet: &FleetView, figures: &FleetFigures, room: usize) -> FigureLine {
    let theme = view.theme;
    let label = "servers say";
    let Some(events) = figures.server else {
        let why = figures.silence.as_deref().unwrap_or("not yet known");
        return FigureLine::Figure { label: "servers", value: "  ".to_owned(), note: why.to_owned(), style: theme.dim };
    };
    match fleet.scenario.algorithm {
        Algorithm::Herd | Algorithm::SharedHerd(_) | Algorithm::MutexParent => {
            figure(label, events.children, room, "  child-watch".to_owned(), theme.text)
        }
        Algorithm::Chain | Algorithm::ChainAhead | Algorithm::SharedChain(_) | Algorithm::Mutex => {
            figure(label, events.deleted, room, "  delete-watch".to_owned(), theme.text)
        }
        _ => {
            let note = format!("  delete-watch, {} child-watch", count(events.children));
            figure(label, events.deleted, room, note, theme.text)
        }
    }
}

fn share(of: u64, all: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a share is rounded anyway")]
    ratio(of as f64 / all.max(1) as f64)
}

impl ListView for Clients {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (app, theme) = (view.app, view.theme);
        let fleet = app.fleets().fleet(app.side());
        let name = fleet.map_or("", |fleet| fleet.scenario.algorithm.name());
        let mut after_filter = Vec::new();
        let all = app.fleets().clients(app.side()).len();
        let dead = all.saturating_sub(fleet.map_or(0, FleetView::living));
        if dead > 0 {
            after_filter.push((format!("{} out of action", count(dead as u64)), theme.bad));
        }
        if app.fleets().is_pair() {
            after_filter.push((view.sentence("{pane}: the other"), theme.dim));
        }
        let bottom = app.selected_client().and_then(|client| {
            let trouble = client.trouble.as_deref()?;
            let text = format!("{} {}: {trouble}", theme.signs.warning, client.id.name());
            Some(view.bottom(&text, theme.wait, Keep::Start))
        });
        let right = fleet.and_then(FleetView::holder).map(|(id, token)| {
            let (sign, dot) = (theme.signs.holds, theme.signs.dot);
            (format!("{sign} {} holds {dot} token {token}", id.name()), theme.good)
        });
        ListTitle { name: format!("Clients of the {name}"), all, after_filter, right, bottom, ..ListTitle::default() }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        let fleet = view.app.fleets().fleet(view.app.side());
        let again = view.sentence("{start} starts new ones.");
        match fleet.map(|fleet| &fleet.phase) {
            Some(Phase::Running) => match fleet.and_then(FleetView::status) {
                None => vec!["The test clients connect.".to_owned()],
                Some(_) => vec![view.sentence("There is no client: {join} adds one, {stop} ends the fleet.")],
            },
            Some(Phase::Stopping) => vec!["The test clients are leaving.".to_owned()],
            Some(Phase::Failed(_)) => vec!["There are no clients.".to_owned(), again],
            Some(Phase::Ended(outcome)) => {
                let left = match outcome.left_behind {
                    Some(0) => "The test clients are gone, and their nodes with them.".to_owned(),
                    Some(left) => format!(
                        "They left {} behind.",
                        plural(usize::try_from(left).unwrap_or(usize::MAX), "node", "nodes")
                    ),
                    None => "Whether they left nodes behind is not known.".to_owned(),
                };
                let trouble = outcome.troubles.first().map(|trouble| view.fit(trouble, 76, Keep::Start));
                [Some(left), trouble, Some(again)].into_iter().flatten().collect()
            }
            None => vec![again],
        }
    }

    fn cell(&self, view: View<'_>, client: &&ClientStatus, column: Placed<ClientColumn>) -> Cell {
        let theme = view.theme;
        let signs = &theme.signs;
        let width = usize::from(column.width);
        let figure = |number: u64| Cell::new(count(number), if number == 0 { theme.dim } else { theme.text });
        match column.key {
            ClientColumn::Id => Cell::new(client.id.name(), theme.strong),
            ClientColumn::State => state(view, client),
            ClientColumn::Since => {
                let status = view.app.fleets().fleet(view.app.side()).and_then(FleetView::status);
                let age = status.map_or(std::time::Duration::ZERO, |status| status.age);
                Cell::new(duration(age.saturating_sub(client.since)), theme.dim)
            }
            ClientColumn::Session => {
                let id = client.session.map_or_else(|| "none".to_owned(), |id| session(id, width, signs.charset));
                Cell::new(id, if client.session.is_some() { theme.text } else { theme.dim })
            }
            ClientColumn::Expired => {
                Cell::new(count(client.expired), if client.expired == 0 { theme.dim } else { theme.bad })
            }
            ClientColumn::Link => link(view, client),
            ClientColumn::Token => {
                Cell::new(client.token.map_or_else(String::new, |token| token.to_string()), theme.good)
            }
            ClientColumn::Events => figure(client.events),
            ClientColumn::Requests => figure(client.requests),
            ClientColumn::Acquired => figure(client.acquisitions),
            ClientColumn::Held | ClientColumn::Longest | ClientColumn::Median | ClientColumn::Slowest
                if client.acquisitions == 0 =>
            {
                Cell::new("-", theme.dim)
            }
            ClientColumn::Held => Cell::new(latency(client.held), theme.text),
            ClientColumn::Longest => Cell::new(latency(client.longest_wait), theme.text),
            ClientColumn::Median => Cell::new(latency(client.waits.p50), theme.text),
            ClientColumn::Slowest => Cell::new(latency(client.waits.p99), theme.text),
            ClientColumn::Trouble => {
                let trouble = client.trouble.as_deref().unwrap_or_default();
                Cell::new(view.fit(trouble, width, Keep::Start), theme.wait)
            }
        }
    }
}

/// Draws the screen before the first fleet has started: the text says how to start one.
pub fn draw_nothing(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let title = ("Contend".to_owned(), view.theme.strong);
    let inner = Panel { left: vec![title], ..Panel::default() }.draw(area, buffer, view.theme);
    let parent = view.app.own_node();
    let lines = if view.app.settings().write {
        vec![
            "No test clients run.".to_owned(),
            String::new(),
            format!(
                "{} starts a herd and a chain side by side, below {}.",
                view.app.bindings().name(Command::Start),
                view.fit(parent.as_str(), 30, Keep::End)
            ),
            view.sentence("{start} on a lock's queue sends test clients into that very queue."),
        ]
    } else {
        vec![
            "No test clients run: this console is read-only.".to_owned(),
            String::new(),
            view.sentence("Start it as `lockscope --write`, and {start} starts a herd beside a chain."),
            "`lockscope contend` and `lockscope compare` need no screen for it.".to_owned(),
        ]
    };
    view.placeholder(&lines, inner, buffer);
}

/// Returns the state of a client, with a sign. A frozen client keeps the state it last knew.
fn state(view: View<'_>, client: &ClientStatus) -> Cell {
    let theme = view.theme;
    let signs = &theme.signs;
    let has_outlived = view.app.fleets().fleet(view.app.side()).is_some_and(|fleet| fleet.has_outlived(client));
    let (sign, word, style): (&str, &str, Style) = match (client.state, client.frozen) {
        (ClientState::Holding, true) if has_outlived => (signs.warning, "frozen, held", theme.bad),
        (ClientState::Holding, true) => (signs.warning, "frozen, holds", theme.bad),
        (ClientState::Waiting, true) => (signs.warning, "frozen, waits", theme.bad),
        (ClientState::Crashed, _) => (signs.bad, "crashed", theme.bad),
        (ClientState::Failed, _) => (signs.bad, "failed", theme.bad),
        (_, true) => (signs.warning, "frozen", theme.bad),
        (ClientState::Connecting, _) => (signs.busy, "connecting", theme.wait),
        (ClientState::Ready, _) => (signs.busy, "ready", theme.wait),
        (ClientState::Waiting, _) => (signs.waits, "waits", theme.wait),
        (ClientState::Holding, _) => (signs.holds, "holds", theme.good),
        (ClientState::Done, _) => (signs.dot, "done", theme.dim),
        (ClientState::Leaving, _) => (signs.dot, "leaving", theme.dim),
    };
    Cell::new(format!("{sign} {word}"), style)
}

fn link(view: View<'_>, client: &ClientStatus) -> Cell {
    let theme = view.theme;
    let delay = latency(client.delay);
    match client.link {
        LinkState::Whole => Cell::new("connected", theme.dim),
        LinkState::Delayed => Cell::new(format!("late {delay}"), theme.wait),
        LinkState::Paused => Cell::new(format!("{} paused", theme.signs.warning), theme.bad),
        LinkState::Cut => Cell::new(format!("{} cut", theme.signs.bad), theme.bad),
    }
}
